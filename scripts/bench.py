#!/usr/bin/env python3
"""Measures the service beside a yardstick, and writes the table of docs/performance.md.

    scripts/bench.py [--runs 3] [--quick] [--no-page] [--kept FILE] [ROW ...]

Rows: accept hold fanout replay whole hops parallel cancel turns retained growth start; all of them unless named. Each run measures
service and yardstick one after the other, server on one core and everything else on the other. What was measured is added to a file,
so that rows can be measured one at a time; the page is made of all of it.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmark import page, rows
from benchmark.scene import Scene
from rig.process import TARGET

PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def arguments():
    names = [row.__name__ for row in rows.ALL]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="which: " + " ".join(names))
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that it works; the page is left alone")
    parser.add_argument("--no-page", action="store_true", help="leave docs/performance.md alone")
    parser.add_argument("--kept", type=pathlib.Path, default=TARGET / "bench/figures.json", help="where figures are kept between calls")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(names):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {' '.join(names)}")
    return given


def measure(given):
    """The pairs of each figure, by row."""
    folder = TARGET / "bench/run"
    shutil.rmtree(folder, ignore_errors=True)
    scene = Scene(folder, given.quick)
    found, failed = collections.defaultdict(dict), []
    chosen = [row for row in rows.ALL if not given.rows or row.__name__ in given.rows]
    try:
        for run in range(1, given.runs + 1):
            for row in chosen:
                begun, out = time.monotonic(), rows.Figures()
                try:
                    row(scene, out)
                except (RuntimeError, OSError) as err:
                    failed.append(row.__name__)
                    print(f"{row.__name__}: {err}", file=sys.stderr, flush=True)
                print(f"run {run}, {row.__name__}, {time.monotonic() - begun:.0f} s", flush=True)
                for name, ours, yardstick in out:
                    beside = "" if yardstick is None else f"   beside {page.number(yardstick)}"
                    print(f"    {name:24} {page.number(ours)}{beside}", flush=True)
                    found[row.__name__].setdefault(name, []).append((ours, yardstick))
    finally:
        scene.close()
    return found, failed


def write_page(kept):
    order = [row.__name__ for row in rows.ALL if row.__name__ in kept]
    figures = {name: pairs for row in order for name, pairs in kept[row].items()}
    text = f"{BEGIN}\nMeasured on {page.machine()}.\n\n{page.table(figures)}\n{END}"
    old = PAGE.read_text()
    PAGE.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: text, old, flags=re.S))


def main():
    given = arguments()
    found, failed = measure(given)
    if not given.quick:
        kept = json.loads(given.kept.read_text()) if given.kept.exists() else {}
        kept.update({name: figures for name, figures in found.items() if name not in failed})
        given.kept.parent.mkdir(parents=True, exist_ok=True)
        given.kept.write_text(json.dumps(kept))
        if not given.no_page:
            write_page(kept)
    figures = {name: pairs for row in found.values() for name, pairs in row.items()}
    print(page.table(figures))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
