"""`docs/performance.md`, from what was measured."""

import datetime
import os
import platform
import statistics
import subprocess

# For each figure: what it is, its unit, the yardstick's name, what is reached for, and whether that is so.
RATIO, PLAIN = "ratio", "plain"


def ratio_at_least(least):
    return lambda ours, yardstick: ours / yardstick >= least


def ratio_at_most(most):
    return lambda ours, yardstick: ours / max(yardstick, 1e-9) <= most


def at_most(most):
    return lambda ours, _: ours <= most


def within(more):
    return lambda ours, yardstick: ours <= yardstick + more


BARE, FILE, MODEL = "yardstick", "nginx, the same bytes as a file", "the same request by a bare awc client"
NONE = ""
ROWS = {
    "W1 rate": ("W1: conversation + ask accepted, each run begun at once", "a second", BARE, "at least 0.60 of the yardstick", ratio_at_least(0.6)),
    "W1 p99": ("W1: both calls, p99", "ms", BARE, "at most twice the yardstick's", ratio_at_most(2)),
    "W2 memory 1000": ("W2: an idle stream, 1,000 open", "kB", BARE, "at most 1.5 kB more", within(1.5)),
    "W2 memory 5000": ("W2: an idle stream, 5,000 open", "kB", BARE, "at most 1.5 kB more", within(1.5)),
    "W2 memory 19000": ("W2: an idle stream, 19,000 open", "kB", BARE, "at most 1.5 kB more", within(1.5)),
    "W2 own ticket": ("W2: a stream with a ticket of its own that runs", "kB", NONE, "stated", None),
    "W2 CPU": ("W2: CPU of an idle stream with keep-alives", "us a second", BARE, "at most 1", at_most(1)),
    "W2 dropped": ("W2: streams dropped", "", BARE, "0", at_most(0)),
    "W3 p50 1000": ("W3: 20 events a second to 1,000 readers, p50", "ms", BARE, "at most 1.3 of the yardstick", ratio_at_most(1.3)),
    "W3 p99 1000": ("W3: to 1,000 readers, p99", "ms", BARE, "at most 1.3 of the yardstick", ratio_at_most(1.3)),
    "W3 lost 1000": ("W3: to 1,000 readers, lost", "", BARE, "0", at_most(0)),
    "W3 p50 5000": ("W3: to 5,000 readers, p50", "ms", BARE, "at most 1.3 of the yardstick", ratio_at_most(1.3)),
    "W3 p99 5000": ("W3: to 5,000 readers, p99", "ms", BARE, "at most 1.3 of the yardstick", ratio_at_most(1.3)),
    "W3 lost 5000": ("W3: to 5,000 readers, lost", "", BARE, "0", at_most(0)),
    "W4 to a file": ("W4: replays of 1,000 events of 500 bytes", "a second", FILE, "at least 0.60 of the file", ratio_at_least(0.6)),
    "W4 to the yardstick": ("W4: replays, beside 64 KiB chunks of frames", "a second", BARE, "stated", None),
    "W4 others": ("W4: opening a conversation meanwhile, p99", "ms", NONE, "at most 10 ms", at_most(10)),
    "W5 to the bare client": ("W5: conversation, ask, one model turn, stream to the end", "a second", MODEL, "at least 0.40 of the bare client", ratio_at_least(0.4)),
    "W5 p99": ("W5: from first call to last byte, p99", "ms", MODEL, "stated", None),
    "W5 to the yardstick": ("W5: beside streams without a model", "a second", BARE, "stated", None),
    "hop p50": ("Overhead of a hop, 200 runs of 8 hops at once, p50", "ms", NONE, "at most 1 ms", at_most(1)),
    "hop p99": ("Overhead of a hop, 200 runs of 8 hops at once, p99", "ms", NONE, "at most 3 ms", at_most(3)),
    "parallel tools": ("12 calls of 300 ms in one turn", "ms", "one such call", "at most 1.1 of one", ratio_at_most(1.1)),
    "cancel p99": ("Cancel to its 202 under load, p99", "ms", NONE, "at most 2 ms", at_most(2)),
    "events a ticket": ("Events of a ticket, for the next row", "", NONE, "about 30", None),
    "kB a ticket": ("Memory of a finished ticket", "kB", NONE, "at most 16 kB", at_most(16)),
    "rate with all": ("W5 with all tickets and conversations kept", "a second", "the same before", "at least 0.90 of before", ratio_at_least(0.9)),
    "p99 with all": ("W5 p99 with all kept", "ms", "the same before", "at most 1.3 of before", ratio_at_most(1.3)),
    "expiry stall": ("The slowest call while all of them expire at once", "ms", NONE, "at most 10 ms", at_most(10)),
    "start": ("Start of the process to listening", "ms", NONE, "at most 50 ms", at_most(50)),
    "idle memory": ("Memory when idle", "MiB", NONE, "at most 30 MiB", at_most(30)),
}


def described(name):
    if name.startswith("turns "):
        most = 2 if name.endswith("definition") else 3
        return (f"Model turns: {name[6:]}", "turns", "grounding off", f"at most {most}", at_most(most))
    if name.startswith("time "):
        return (f"Time at 3.5 s a turn: {name[5:]}", "s", "grounding off", "stated", None)
    return ROWS[name]


def number(value):
    if value is None or value != value:
        return "not had"
    if value and abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def spread(values):
    values = [value for value in values if value is not None and value == value]
    if not values:
        return "not had"
    middle = number(statistics.median(values))
    if len(values) == 1 or min(values) == max(values):
        return middle
    return f"{middle} ({number(min(values))} to {number(max(values))})"


def table(runs):
    """`runs` holds for each figure its pairs of the runs."""
    lines = ["| work | service | beside it | ratio | reach | |", "|---|---|---|---|---|---|"]
    for name, pairs in runs.items():
        what, unit, beside, reach, judge = described(name)
        ours, yardstick = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        has_yardstick = yardstick[0] is not None
        # The ratio of each run by itself: what else the machine did then is in both.
        ratios = [a / b for a, b in pairs if has_yardstick and b]
        verdict = "stated"
        if judge:
            usable = [pair for pair in pairs if pair[0] == pair[0]]
            held = sum(bool(judge(*pair)) for pair in usable)
            verdict = "not had" if not usable else "met" if held * 2 > len(usable) else "**below**"
        unit = f" {unit}" if unit else ""
        other = f"{spread(yardstick)}: {beside}" if has_yardstick else ""
        lines.append(f"| {what} | {spread(ours)}{unit} | {other} | {spread(ratios) if ratios else ''} | {reach} | {verdict} |")
    return "\n".join(lines)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    memory = int(open("/proc/meminfo").read().split()[1]) // (1 << 20)
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.split()
    return (f"{os.cpu_count()} cores ({model}), {memory} GiB, Linux {platform.release()}, Rust {rustc[1] if len(rustc) > 1 else 'unknown'}, "
            f"{datetime.date.today():%d %B %Y}".replace(" 0", " "))
