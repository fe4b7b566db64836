"""What ``ullage context`` costs on a 10 MB session log, as a real process.

    uv run python -m bench.context_command

Beside it, in the same turn: a Python process that does nothing but ``json.loads`` every line of the same file. The log
is invented, in the shape of Claude Code's: most bytes are tool results, which stand there twice.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.environments import OUT
from bench.invented import Writer, kinds
from bench.process import run_in_turn
from bench.results import Table, ratio, show
from bench.usage_logs import answer, text_of
from ullage.tokens import bpe

SIZE_BYTES = 10_000_000
RUNS = 5
PLAIN = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"
PLACES = ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
CHARACTERS_A_TOKEN = 3.3


def write_log(path: Path, size_bytes: int) -> None:
    """A log of about this many bytes: calls with a tool's result each."""
    writer = Writer(11)
    tools = kinds(writer)
    held = 19_000
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size_bytes:
            number += 1
            text = writer.prose(writer.random.randint(60, 900))
            said = answer(f"msg_{number}", tokens=(8, 500, held, len(text) // 3))
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read"}
            said["message"]["content"] = [
                {"type": "text", "text": text},
                {**call, "input": {"file_path": writer.path()}},
            ]
            size = min(40_000, round(2200 * writer.random.lognormvariate(0, 1.1)))
            result = writer.random.choice(tools)(max(40, size))
            block = {"type": "tool_result", "tool_use_id": call["id"], "content": result}
            back = {
                **{key: said[key] for key in ("sessionId", "version", "cwd")},
                "parentUuid": said["uuid"],
                "type": "user",
                "uuid": f"r-{number}",
                "timestamp": said["timestamp"],
                "message": {"role": "user", "content": [block]},
                "toolUseResult": {"stdout": result},
            }
            file.write(text_of(said, back))
            held += round((len(text) + len(result)) / CHARACTERS_A_TOKEN)
            held = 19_000 if held > 160_000 else held


def main() -> None:
    """Write the log, run the commands in turn, and print."""
    home = OUT / "home"
    home.mkdir(parents=True, exist_ok=True)
    path = OUT / f"session-{SIZE_BYTES}.jsonl"
    write_log(path, SIZE_BYTES)
    commands = {"`json.loads` of every line": [sys.executable, "-c", PLAIN, str(path)]}
    for name in ("pretoken", "bpe"):
        if name == "pretoken" or bpe.is_available():
            command = ["-m", "ullage", "context", str(path), "--estimator", name]
            commands[f"`ullage context`, {name}"] = [sys.executable, *command]
    # An empty home, so that nothing that was learnt on this machine has a part in it.
    environment = os.environ | dict.fromkeys(PLACES, str(home))
    runs = run_in_turn(commands, count=RUNS, environment=environment)
    plain = next(iter(runs.values())).median
    rows: list[tuple[str, ...]] = []
    for name, run in runs.items():
        cost = run.median
        times = (f"{cost.wall_s:.2f} s", f"{cost.cpu_s:.2f} s", f"{cost.peak_mb:.0f} MB")
        against = ratio(cost.cpu_s, plain.cpu_s), ratio(cost.peak_bytes, plain.peak_bytes)
        rows.append((name, *times, run.cpu_spread, *against))
    columns = (
        *("what", "wall", "CPU", "peak memory", "CPU of all runs"),
        *("CPU ×", "memory ×"),
    )
    title = f"A log of {SIZE_BYTES / 1e6:.0f} MB, medians of {RUNS} processes"
    show(Table(title, columns, tuple(rows)))


if __name__ == "__main__":
    main()
