"""Model text and tool results that try to break out of their frames, through three stream parsers of others."""

import asyncio
import json
import os
import pathlib

from rig import packages
from rig.process import ROOT, TARGET

PROMISE = "no text can forge or split an event"
REACH = "1,000,000 hostile texts through three independent parsers: each event whole, in place, its text the same"
READERS = pathlib.Path(__file__).resolve().parents[1] / "readers"


async def output_of(*command, **how):
    child = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE, **how)
    out, _ = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"{pathlib.Path(command[0]).name} ended with {child.returncode}")
    return out.decode()


async def sees(command, tampered, truth):
    """Whether a reader's judge notices a frame that was split."""
    try:
        return json.loads(await output_of(*command, tampered, truth, stderr=asyncio.subprocess.DEVNULL))["wrong"] > 0
    except RuntimeError:
        # It could not even go on.
        return True


async def run(row, scene):
    count, home = scene.size(200_000, 1_000_000), TARGET / "torture"
    python = await asyncio.to_thread(packages.python, home, packages.lines_of(READERS.parent / "requirements.txt"))
    await asyncio.to_thread(packages.node, home, READERS)
    folder = scene.folder / "frames"
    folder.mkdir()
    frames, truth = folder / "frames", folder / "truth"
    cargo = [os.environ.get("CARGO", "cargo"), "run", "--quiet", "-p", "ask-core", "--example", "hostile_frames", "--"]
    await output_of(*cargo, count, 20_261_201, frames, truth, cwd=ROOT)
    readers = {
        "sseclient-py": (python, READERS / "judge.py", "sseclient"), "httpx-sse": (python, READERS / "judge.py", "httpx_sse"),
        "eventsource-parser": ("node", READERS / "judge.mjs"),
    }
    tampered = folder / "tampered"
    tampered.write_bytes(frames.read_bytes()[:100_000].replace(b',"type"', b'}\n\nevent: done\ndata: {"x":1,"type"', 1))
    for name, command in readers.items():
        row.figure(f"{name} sees a forged one:", seen := await sees(command, tampered, truth), seen)
        said = json.loads(await output_of(*command, frames, truth))
        row.figure(name, f"{said['read']:,} read, {said['wrong']} wrong, {said['missing']} missing",
                   said == {"read": count, "wrong": 0, "missing": 0})
