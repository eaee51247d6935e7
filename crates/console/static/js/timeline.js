// The work on a question as it happens: branches, what goes on in each, and the calls themselves for those who want them.

import { el, fill, icon, put } from "./dom.js";
import { droppedSteps, stretches } from "./run.js";
import { branch as branchName, cell, count, moment, span, stretch } from "./words.js";

// Whether steps are shown: the person's choice, for all questions of this page.
let showsWork = false;
const switches = new Set();

function setShowsWork(shows) {
  showsWork = shows;
  for (const timeline of switches) {
    if (timeline.element.isConnected) timeline.show();
    else switches.delete(timeline);
  }
}

/** A timeline for one run. `update` draws what is new; `tick` moves the clocks. */
export class Timeline {
  element = el("div", { class: "timeline" });
  #list = el("ol", { class: "branches" });
  #toggle;
  #run;
  #drawn = "";

  constructor(run) {
    this.#run = run;
    this.#toggle = el("button", {
      type: "button", class: "switch", role: "switch", "aria-checked": "false", onclick: () => setShowsWork(!showsWork),
    }, el("span", { class: "switch-track", "aria-hidden": "true" }), "Show the work");
    switches.add(this);
    put(this.element, this.#list, this.#toggle);
    this.show();
  }

  /** Draws it all as the switch has it. */
  show() {
    this.#toggle.setAttribute("aria-checked", String(showsWork));
    this.#drawn = "";
    this.update();
  }

  /** Draws the branches anew when something was added to them. */
  update() {
    const { branches, done } = this.#run;
    const state = JSON.stringify([showsWork, Boolean(done), branches.map((it) => [it.items.length, it.closedAt])]);
    if (state === this.#drawn) return;
    this.#drawn = state;
    const open = new Set([...this.#list.querySelectorAll("details[open]")].map((it) => it.dataset.place));
    fill(this.#list, branches.map((branch, place) => this.#branch(branch, place, open)));
    const dropped = showsWork ? droppedSteps(this.#run) : 0;
    if (dropped > 0 && done) put(this.#list, el("li", { class: "quiet" }, `${count(dropped, "earlier call")} no longer kept`));
  }

  #branch(branch, place, open) {
    const { done, startedAt } = this.#run;
    const live = branch.closedAt === null && !done;
    const all = stretches(branch);
    const took = branch.closedAt === null ? null : span(branch.closedAt - branch.openedAt);
    return el("li", { class: "branch" },
      el("p", { class: "branch-name" }, branchName(branch), took && el("span", { class: "time" }, `took ${took}`)),
      el("ol", { class: "stretches" }, all.map((part, at) => {
        const now = live && at === all.length - 1;
        return el("li", { class: now ? "stretch now" : "stretch" },
          el("div", { class: "stretch-head" },
            el("span", {}, stretch(part)), el("span", { class: "time" }, moment(part.at - (startedAt ?? part.at)))),
          part.subjects.length > 1 && el("ul", { class: "subjects" }, part.subjects.map((subject) => el("li", {}, subject))),
          showsWork && part.steps.length > 0 && el("ol", { class: "steps" },
            part.steps.map((item, number) => step(item, `${place}.${at}.${number}`, open))));
      })));
  }
}

function step({ tool, args, ms, isError }, place, open) {
  const [server, ...name] = String(tool).split("__");
  const rows = Object.entries(args ?? {});
  const head = [
    el("code", {}, name.join("__") || server), el("span", { class: "quiet" }, name.length > 0 ? server : ""),
    isError && el("span", { class: "mark" }, "failed"), el("span", { class: "time" }, span(ms)),
  ];
  if (rows.length === 0) return el("li", { class: "step" }, el("div", { class: "step-head" }, head));
  return el("li", { class: "step" },
    el("details", { "data-place": place, open: open.has(place) },
      el("summary", { class: "step-head" }, head),
      el("dl", { class: "args" }, rows.map(([key, value]) => [el("dt", {}, key), el("dd", {}, el("code", {}, cell(value)))]))));
}

/** What a run came to, on one line. */
export function summary({ done, terminal }) {
  if (!done) return "How it came about";
  const parts = [span(done.ms), count(done.hops, "model turn"), count(done.steps, "call")];
  if (terminal?.type === "answer" && terminal.path?.speed === "fast") parts.push("from the catalog alone");
  return parts.join(" · ");
}

/** A mark for the end of a run: what went on is folded away behind its summary. */
export function folded(run, timeline) {
  const model = run.done?.model;
  return el("details", { class: "work" },
    el("summary", {}, icon("work"), el("span", {}, "How it came about"), el("span", { class: "quiet" }, summary(run))),
    el("div", { class: "work-body" }, timeline.element, model && el("p", { class: "quiet small" }, `Model: ${model}`)));
}
