// Builds elements. Whatever is not an element becomes a text node, so nothing that a peer sent is ever read as HTML.

import { block } from "./neutral.js";

/** An element with attributes, listeners (`onclick`) and children; null and false children are left out. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, block(value));
  }
  put(element, ...children);
  return element;
}

/** Appends children to an element. */
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(block(child)));
  }
  return element;
}

/** Replaces everything in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

const SHAPES = {
  arrow: ["M12 19V5", "M6 11l6-6 6 6"],
  stop: ["M7 7h10v10H7z"],
  caveat: ["M12 4l9 16H3z", "M12 10v4", "M12 17v.5"],
  lock: ["M6 11h12v9H6z", "M8.5 11V8a3.5 3.5 0 017 0v3"],
  gap: ["M11 4a7 7 0 110 14 7 7 0 010-14z", "M16.5 16.5L21 21", "M8.5 11h5"],
  broken: ["M12 3a9 9 0 110 18 9 9 0 010-18z", "M8 8l8 8"],
  offline: ["M3 9a14 14 0 0118 0", "M6.5 12.5a9 9 0 0111 0", "M12 18v.5", "M4 4l16 16"],
  key: ["M8 11a4 4 0 110 8 4 4 0 010-8z", "M11 12l8-8", "M16 7l3 3"],
  work: ["M4 6h.5", "M9 6h11", "M4 12h.5", "M9 12h11", "M4 18h.5", "M9 18h7"],
};

/** A small drawing that says nothing by itself: the words beside it do. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  for (const shape of SHAPES[name]) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", shape);
    svg.append(path);
  }
  return svg;
}
