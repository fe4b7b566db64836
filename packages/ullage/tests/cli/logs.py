"""Session logs in pi's format, written for these tests, and the command run on them as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ullage.cli.session import metered, read_session
from ullage.errors import InputError
from ullage.meter.meter import Meter

CALLS = 4
SECRET = "the password of the archive is swordfish"


def of_context(path: Path) -> bytes:
    """What ``ullage context`` reads there, or the kind of its error."""
    try:
        return (
            metered(read_session(path), Meter(estimator="pretoken"))
            .meter.reading()
            .to_json()
        )
    except InputError as problem:
        return type(problem).__name__.encode()


def write_log(
    path: Path, *, calls: int = CALLS, model: str = "claude-haiku-4-5", torn: bool = False
) -> Path:
    """A session of ``calls`` calls, each followed by a tool's result; the reported inputs grow by 1,200 or more."""
    header = {"type": "session", "id": "s1", "timestamp": "2026-01-02T03:04:05Z"}
    lines: list[dict[str, Any]] = [
        {**header, "cwd": "/home/ann/app", "provider": "anthropic"},
        _message(0, "user", [_text(f"Fix the parser; {SECRET}")]),
    ]
    answered: dict[str, Any] = {
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": model,
    }
    for number in range(calls):
        call: dict[str, Any] = {"type": "toolCall", "id": f"t{number}", "name": "read"}
        call["arguments"] = {"path": "parser.py"}
        usage = {"input": 2_100 + 1_250 * number, "output": 60}
        answered |= {"usage": {**usage, "cacheRead": 0, "cacheWrite": 0}}
        said = [_text("I will read the file."), call]
        lines.append(
            _message(number + 1, "assistant", said, **answered, stopReason="toolUse")
        )
        text = f"line {number}: " + "value = compute(value)  # keep\n" * 100
        result = {"toolCallId": f"t{number}", "toolName": "read"}
        lines.append(_message(number + 1, "toolResult", [_text(text)], **result))
    path.parent.mkdir(parents=True, exist_ok=True)
    written = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(written + ('{"type":"message","mess' if torn else ""))
    return path


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _message(second: int, role: str, content: list[Any], **more: Any) -> dict[str, Any]:
    at = f"2026-01-02T03:05:{second % 60:02}Z"
    message = {"role": role, "content": content, **more}
    return {"type": "message", "timestamp": at, "message": message}


def empty_home(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user without sessions, whatever the user who runs the tests has set."""
    prefixes = ("XDG_", "CLAUDE_", "CODEX_", "PI_", "GEMINI_")
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(directory))
    return directory


def home_of(directory: Path) -> dict[str, str]:
    """The environment of a user whose home is ``directory``, with nothing in it that the tests did not put there."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    return {**kept, "HOME": str(directory), "PYTHONUTF8": "1"}


def ullage(
    *arguments: str | Path, home: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user would, its output into pipes."""
    return subprocess.run(
        [sys.executable, "-m", "ullage", *map(str, arguments)],
        env=home_of(home) | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
