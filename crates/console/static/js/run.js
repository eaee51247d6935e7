// What is known of one ask, from its events. No drawing.

/** An ask of which nothing is known yet. */
export function begun(ticket) {
  return {
    ticket, question: null, turn: null, startedAt: null, skew: 0, lastSeq: 0,
    branches: [], terminal: null, done: null,
  };
}

/** Takes one event in. Unknown events, and branches that were never opened, are no reason to stop. */
export function take(run, event, skew = 0) {
  const at = Date.parse(event.ts);
  run.lastSeq = event.seq;
  run.skew = skew;
  switch (event.type) {
    case "accepted":
      Object.assign(run, { question: event.question, turn: event.turn, startedAt: at });
      break;
    case "branch": {
      const branch = branchOf(run, event);
      if (event.state === "closed") branch.closedAt = at;
      else Object.assign(branch, { role: event.role, source: event.source ?? null, openedAt: at });
      break;
    }
    case "milestone":
      branchOf(run, event).items.push({ kind: "milestone", at, phase: event.phase, subject: event.subject ?? null, source: event.source ?? null });
      break;
    case "step":
      branchOf(run, event).items.push({ kind: "step", at, tool: event.tool, args: event.args, ms: event.ms, isError: event.is_error });
      break;
    case "answer": case "abstention": case "refusal": case "error":
      run.terminal = event;
      break;
    case "done":
      run.done = event;
      break;
    default:
  }
  return run;
}

function branchOf(run, event) {
  let branch = run.branches.find((known) => known.id === event.branch_id);
  if (!branch) {
    branch = { id: event.branch_id, role: null, source: null, openedAt: Date.parse(event.ts), closedAt: null, items: [] };
    run.branches.push(branch);
  }
  return branch;
}

/** Milliseconds since the ask was taken, by the service's clock as far as it can be told. */
export function elapsed(run, now = Date.now()) {
  if (run.done) return run.done.ms;
  if (run.startedAt === null) return 0;
  // A header's date has whole seconds, so a small difference means nothing.
  const skew = Math.abs(run.skew) > 2000 ? run.skew : 0;
  return Math.max(0, now + skew - run.startedAt);
}

/** How many steps the service made and no longer keeps. */
export function droppedSteps(run) {
  const kept = run.branches.flatMap((branch) => branch.items).filter((item) => item.kind === "step").length;
  return Math.max(0, (run.done?.steps ?? kept) - kept);
}

/**
 * What went on in a branch, as a person follows it: milestones of the same kind on the same source are one stretch of work, and each
 * step belongs to the stretch it came in. `[{phase, source, subjects, at, steps}]`; the phase is null for steps before any milestone.
 */
export function stretches(branch) {
  const found = [];
  for (const item of branch.items) {
    const last = found.at(-1);
    if (item.kind === "step") {
      if (last) last.steps.push(item);
      else found.push({ phase: null, source: null, subjects: [], at: item.at, steps: [item] });
    } else if (last && last.phase === item.phase && last.source === item.source) {
      if (item.subject !== null && !last.subjects.includes(item.subject)) last.subjects.push(item.subject);
    } else {
      found.push({ phase: item.phase, source: item.source, subjects: item.subject === null ? [] : [item.subject], at: item.at, steps: [] });
    }
  }
  return found;
}
