"""What is measured. Each function measures the service and the yardstick one after the other, and answers with figures."""

import os
import signal
import time
import urllib.request

from . import questions
from .scene import FileServer, load
from .tools import SlowTools


class Figures(list):
    """What one run of a row came to: name, the service's figure, the yardstick's if there is one."""

    def note(self, name, ours, yardstick=None):
        self.append((name, ours, yardstick))


def accept(scene, out):
    pace = ("--concurrency", "32", "--seconds", scene.seconds)
    with scene.yardstick() as yardstick:
        floor = load(yardstick, "accept", *pace)
    with scene.service() as service:
        ours = load(service, "accept", *pace)
    out.note("W1 rate", ours["asks_per_s"], floor["asks_per_s"])
    out.note("W1 p99", ours["ms_p99"], floor["ms_p99"])


def hold(scene, out):
    counts = "1000" if scene.small else "1000,5000,19000"
    args = ("hold", "--streams", counts, "--seconds", "5" if scene.small else "32")
    with scene.yardstick() as yardstick:
        floor = load(yardstick, *args)
    with scene.service() as service:
        ours = load(service, *args)
    for count in counts.split(","):
        out.note(f"W2 memory {count}", ours[f"kb_each_at_{count}"], floor[f"kb_each_at_{count}"])
    out.note("W2 CPU", ours["cpu_us_each_per_s"], floor["cpu_us_each_per_s"])
    out.note("W2 dropped", ours["dropped"], floor["dropped"])
    with scene.service() as service:
        own = load(service, "hold", "--streams", "1000", "--own", "--seconds", "1")
    out.note("W2 own ticket", own["kb_each_at_1000"])


def fanout(scene, out):
    for readers, lead in [(1000, 3000)] if scene.small else [(1000, 3000), (5000, 8000)]:
        args = ("fanout", "--readers", str(readers), "--lead-ms", str(lead), "--events", "60" if scene.small else "200")
        with scene.yardstick() as yardstick:
            floor = load(yardstick, *args)
        with scene.service() as service:
            ours = load(service, *args)
        out.note(f"W3 p50 {readers}", ours["ms_p50"], floor["ms_p50"])
        out.note(f"W3 p99 {readers}", ours["ms_p99"], floor["ms_p99"])
        out.note(f"W3 lost {readers}", ours["lost"], floor["lost"])


def replay(scene, out):
    pace = ("--seconds", scene.seconds)
    with scene.service() as service:
        ours = load(service, "replay", *pace, "--beside")
        content = replayed(service)
    with FileServer(scene.place(), content) as static:
        file = load(static, "replay", *pace, "--path", "/replay.sse")
    with scene.yardstick("--chunk", "65536") as yardstick:
        floor = load(yardstick, "replay", *pace)
    out.note("W4 to a file", ours["replays_per_s"], file["replays_per_s"])
    out.note("W4 to the yardstick", ours["replays_per_s"], floor["replays_per_s"])
    out.note("W4 others", ours["other_ms_p99"])


def replayed(service):
    """The bytes of a replay, by the service itself."""
    ask = questions.Caller(service.base, service.token)
    ticket = ask.ask("bench n=1000 size=500")
    ask.events(ticket)
    return ask.raw(ticket)


def whole(scene, out):
    pace = ("--seconds", scene.seconds)
    with scene.service() as service:
        ours = load(service, "whole", *pace)
    model = scene.model()
    # The client stands where the service stood: on the server's core, with the stub on the other.
    bare = load(model, "post", "--path", "/v1/messages", "--body", scene.recorded(), *pace, core=0)
    with scene.yardstick() as yardstick:
        floor = load(yardstick, "whole", *pace)
    out.note("W5 to the bare client", ours["asks_per_s"], bare["posts_per_s"])
    out.note("W5 p99", ours["ms_p99"], bare["ms_p99"])
    out.note("W5 to the yardstick", ours["asks_per_s"], floor["asks_per_s"])


def hops(scene, out):
    turn, count = 400, 8
    question = f"bench n={count - 1} size=60 hz=10000 turn={turn}"
    with scene.service() as service:
        ours = load(service, "whole", "--concurrency", "200", "--seconds", scene.seconds, "--warm", "4", "--question", question,
                    "--turn-ms", str(turn))
    out.note("hop p50", ours["hop_overhead_ms_p50"])
    out.note("hop p99", ours["hop_overhead_ms_p99"])


def parallel(scene, out):
    with SlowTools(0.3) as tools, scene.service(DAS_MCP_SERVERS=tools.setting) as service:
        took = {}
        for calls in [1, 12]:
            args = ("whole", "--concurrency", "1", "--count", "5", "--warm", "0", "--question", f"bench n={calls} size=60")
            took[calls] = load(service, *args)["ms_p50"]
    out.note("parallel tools", took[12], took[1])


def cancel(scene, out):
    with scene.service() as service:
        ours = load(service, "cancel", "--concurrency", "100", "--after-ms", "200", "--seconds", scene.seconds)
    out.note("cancel p99", ours["cancel_ms_p99"])


def turns(scene, out):
    with scene.analyst(turn_ms=3500) as stack:
        for name, text in questions.SAMPLE:
            grounded = questions.turns_of(stack, text, True)
            bare = questions.turns_of(stack, text, False)
            out.note(f"turns {name}", grounded["hops"], bare["hops"])
            out.note(f"time {name}", grounded["ms"] / 1000, bare["ms"] / 1000)


def retained(scene, out):
    """What a finished ticket of 30 events keeps, in a process that has them all."""
    count = 2_000 if scene.small else 10_000
    with scene.service() as service:
        # What the first thousand need once is not counted for those after them.
        args = ("whole", "--warm", "0", "--seconds", "600", "--question", "bench n=12 size=60")
        load(service, *args, "--count", "1000")
        ours = load(service, *args, "--count", str(count))
    out.note("events a ticket", ours["frames_each"])
    out.note("kB a ticket", ours["memory_kb_each"])


def growth(scene, out):
    """As many conversations, each with a ticket; then all expire at once."""
    count = 5_000 if scene.small else 100_000
    ttl = 30 if scene.small else 300
    with scene.service(DAS_ASK_TTL_S=str(ttl)) as service:
        begun = time.monotonic()
        first = load(service, "whole", "--seconds", scene.seconds)
        args = ("whole", "--warm", "0", "--seconds", "600", "--count")
        load(service, *args, str(count))
        last = load(service, "whole", "--seconds", scene.seconds)
        out.note("rate with all", last["asks_per_s"], first["asks_per_s"])
        out.note("p99 with all", last["ms_p99"], first["ms_p99"])
        if time.monotonic() - begun > ttl:
            out.note("expiry stall", float("nan"))
            return
        # Stopped until the last has expired, so that the time of all is over at the same moment.
        os.kill(service.pid, signal.SIGSTOP)
        time.sleep(ttl + 2)
        os.kill(service.pid, signal.SIGCONT)
        worst, end = 0.0, time.monotonic() + 15
        while time.monotonic() < end:
            start = time.monotonic()
            with urllib.request.urlopen(f"{service.base}/health", timeout=30):
                worst = max(worst, time.monotonic() - start)
        out.note("expiry stall", worst * 1000)


def start(scene, out):
    times, memory = [], 0
    for _ in range(5):
        took, memory = scene.started()
        times.append(took)
    out.note("start", sorted(times)[2])
    out.note("idle memory", memory)


ALL = [accept, hold, fanout, replay, whole, hops, parallel, cancel, turns, retained, growth, start]
