"""The judge must see each planted fault."""

import json
import unittest

from .history import Frames, Seen, faults


def frame(seq, kind, ticket="t", **more):
    data = json.dumps({"seq": seq, "type": kind, "ticket": ticket, **more})
    return {"id": str(seq).encode(), "event": kind.encode(), "data": data.encode()}


def seen(frames, ticket="t"):
    it = Seen("r", ticket)
    for fields in frames:
        it.take(fields)
    return it


WHOLE = [frame(1, "accepted"), frame(2, "branch"), frame(3, "error"), frame(4, "done")]


class Judge(unittest.TestCase):
    def test_a_whole_history_has_no_fault(self):
        self.assertEqual(faults(seen(WHOLE), seen(WHOLE)), [])

    def test_each_planted_fault_is_named(self):
        one, two, three, four = WHOLE
        planted = {
            "gap of 1": [one, three, four],
            "duplicate": [one, two, two, three, four],
            "reorder": [one, three, two, four],
            "other bytes": [one, frame(2, "branch", x=1), three, four],
            "not one terminal": [one, two, four],
            "not one done, last": [one, two, three],
            "frame and data differ": [one, two, three, {**four, "id": b"5"}],
        }
        for word, frames in planted.items():
            self.assertIn(word, faults(seen(frames), seen(WHOLE)), word)

    def test_two_terminals_are_a_fault(self):
        twice = [*WHOLE[:3], frame(4, "answer"), frame(5, "done")]
        self.assertIn("not one terminal", faults(seen(twice), seen(twice)))

    def test_frames_come_out_whole_however_the_bytes_are_cut(self):
        text = b":\n\nid: 1\nevent: accepted\ndata: {}\n\nretry: 5\n\nid: 2\nevent: done\ndata: {}\n\n"
        for size in range(1, len(text)):
            reader, got = Frames(), []
            for at in range(0, len(text), size):
                got += reader.feed(text[at:at + size])
            self.assertEqual([fields.get("id") for fields in got], [b"1", None, b"2"])
            self.assertEqual(reader.rest, b"")
