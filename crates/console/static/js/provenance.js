// What an answer rests on, beside it: caveats first, then meanings, sources and the statements that ran.

import { el, icon } from "./dom.js";
import { count, kind } from "./words.js";

/** The column beside an answer. */
export function provenance({ caveats, provenance: meanings, sources, tables, sql }) {
  return el("aside", { class: "beside", "aria-label": "What this answer rests on" },
    caveats.length > 0 && el("section", { class: "caveats" },
      el("h3", {}, icon("caveat"), caveats.length === 1 ? "Caveat" : "Caveats"),
      el("ul", {}, caveats.map((caveat) => el("li", {}, caveat)))),
    el("section", { class: "meanings" },
      el("h3", {}, "What the words mean"),
      meanings.length === 0
        ? el("p", { class: "quiet" }, "No stated meaning from the catalog went into this answer.")
        : el("dl", {}, meanings.map((meaning) => el("div", {},
          el("dt", {}, meaning.term),
          el("dd", {}, el("p", {}, meaning.statement),
            el("p", { class: "quiet small" }, `${kind(meaning.kind)} · `, el("code", {}, meaning.source))))))),
    el("section", { class: "origins" },
      el("h3", {}, "Where it comes from"),
      sources.length === 0 && tables.length === 0 && el("p", { class: "quiet" }, "From the catalog alone; no data was queried."),
      sources.length + tables.length > 0 && el("dl", { class: "pairs" },
        sources.length > 0 && [el("dt", {}, sources.length === 1 ? "Source" : "Sources"), el("dd", {}, sources.join(", "))],
        tables.length > 0 && [el("dt", {}, tables.length === 1 ? "Table" : "Tables"), el("dd", {}, tables.map((name) => el("code", {}, name)))])),
    sql.length > 0 && el("details", { class: "sql" },
      el("summary", {}, sql.length === 1 ? "The SQL that ran" : `The SQL that ran (${count(sql.length, "statement")})`),
      sql.map((statement) => el("pre", { tabindex: "0", role: "region", "aria-label": "SQL statement" }, el("code", {}, statement)))));
}
