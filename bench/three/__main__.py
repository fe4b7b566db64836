"""Runs three programs, each written with Ullage and with pydantic-ai, against a simulator, and counts their lines.

    uv run python -m bench.three

A line of code is one that is neither empty nor a comment nor part of the program's docstring, formatted by ruff. Each
program has to do its work: mend a file after each change was allowed, answer in a type from two sub-agents, and know
in its second life what was said in the first.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.environments import HARNESS_COMPACTION, PYDANTIC_AI, Peer, attempted, python_of
from ullage_simulators import Server, read, running

HERE: Final = Path(__file__).parent
SERVING: Final = ("starlette==1.10.0", "uvicorn==0.54.0")
THEIRS: Final = replace(PYDANTIC_AI, also=SERVING)
PORT_S: Final = 30.0
CASKS: Final = "def ullage(volume, level):\n    return volume - level\n"
MENDED: Final = "volume * (1 - level)"


class Side(NamedTuple):
    """A library: the end of its programs' names, its environment, and how its tools are called."""

    name: str
    ending: str
    peer: Peer | None
    edits: Mapping[str, Any]
    runs: Mapping[str, Any]
    typed: Callable[[Any], dict[str, Any]]


def as_text(answer: object) -> dict[str, Any]:
    return {"text": json.dumps(answer)}


def as_call(answer: Any) -> dict[str, Any]:
    return {"calls": [{"name": "final_result", "arguments": answer}]}


SIDES: Final = (
    Side(
        "Ullage",
        "",
        None,
        {
            "name": "edit",
            "arguments": {"path": "casks.py", "old": "volume - level", "new": MENDED},
        },
        {"name": "shell", "arguments": {"command": "echo tried >> log"}},
        as_text,
    ),
    Side(
        "pydantic-ai",
        "_pydantic_ai",
        THEIRS,
        {
            "name": "edit_file",
            "arguments": {
                "path": "casks.py",
                "old_text": "volume - level",
                "new_text": MENDED,
            },
        },
        {"name": "run_command", "arguments": {"command": "echo tried >> log"}},
        as_call,
    ),
)


def lines_of(program: Path) -> int:
    """Lines of code."""
    text = program.read_text()
    docstring = ast.parse(text).body[0]
    lines = text.splitlines()[docstring.end_lineno or 0 :]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def main() -> int:
    """Run all, and print the table."""
    worst = 0
    for title, run in (("coding", coding), ("research", research), ("support", support)):
        for side in SIDES:
            program = HERE / f"{title}{side.ending}.py"
            line, status = attempted(
                f"{title}, {side.name}: {lines_of(program)} lines",
                partial(_run, run, side, program),
            )
            print(line, flush=True)
            worst = max(worst, status)
    return worst


def _run(run: Callable[[Side, Path, Path], str], side: Side, program: Path) -> str:
    with tempfile.TemporaryDirectory() as place:
        return run(side, program, Path(place))


def coding(side: Side, program: Path, place: Path) -> str:
    """The file is mended and the command has run, both after a yes. The other's tools come from its harness."""
    (place / "casks.py").write_text(CASKS)
    answers = [
        {"when": {"after": "user"}, "text": "I try it.", "calls": [side.runs]},
        {"when": {"step": 2}, "calls": [side.edits]},
        {"when": {"step": 3}, "calls": [side.runs]},
        {"text": "It is mended."},
    ]
    with running(read({"answers": answers})) as server:
        tools = side if side.peer is None else side._replace(peer=HARNESS_COMPACTION)
        said = _python(
            tools, server, place, program, str(place), "Mend it.", typed="y\ny\ny\n"
        )
    assert said.count("Allow it?") == 3, said
    assert "It is mended." in said, said
    assert MENDED in (place / "casks.py").read_text(), said
    assert (place / "log").read_text() == "tried\ntried\n"
    return "asked three times"


def research(side: Side, program: Path, place: Path) -> str:
    """The findings of both readers are in the report."""
    topics = ("soil", "weather")
    claims = [
        {"claim": f"Look at the {each}", "source": each, "is_certain": True}
        for each in topics
    ]
    asked = [{"name": "research", "arguments": {"topic": each}} for each in topics]
    answers: list[dict[str, Any]] = [
        {"when": {"contains": "Where should", "after": "user"}, "calls": asked}
    ]
    for topic, claim, found in zip(topics, claims, ("drains", "froze"), strict=True):
        reads = [{"name": "read", "arguments": {"source": topic}}]
        answers += [
            {
                "when": {"contains": f"Find out about {topic}", "after": "user"},
                "calls": reads,
            },
            {"when": {"contains": found, "after": "tool"}, **side.typed(claim)},
        ]
    answers.append(side.typed({"answer": "In the upper field.", "findings": claims}))
    with running(read({"answers": answers})) as server:
        said = _python(side, server, place, program, "Where should we plant?")
        calls = sum(bool(each.number) for each in server.exchanges)
    assert "In the upper field." in said, said
    assert all(f"- Look at the {each} ({each})" in said for each in topics), said
    return f"{calls} model calls"


def support(side: Side, program: Path, place: Path) -> str:
    """The second life of the program knows what was said in the first."""
    answers = [
        {
            "when": {"contains": "A1", "after": "user"},
            "calls": [{"name": "order_status", "arguments": {"order": "A1"}}],
        },
        {"when": {"contains": "on its way"}, "text": "A1 is on its way."},
        {"text": "You asked for A1."},
    ]
    with running(read({"answers": answers})) as server:
        first = _life(side, server, place, program, "Where is A1?")
        second = _life(side, server, place, program, "What did I ask?")
        sent = json.dumps(server.exchanges[-1].body)
    assert "on its way" in first, first
    assert "You asked" in second, second
    assert "Where is A1?" in sent and "What did I ask?" in sent, sent
    return "two lives"


def _environment(server: Server, place: Path) -> dict[str, str]:
    ours = {"OPENAI_BASE_URL": server.url("openai"), "OPENAI_API_KEY": "any"}
    return {**os.environ, **ours, "HOME": str(place), "ULLAGE_DATA": str(place / "data")}


def _python(
    side: Side,
    server: Server,
    place: Path,
    program: Path,
    *arguments: str,
    typed: str = "",
) -> str:
    done = subprocess.run(
        [str(python_of(side.peer)), str(program), *arguments],
        cwd=place,
        env=_environment(server, place),
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _life(side: Side, server: Server, place: Path, program: Path, text: str) -> str:
    """What a process of the program answers, with which it ends."""
    serve = [str(python_of(side.peer)), "-m", "uvicorn", f"{program.stem}:app"]
    serving = subprocess.Popen(
        [*serve, "--port", "0", "--app-dir", str(HERE)],
        cwd=place,
        env=_environment(server, place),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stderr is not None
        url = next(
            line.split(" on ")[1].split()[0] for line in serving.stderr if " on " in line
        )
        asked = urllib.request.Request(f"{url}/chat/ada", text.encode())
        with urllib.request.urlopen(asked, timeout=PORT_S) as answer:
            return str(answer.read().decode())
    finally:
        serving.terminate()
        serving.communicate(timeout=PORT_S)


if __name__ == "__main__":
    sys.exit(main())
