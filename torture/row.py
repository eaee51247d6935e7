"""What a row is, and the table."""

import dataclasses
import time
import traceback


@dataclasses.dataclass
class Figure:
    """One figure reached, and whether it is at or beyond what is to be reached."""

    what: str
    reached: str
    held: bool


class Row:
    """A promise, what is to be reached, and the figures."""

    def __init__(self, name, promise, reach, patience=1):
        self.name, self.promise, self.reach, self.patience = name, promise, reach, patience
        self.figures, self.missing, self.seconds = [], None, 0.0

    def figure(self, what, reached, held):
        self.figures.append(Figure(what, str(reached), bool(held)))

    def at_most(self, what, reached, limit, text=None):
        """A figure of time or memory. The quick form runs on machines with much else to do, so there it breaks the row only
        when it is several times what is to be reached; that it is beyond it is said in either form."""
        text = text or f"{reached:.1f}"
        over = f" (to reach: {limit})" if reached > limit else ""
        self.figure(what, f"{text}{over}", reached <= limit * self.patience)

    def not_run(self, why):
        self.missing = why

    @property
    def verdict(self):
        if self.missing:
            return "NOT RUN"
        return "held" if self.figures and all(figure.held for figure in self.figures) else "BROKEN"

    def text(self):
        if self.missing:
            return self.missing
        return "; ".join(f"{figure.what} {figure.reached}{'' if figure.held else ' (!)'}" for figure in self.figures) or "no figure"

    async def measure(self, run, scene):
        begun = time.monotonic()
        try:
            await run(self, scene)
        except Exception as err:
            traceback.print_exc()
            self.figure("failed:", f"{type(err).__name__}: {err}", False)
        self.seconds = time.monotonic() - begun


def percentile(values, share):
    """The value below which `share` of them are."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def table(rows):
    """Markdown, one line a row."""
    lines = ["| row | promise | to reach | reached | |", "|---|---|---|---|---|"]
    lines += [f"| {row.name} | {row.promise} | {row.reach} | {row.text()} | {row.verdict} |" for row in rows]
    return "\n".join(lines)
