"""Short logs of each program, as it writes them: a question, and an answer whose report holds what the log does not.

A template of ``templates/`` is one day's session. ``@question`` and the like stand for a text, ``"@reported-4"`` for a
number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.importers.opencode_database import make_database

TEMPLATES: Final = Path(__file__).parent / "templates"
NUMBER: Final = re.compile(r'"@(reported|ms)([+-]\d+)?"')

Writer = Callable[[Path, int, str, int], Path]
"""Writes the log of one day's session into a directory: its question, and the input that was reported."""


def _filled(template: str, day: int, question: str, reported: int) -> str:
    numbers = {"reported": reported, "ms": 1_770_000_000_000 + day * 86_400_000}
    texts = {
        "day": str(day),
        "question": question,
        "skills": "- review: reads a diff\n" * 40,
        "prompt": "You are a coding agent. " * 200,
    }
    log = (TEMPLATES / template).read_text("utf-8")
    log = NUMBER.sub(lambda each: str(numbers[each[1]] + int(each[2] or 0)), log)
    for name, text in texts.items():
        log = log.replace(f"@{name}", json.dumps(text)[1:-1])
    return log


def _writer(program: str, file: str) -> Writer:
    def write(place: Path, day: int, question: str, reported: int) -> Path:
        path = place / f"{file}-{day}.jsonl"
        path.write_text(_filled(f"{program}.jsonl", day, question, reported), "utf-8")
        return path

    write.__name__ = program
    return write


claude_code = _writer("claude_code", "claude")
codex = _writer("codex", "rollout")


def opencode(place: Path, day: int, question: str, reported: int) -> Path:
    """A database: each line of the template is the path and the content of one of its objects."""
    storage = place / f"opencode-{day}" / "storage"
    for line in _filled("opencode.txt", day, question, reported).splitlines():
        name, content = line.split(" ", 1)
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    database = place / f"opencode-{day}.db"
    database.unlink(missing_ok=True)
    return make_database(database, storage=storage)


PROGRAMS: tuple[Writer, ...] = (
    claude_code,
    codex,
    _writer("pi", "pi"),
    _writer("gemini_cli", "gemini"),
    opencode,
)
