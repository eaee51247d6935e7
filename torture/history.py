"""The judge of what readers saw: no gap, no duplicate, no other order, the same bytes, one ending."""

import hashlib
import json

ENDINGS = {"answer", "abstention", "refusal", "error"}


class Frames:
    """Takes the bytes of a stream in any pieces and hands out its whole frames."""

    def __init__(self):
        self.rest = b""

    def feed(self, piece):
        *whole, self.rest = (self.rest + piece).split(b"\n\n")
        for frame in whole:
            fields = {}
            for line in frame.split(b"\n"):
                name, _, value = line.partition(b":")
                if name:
                    fields[name.decode()] = value.removeprefix(b" ")
            if fields:
                yield fields


class Seen:
    """What one reader saw of one ticket, over all its connections."""

    def __init__(self, reader, ticket):
        self.reader, self.ticket, self.events = reader, ticket, []

    def take(self, fields):
        """Notes an event; returns its seq, or None for a frame that is none."""
        if b"data" not in {name.encode() for name in fields}:
            return None
        seq = int(fields["id"])
        self.events.append((seq, fields["event"].decode(), hashlib.sha256(fields["data"]).hexdigest(), fields["data"]))
        return seq

    @property
    def last(self):
        return self.events[-1][0] if self.events else 0

    @property
    def done(self):
        return bool(self.events) and self.events[-1][1] == "done"


def faults(seen, truth):
    """What is wrong with what one reader saw, given a whole replay of the ticket: a list of words, empty if nothing is."""
    wrong = []
    seqs = [event[0] for event in seen.events]
    if len(set(seqs)) != len(seqs):
        wrong.append("duplicate")
    if seqs != sorted(seqs):
        wrong.append("reorder")
    if missing := {event[0] for event in truth.events} - set(seqs):
        wrong.append(f"gap of {len(missing)}")
    digests = {seq: digest for seq, _, digest, _ in truth.events}
    if any(digests.get(seq) != digest for seq, _, digest, _ in seen.events):
        wrong.append("other bytes")
    kinds = [event[1] for event in seen.events]
    if sum(kind in ENDINGS for kind in kinds) != 1:
        wrong.append("not one terminal")
    if kinds.count("done") != 1 or kinds[-1:] != ["done"]:
        wrong.append("not one done, last")
    for seq, kind, _, data in seen.events:
        event = json.loads(data)
        if (event["seq"], event["type"], event["ticket"]) != (seq, kind, seen.ticket):
            wrong.append("frame and data differ")
            break
    return wrong
