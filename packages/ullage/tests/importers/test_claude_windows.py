import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers.folding import FIXTURES
from ullage.cli import main
from ullage.cli.meters import client_settings
from ullage.events import LimitLearnt
from ullage.importers import read
from ullage.meter.meter import Meter

SESSION = "11111111-2222-4333-8444-555555555555"
MODEL = "claude-opus-4-6"


def _line(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": SESSION,
        "version": "2.1.169",
        "timestamp": f"2026-03-01T10:00:{number:02}Z",
        **more,
    }


def _log(directory: Path, *before: dict[str, Any], prompt: str = "Hello") -> Path:
    answer = {
        "id": "msg_1",
        "role": "assistant",
        "model": MODEL,
        "content": [{"type": "text", "text": "Hello."}],
        "usage": {"input_tokens": 20_000, "output_tokens": 5},
    }
    lines = [
        *before,
        _line("user", 0, message={"role": "user", "content": prompt}),
        _line("assistant", 1, message=answer),
    ]
    path = directory / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _window(path: Path) -> tuple[int | None, str]:
    imported = read(path)
    meter = Meter(client_settings=client_settings(imported).values)
    for event in imported.events:
        meter.apply(event)
    window = meter.reading().window
    return window.tokens, window.source


SAID: dict[str, dict[str, Any]] = {
    "the command": _line(
        "user",
        0,
        uuid="x",
        message={
            "role": "user",
            "content": "<local-command-stdout>Set model to \x1b[1mopus[1m] (claude-opus-4-6[1m])\x1b[22m"
            "</local-command-stdout>",
        },
    ),
    "the system prompt": _line(
        "attachment",
        0,
        uuid="x",
        attachment={
            "type": "prompt_snapshot",
            "systemPrompt": "You are powered by Opus 4.6 (1M context). The exact model ID is claude-opus-4-6[1m].",
        },
    ),
    "a hook": _line(
        "attachment",
        0,
        uuid="x",
        attachment={
            "type": "hook_success",
            "hookEvent": "SessionStart",
            "stdout": '{"source":"startup","model":"claude-opus-4-6[1m]"}',
        },
    ),
    "the totals": {
        "type": "cost-state",
        "sessionId": SESSION,
        "modelUsage": {f"{MODEL}[1m]": {"inputTokens": 3}},
    },
}


@pytest.mark.parametrize("by", SAID)
def test_a_line_of_the_program_that_names_the_long_window_is_believed(
    by: str, tmp_path: Path
) -> None:
    assert _window(_log(tmp_path, SAID[by])) == (1_000_000, "log")


@pytest.mark.parametrize(
    "said",
    [
        {"prompt": "What is the window of claude-opus-4-6[1m]?"},
        {"prompt": "Set it to \x1b[1mclaude-opus-4-6\x1b[22m"},
    ],
)
def test_what_a_person_says_of_a_model_is_not(
    said: dict[str, str], tmp_path: Path
) -> None:
    assert _window(_log(tmp_path, **said)) == (200_000, "documented")
    assert not [
        event
        for event in read(_log(tmp_path, **said)).events
        if isinstance(event, LimitLearnt)
    ]


@pytest.mark.parametrize(
    ("settings", "window"),
    [
        ({"model": "opus[1m]"}, 1_000_000),
        ({"model": "opusplan[1m]"}, 1_000_000),
        ({"model": "claude-opus-4-6[1m]"}, 1_000_000),
        ({"model": "sonnet[1m]"}, 200_000),
        ({"model": "opus"}, 200_000),
        ({"model": 3}, 200_000),
        ({"model": "opus[1m]", "env": {"ANTHROPIC_MODEL": "opus"}}, 200_000),
    ],
)
def test_the_model_that_is_set_tells_the_window(
    settings: dict[str, Any], window: int, tmp_path: Path
) -> None:
    place = tmp_path / ".claude" / "projects" / "-p"
    place.mkdir(parents=True)
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(settings))
    assert _window(_log(place))[0] == window


def test_what_the_status_line_was_told_is_what_context_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _log(tmp_path)
    told = tmp_path / "ullage" / "line" / f"{SESSION}.window.json"
    told.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    told.write_text(json.dumps({"window": 1_000_000, "model": {"id": f"{MODEL}[1m]"}}))
    assert _window(path) == (1_000_000, "settings")
    assert main(["context", str(path)]) == 0
    assert "window: set in the program (as it told its status line)" in " ".join(
        capsys.readouterr().out.split()
    )
    told.write_text(json.dumps({"window": 1_000_000, "model": {"id": "other[1m]"}}))
    assert _window(path) == (200_000, "documented")


def test_blobs_of_a_redacted_log_count_nothing_twice(tmp_path: Path) -> None:
    """Version 2.1.330 logs each request once more; of a log with other paths the hashes are not those of its lines."""
    plain = FIXTURES / "claude_code" / "session.jsonl"
    session = json.loads(plain.read_bytes().splitlines()[-1]).get("sessionId", SESSION)
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x" * 4000}
    again = [
        {"type": "api-request-blob", "sha256": "00", "value": [result]},
        {"type": "api-request", "messages": ["00", "11"], "sessionId": session},
    ]
    path = tmp_path / plain.name
    lines = [json.dumps(line).encode() + b"\n" for line in again]
    path.write_bytes(plain.read_bytes() + b"".join(lines))
    assert read(path).events == read(plain).events
