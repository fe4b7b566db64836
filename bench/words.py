"""How fast ledger rows are read and written, beside the standard library's json (which builds plain dicts).

uv run python -m bench.words
"""

import json
import time
from collections.abc import Callable

import msgspec

from ullage.encoding import decode_event, encode
from ullage.events import CallEnded, Event, MessageAdded
from ullage.messages import Message, TextPart, ToolCallPart, ToolResultPart
from ullage.usage import Usage

ROWS = 100_000
RUNS = 3


def rows() -> list[Event]:
    """A session in the proportions of an agent's: a call, its usage, its result, now and then a person."""
    made: list[Event] = []
    for n in range(ROWS // 4):
        ask = TextPart(id=f"p{n}", text="Please look at the cask. " * 4)
        call = ToolCallPart(
            id=f"c{n}",
            call_id=f"t{n}",
            name="read_file",
            arguments='{"path":"src/cask.py"}',
        )
        found = TextPart(id=f"x{n}", text="def fill(): ...\n" * 20)
        result = ToolResultPart(id=f"r{n}", call_id=f"t{n}", content=(found,))
        raw = msgspec.Raw(b'{"input_tokens":1000,"output_tokens":80}')
        messages = (
            Message(id=f"u{n}", role="user", parts=(ask,)),
            Message(id=f"a{n}", role="assistant", parts=(call,), call=f"k{n}"),
            Message(id=f"m{n}", role="tool", parts=(result,)),
        )
        made += [
            MessageAdded(session="s", seq=4 * n + at, id=f"e{n}{at}", message=m)
            for at, m in enumerate(messages)
        ]
        usage = Usage(input=1000 + n, output=80, cache_read=900, raw=raw)
        made.append(
            CallEnded(session="s", seq=4 * n + 3, id=f"e{n}3", call=f"k{n}", usage=usage)
        )
    return made


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of a few runs."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print CPU microseconds a row, and the ratio to json."""
    events = rows()
    lines = [encode(event) for event in events]
    newer = [
        line.replace(b'"session":"s"', b'"session":"s","later":1', 1) for line in lines
    ]
    plain = [json.loads(line) for line in lines]
    peer_read = seconds(lambda: [json.loads(line) for line in lines])
    peer_write = seconds(lambda: [json.dumps(row) for row in plain])
    print(f"{len(lines):,} rows, {sum(map(len, lines)) / 1e6:.1f} MB")
    for name, work, peer in (
        ("read", lambda: [decode_event(line) for line in lines], peer_read),
        (
            "read, a newer field in every row",
            lambda: [decode_event(line) for line in newer],
            peer_read,
        ),
        ("write", lambda: [encode(event) for event in events], peer_write),
        ("json.loads", lambda: [json.loads(line) for line in lines], peer_read),
        ("json.dumps", lambda: [json.dumps(row) for row in plain], peer_write),
    ):
        took = seconds(work)
        print(
            f"{name:<34}{1e6 * took / len(lines):>7.2f} µs a row   {took / peer:>5.2f} x json"
        )


if __name__ == "__main__":
    main()
