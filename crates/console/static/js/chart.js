// A picture of a result, where one fits: bars for names, a line for dates. The table beside it holds the same in text.

import { choose } from "./chart-choice.js";
import { el, fill } from "./dom.js";
import { block } from "./neutral.js";
import { column as columnName, figure } from "./words.js";

const BAR_HEIGHT = 34;

/** A picture of the result, or null when a table says it better. The bar of the `winner` stands out, if one has that name. */
export function chart(result, winner = null) {
  const choice = choose(result);
  if (choice === null) return null;
  let shown = choice.values[0];
  const canvas = el("div", { class: "chart-canvas", role: "img" });
  const picker = choice.values.length > 1 && el("label", { class: "picker" }, "Shown",
    el("select", { onchange: (event) => { shown = Number(event.target.value); draw(); } },
      choice.values.map((column) => el("option", { value: column }, columnName(result.columns[column])))));
  const caption = el("figcaption", {});
  const figureElement = el("figure", { class: `chart chart-${choice.kind}` },
    el("div", { class: "result-bar" }, caption, picker), canvas);
  let plot = null;
  let library = null;

  async function draw() {
    library ??= (await import("../vendor/uplot-1.6.32/uPlot.esm.js")).default;
    const width = Math.floor(canvas.clientWidth);
    if (width < 40 || !canvas.isConnected) return;
    plot?.destroy();
    fill(canvas);
    const what = `${columnName(result.columns[shown])} by ${columnName(result.columns[choice.label]).toLowerCase()}`;
    fill(caption, what);
    canvas.setAttribute("aria-label", block(`${choice.kind === "bars" ? "Bar chart" : "Line chart"}: ${what}. The table below holds the figures.`));
    const drawing = (choice.kind === "bars" ? bars : line)(library, result, choice.label, shown, width, winner);
    plot = new library(drawing.options, drawing.data, canvas);
  }

  let last = 0;
  new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width !== last) {
      last = width;
      draw();
    }
  }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.fonts?.ready.then(draw);
  return figureElement;
}

/** The page's own colours and letters, since a canvas inherits none. */
function look() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { ink: of("--ink"), quiet: of("--quiet"), grid: of("--line"), accent: of("--accent"), muted: of("--muted"), wash: of("--wash"), font: `13px ${of("--sans")}` };
}

function bars(uPlot, { columns, rows }, label, value, width, winner) {
  const { ink, accent, muted, font } = look();
  const names = rows.map((row) => short(String(row[label]), width < 480 ? 14 : 28));
  const room = Math.min(width * 0.4, Math.max(...names.map((name) => measured(name, font))) + 18);
  const places = rows.map((_, at) => at);
  const amounts = rows.map((row) => Number(row[value]));
  const stands = rows.some((row) => row[label] === winner);
  const colours = rows.map((row) => (stands && row[label] !== winner ? muted : accent));
  const behind = Math.max(...amounts.map((amount) => measured(brief(amount), font))) + 14;
  const options = {
    width, height: rows.length * BAR_HEIGHT,
    padding: [0, behind, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, ori: 1, dir: -1, range: [-0.5, rows.length - 0.5] },
      y: { ori: 0, dir: 1, range: (_plot, _least, most) => [0, most > 0 ? most : 1] },
    },
    axes: [
      { side: 3, size: room, gap: 8, font, stroke: ink, grid: { show: false }, ticks: { show: false },
        splits: () => places, values: (_plot, splits) => splits.map((at) => names[at] ?? "") },
      { show: false },
    ],
    series: [{}, {
      label: columns[value], fill: accent, stroke: accent, width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.62, 24], radius: 0.12, disp: { fill: { unit: 3, values: () => colours } } }),
    }],
    hooks: { draw: [(plot) => figures(plot, amounts, { ink, font })] },
  };
  return { options, data: [places, amounts] };
}

/** Each bar's figure behind its end. */
function figures(plot, amounts, { ink, font }) {
  const { ctx } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.font = scaled(font, ratio);
  ctx.fillStyle = ink;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  amounts.forEach((amount, at) => {
    ctx.fillText(brief(amount), plot.valToPos(amount, "y", true) + 8 * ratio, plot.valToPos(at, "x", true));
  });
  ctx.restore();
}

function line(uPlot, { columns, rows }, label, value, width) {
  const { quiet, grid, accent, wash, font } = look();
  const dates = rows.every((row) => typeof row[label] === "string");
  const points = rows
    .map((row) => [dates ? Date.parse(row[label]) / 1000 : Number(row[label]), Number(row[value])])
    .sort(([left], [right]) => left - right);
  const axis = { font, stroke: quiet, ticks: { show: false }, gap: 6 };
  const options = {
    width, height: 260,
    padding: [12, 16, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: { x: { time: dates }, y: { range: (_plot, least, most) => [Math.min(0, least), most > 0 ? most * 1.05 : 1] } },
    axes: [
      dates ? { ...axis, grid: { show: false }, space: 70 }
        : { ...axis, grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50], values: (_plot, splits) => splits.map(String) },
      { ...axis, grid: { stroke: grid, width: 1 }, size: 64, values: (_plot, splits) => splits.map(brief) },
    ],
    series: [{}, { label: columns[value], stroke: accent, width: 2, fill: wash, points: { show: points.length < 40, size: 7, fill: accent } }],
  };
  return { options, data: [points.map(([at]) => at), points.map(([, amount]) => amount)] };
}

function brief(value) {
  if (value === null || value === undefined) return "";
  if (Math.abs(value) < 10_000) return figure(Math.round(value * 100) / 100);
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(value);
}

function short(text, most) {
  const letters = [...block(text)];
  return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
}

function measured(text, font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = font;
  return context.measureText(text).width;
}

function scaled(font, ratio) {
  return font.replace(/^([\d.]+)px/, (_all, size) => `${Number(size) * ratio}px`);
}
