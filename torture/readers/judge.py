"""Reads the frames file with one of the parsers named and compares each event with the truth file."""

import json
import sys

PIECE = 4093


def pieces(path):
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            yield piece


def by_sseclient(path):
    import sseclient

    for event in sseclient.SSEClient(pieces(path)).events():
        yield event.id, event.event, event.data


def by_httpx_sse(path):
    import httpx
    from httpx_sse import EventSource

    class Stream(httpx.SyncByteStream):
        def __iter__(self):
            return pieces(path)

    reply = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=Stream())
    for event in EventSource(reply).iter_sse():
        yield event.id, event.event, event.data


def text_of(event):
    """The hostile text, from wherever the event carries it."""
    if event["type"] == "step":
        return event["args"]["sql"]
    return next(event[name] for name in ("subject", "text", "detail") if name in event)


def main():
    parser, frames, truth = sys.argv[1:]
    read, wrong = 0, 0
    with open(truth) as lines:
        for (number, kind, data), line in zip(globals()[f"by_{parser}"](frames), lines):
            read += 1
            seq, true_kind, text = line.rstrip("\n").split(" ")
            event = json.loads(data)
            right = (number, kind, str(event["seq"]), event["type"]) == (seq, true_kind, seq, true_kind)
            wrong += not (right and text_of(event) == bytes.fromhex(text).decode())
        rest = sum(1 for _ in lines)
    print(json.dumps({"read": read, "wrong": wrong, "missing": rest}))


if __name__ == "__main__":
    main()
