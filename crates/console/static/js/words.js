// The sentences for what the events say as structure.

/** A milestone as a person is told it. */
export function milestone({ phase, subject, source }) {
  const about = subject === null ? null : `“${subject}”`;
  switch (phase) {
    case "grounding":
      if (about === null) return "Looking up what the words mean";
      return source === null ? `Looking up ${about} in the catalog` : `Looking up ${about} for ${source}`;
    case "discovering":
      if (about === null) return source === null ? "Looking at what data there is" : `Looking at what ${source} holds`;
      return source === null ? `Looking for data on ${about}` : `Looking at ${about} in ${source}`;
    case "querying":
      if (about === null) return source === null ? "Asking the data" : `Asking ${source}`;
      return source === null ? `Asking about ${about}` : `Asking ${source} about ${about}`;
    case "reconciling":
      return about === null ? "Putting the results together" : `Putting the results on ${about} together`;
    default:
      return about === null ? "Working" : `Working on ${about}`;
  }
}

/** A stretch of work: milestones of one kind, whose subjects are named beside the sentence when there are several. */
export function stretch({ phase, source, subjects }) {
  if (phase === null) return "Working";
  return milestone({ phase, source, subject: subjects.length === 1 ? subjects[0] : null });
}

/** How long after the beginning something happened. */
export function moment(ms) {
  return ms < 60_000 ? `${(Math.max(0, ms) / 1000).toFixed(1)} s` : running(ms);
}

/** What a branch is for. */
export function branch({ role, source }) {
  switch (role) {
    case "supervisor": return "Answering the question";
    case "grounding": return "Looking up meanings";
    case "source": return source === null ? "Asking a source" : `Asking ${source}`;
    case "divergence": return "Answering without the catalog, to compare";
    default: return "A part of the work";
  }
}

/** What a refusal means to the person: a title, and what to do. */
export function refusal(what) {
  switch (what) {
    case "access":
      return { title: "You may not see this", advice: "Whoever looks after this source decides who may. The refusal is on record under your name." };
    case "guard":
      return { title: "Nobody may run this here", advice: "Sources are open for reading, within limits. The refusal is on record under your name." };
    case "rate_limit":
      return { title: "Too many calls for now", advice: "The source limits how often you may ask it. Wait a while, then ask again." };
    default:
      return { title: "A source refused", advice: "The refusal is on record under your name." };
  }
}

/** What a failure means to the person. */
export function failure(kind) {
  switch (kind) {
    case "cancelled":
      return { title: "Stopped", advice: "You stopped this question. Nothing of it was answered." };
    case "max_steps":
      return { title: "Took too long", advice: "It needed more steps or more time than is allowed. A narrower question may get through." };
    case "model":
      return { title: "The model failed", advice: "The question was not answered. It may work if you ask again." };
    case "transport":
      return { title: "A source was out of reach", advice: "A source could not be reached, or no longer takes your sign-in. The question was not answered." };
    default:
      return { title: "The service failed", advice: "The question was not answered. It may work if you ask again." };
  }
}

/** Why the service has no more of a ticket: a problem that it answered with. */
export function gone({ status, code, message }) {
  if (code === "ticket_lost") return "The service was started anew, and with its memory went what it knew of this question.";
  if (status === 410) return "An answer is kept for a limited time, and never written to a disk.";
  return status === 404 ? "It was too long ago, or somebody else asked it." : sentence(message);
}

/** A title or a detail as a sentence. */
export function sentence(text) {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A kind of provenance; the set may grow. */
export function kind(word) {
  return String(word).replaceAll("_", " ");
}

/** A span of time as a person reads it. */
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/** A span while it grows: whole seconds, so that it can be read. */
export function running(ms) {
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
}

/** A count with its noun. */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

/** A figure for reading: grouped digits, at most four behind the point, or four that count when it is small. Text stays. */
export function figure(value) {
  if (typeof value !== "number") return String(value);
  const digits = Math.abs(value) < 0.001 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 4 };
  return new Intl.NumberFormat("en", digits).format(value);
}

/** A column's name for reading. */
export function column(name) {
  const words = String(name).replaceAll("_", " ").trim();
  return words === "" ? String(name) : words[0].toUpperCase() + words.slice(1);
}

/** A cell as text. */
export function cell(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
