"""CPU of the status line on logs of any size, and its error beside the client's own number.

    uv run python -m bench.statusline                  # CPU, on invented logs of 0.1, 1, 10 and 100 MB
    uv run python -m bench.statusline LOG...           # and the error on session logs of Claude Code

*First look* is a log never seen before, *warm* the looks after one more call, and *asked* one that asks the ledger, as
after a compaction, with the next look behind it. Each look is a process of its own, started as Claude Code starts it.
*Last input* is the number that the client shows itself: the input of the last call as if it were the next one's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ullage_programs
from bench.results import Table
from ullage_programs.claude_code.size import SessionSize, reported_input

PROGRAM = Path(ullage_programs.__file__).parent / "start.py"
SIZES_MB = (0.1, 1, 10, 100)
LOOKS = 40
COMPACTED = (
    b'{"type":"system","subtype":"compact_boundary","uuid":"c","parentUuid":null}\n'
)
RESULT_BYTES = 6_000
"""Of a tool result, in the log: about the mean of a real session of Claude Code 2.1.7."""


class Errors(NamedTuple):
    """Errors in percent of the input that was reported, one a call."""

    ours: list[float]
    last_input: list[float]


def lines_of_call(number: int, tokens: int) -> Iterator[bytes]:
    """The lines that Claude Code 2.1.330 writes for a tool call: answer, result, and the request once more."""
    text = f"def steep_{number}(minutes): return minutes * 60\n" * (RESULT_BYTES // 45)
    path = f"/home/ann/kettle/tea_{number}.py"
    use: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read"}
    use["input"] = {"file_path": path}
    usage = {"input_tokens": 0, "cache_read_input_tokens": tokens}
    usage |= {"cache_creation_input_tokens": 1_800, "output_tokens": 60}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
    common = {"isSidechain": False, "sessionId": "bench", "version": "2.1.330"}
    blob = {"role": "user", "content": [result]}
    answer = {"id": f"msg_{number}", "content": [use], "usage": usage}
    shown = {"type": "text", "file": {"content": text}}
    after = f"r{number - 1}" if number else None
    said = {"type": "assistant", "uuid": f"a{number}", "message": answer}
    back = {"type": "user", "uuid": f"r{number}", "message": blob}
    entries: tuple[dict[str, Any], ...] = (
        {"parentUuid": after, **common, **said},
        {"parentUuid": f"a{number}", **common, **back, "toolUseResult": shown},
        {"type": "api-request-blob", "hash": f"{number:064}", "message": blob},
    )
    for entry in entries:
        yield json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def write_log(path: Path, size_mb: float) -> int:
    """An invented log of this size; gives the number of its calls."""
    number = 0
    tokens = 20_000
    with path.open("wb") as file:
        while file.tell() < size_mb * 1e6:
            file.writelines(lines_of_call(number, tokens))
            tokens = 20_000 + (tokens + 1_800) % 140_000
            number += 1
    return number


def cpu_of_look(status: dict[str, object], home: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(PROGRAM), "claude_code.status"],
        input=json.dumps(status).encode(),
        capture_output=True,
        check=True,
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stdout.count(b"\n") != 1 or b"next" not in done.stdout:
        raise RuntimeError(f"The status line printed {done.stdout!r}.")
    user = after.ru_utime - before.ru_utime
    return 1e3 * (user + after.ru_stime - before.ru_stime)


def measure_cpu(size_mb: float) -> tuple[str, ...]:
    """A row of the table: first look, warm, and asked."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "session.jsonl"
        calls = write_log(log, size_mb)
        status: dict[str, object] = {
            "transcript_path": str(log),
            "context_window": {"context_window_size": 200_000},
        }
        first = cpu_of_look(status, Path(place))
        warm = []
        for number in range(calls, calls + LOOKS):
            with log.open("ab") as file:
                file.writelines(lines_of_call(number, 100_000))
            warm.append(cpu_of_look(status, Path(place)))
        with log.open("ab") as file:
            file.write(COMPACTED)
        asked = cpu_of_look(status, Path(place))
        again = cpu_of_look(status, Path(place))
    behind = f"{asked:.0f} ms, then {again:.0f} ms"
    return (f"{size_mb:g} MB", f"{first:.0f} ms", spread(warm), behind)


def spread(values: Sequence[float]) -> str:
    """The median and the 95th percentile."""
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"{statistics.median(ordered):.0f} / {p95:.0f} ms"


def errors_of(lines: Sequence[bytes]) -> Errors:
    """How far off the line and the last input are before each call of a session, where both say a number."""
    size = SessionSize()
    errors = Errors([], [])
    last_input = 0
    call = ""
    for line in lines:
        reported, name = report_of(line)
        expected = size.next_input()
        if reported and name != call:
            if last_input and expected is not None:
                errors.ours.append(100 * abs(expected - reported) / reported)
                errors.last_input.append(100 * abs(last_input - reported) / reported)
            last_input, call = reported, name
        size.feed(line)
    return errors


def report_of(line: bytes) -> tuple[int, str]:
    """The input that a line reports, and the call; 0 where it reports none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return 0, ""
    if not isinstance(entry, dict) or entry.get("type") != "assistant":
        return 0, ""
    if entry.get("isSidechain") or entry.get("isApiErrorMessage"):
        return 0, ""
    message = entry.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
        return 0, ""
    return reported_input(message["usage"]), str(message.get("id"))


def error_row(log: Path) -> tuple[str, ...] | None:
    """A row of the table; ``None`` for a log with fewer than two calls."""
    errors = errors_of(log.read_bytes().splitlines())
    if not errors.ours:
        return None
    pairs = zip(errors.ours, errors.last_input, strict=True)
    worse = sum(ours > last for ours, last in pairs)
    return (
        log.stem[:24],
        str(len(errors.ours)),
        f"{statistics.median(errors.ours):.3f} / {max(errors.ours):.1f} %",
        f"{statistics.median(errors.last_input):.3f} / {max(errors.last_input):.1f} %",
        str(worse),
    )


def main() -> None:
    options = argparse.ArgumentParser(description="CPU and error of the status line.")
    options.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    chosen = options.parse_args()
    rows = []
    for size_mb in SIZES_MB:
        print(f"measuring {size_mb:g} MB …", file=sys.stderr, flush=True)
        rows.append(measure_cpu(size_mb))
    columns = ("log", "first look", "warm, p50 / p95", "asked")
    print(Table("CPU of one look", columns, tuple(rows)).text())
    found = [row for row in map(error_row, chosen.logs) if row is not None]
    if found:
        heads = ("session", "calls", "line, median / worst", "last input", "calls worse")
        print(Table("Error of the next call", heads, tuple(found)).text())


if __name__ == "__main__":
    main()
