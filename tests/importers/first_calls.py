"""Short logs of each program, as it writes them: a question, and an answer whose report holds what the log does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

CWD = "/home/ann/shop"
DAY = "2026-02-0{day}T10:00:0{second}.000Z"

Writer = Callable[[Path, int, str, int], Path]
"""Writes the log of one day's session into a directory: its question, and the input that was reported."""


def _at(day: int, second: int) -> str:
    return DAY.format(day=day, second=second)


def _ms(day: int) -> int:
    return 1_770_000_000_000 + day * 86_400_000


def _lines(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def claude_code(place: Path, day: int, question: str, reported: int) -> Path:
    about = {"cwd": CWD, "sessionId": f"s{day}", "version": "2.1.197"}
    skills = {"type": "skill_listing", "content": "- review: reads a diff\n" * 40}
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": reported - 4,
        "output_tokens": 9,
    }
    answer = {
        "id": f"msg_{day}",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }
    return _lines(
        place / f"claude-{day}.jsonl",
        {
            "type": "queue-operation",
            "sessionId": f"s{day}",
            "timestamp": _at(day, 0),
            "operation": "enqueue",
        },
        {
            "type": "user",
            "uuid": f"u{day}",
            "parentUuid": None,
            "timestamp": _at(day, 1),
            "message": {"role": "user", "content": question},
            **about,
        },
        {
            "type": "attachment",
            "uuid": f"k{day}",
            "parentUuid": f"u{day}",
            "timestamp": _at(day, 1),
            "attachment": skills,
            **about,
        },
        {
            "type": "assistant",
            "uuid": f"a{day}",
            "parentUuid": f"k{day}",
            "timestamp": _at(day, 2),
            "requestId": f"r{day}",
            "message": answer,
            **about,
        },
    )


def codex(place: Path, day: int, question: str, reported: int) -> Path:
    usage = {"input_tokens": reported, "cached_input_tokens": 0, "output_tokens": 12}
    said = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": question}],
    }
    answered = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    meta = {
        "id": f"s{day}",
        "cwd": CWD,
        "cli_version": "0.169.0",
        "model_provider": "openai",
        "base_instructions": {"text": "You are a coding agent. " * 200},
    }
    counted = {"type": "token_count", "info": {"last_token_usage": usage}}
    return _lines(
        place / f"rollout-{day}.jsonl",
        {"timestamp": _at(day, 0), "type": "session_meta", "payload": meta},
        {
            "timestamp": _at(day, 0),
            "type": "turn_context",
            "payload": {"cwd": CWD, "model": "gpt-5"},
        },
        {"timestamp": _at(day, 1), "type": "response_item", "payload": said},
        {"timestamp": _at(day, 2), "type": "response_item", "payload": answered},
        {"timestamp": _at(day, 3), "type": "event_msg", "payload": counted},
    )


def pi(place: Path, day: int, question: str, reported: int) -> Path:
    usage = {"input": reported, "output": 6, "cacheRead": 0, "cacheWrite": 0}
    answer = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "usage": usage,
        "stopReason": "stop",
    }
    return _lines(
        place / f"pi-{day}.jsonl",
        {
            "type": "session",
            "version": 3,
            "id": f"s{day}",
            "timestamp": _at(day, 0),
            "cwd": CWD,
        },
        {
            "type": "model_change",
            "id": "mc",
            "parentId": None,
            "timestamp": _at(day, 0),
            "provider": "anthropic",
            "modelId": "claude-sonnet-4-5",
        },
        {
            "type": "message",
            "id": "m1",
            "parentId": "mc",
            "timestamp": _at(day, 1),
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": question}],
            },
        },
        {
            "type": "message",
            "id": "m2",
            "parentId": "m1",
            "timestamp": _at(day, 2),
            "message": answer,
        },
    )


def gemini_cli(place: Path, day: int, question: str, reported: int) -> Path:
    tokens = {
        "input": reported,
        "output": 8,
        "cached": 0,
        "thoughts": 0,
        "tool": 0,
        "total": reported + 8,
    }
    return _lines(
        place / f"gemini-{day}.jsonl",
        {
            "sessionId": f"s{day}",
            "projectHash": "abc",
            "startTime": _at(day, 0),
            "kind": "main",
            "directories": [CWD],
        },
        {
            "id": "g1",
            "timestamp": _at(day, 1),
            "type": "user",
            "content": [{"text": question}],
        },
        {
            "id": "g2",
            "timestamp": _at(day, 2),
            "type": "gemini",
            "content": "Done.",
            "tokens": tokens,
            "model": "gemini-2.5-flash",
        },
    )


def opencode(place: Path, day: int, question: str, reported: int) -> Path:
    session, asked, said = f"ses_{day}", f"msg_{day}1", f"msg_{day}2"
    model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    time = {"created": _ms(day), "completed": _ms(day) + 9, "updated": _ms(day) + 9}
    tokens = {"input": reported, "output": 7, "reasoning": 0, "cache": {"read": 0}}
    files: dict[str, dict[str, Any]] = {
        f"session/p/{session}.json": {
            "id": session,
            "version": "1.18.33",
            "directory": CWD,
            "title": "Shop",
            "time": time,
        },
        f"message/{session}/{asked}.json": {
            "id": asked,
            "sessionID": session,
            "role": "user",
            "time": time,
            "model": model,
        },
        f"part/{asked}/prt_1.json": {
            "id": "prt_1",
            "messageID": asked,
            "type": "text",
            "text": question,
        },
        f"message/{session}/{said}.json": {
            "id": said,
            "sessionID": session,
            "role": "assistant",
            "time": time,
            "tokens": tokens,
            **model,
        },
        f"part/{said}/prt_2.json": {
            "id": "prt_2",
            "messageID": said,
            "type": "text",
            "text": "Done.",
        },
    }
    storage = place / f"opencode-{day}" / "storage"
    for name, content in files.items():
        path = storage / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return storage


PROGRAMS: tuple[Writer, ...] = (claude_code, codex, pi, gemini_cli, opencode)
