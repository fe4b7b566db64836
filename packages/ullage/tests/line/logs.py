"""Lines of Claude Code's session log, as its versions 2.1 write them."""

from __future__ import annotations

import json
from itertools import count, pairwise
from typing import Any

_numbers = count()


def as_line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def prompt(
    text: str, *, uuid: str = "", parent: str | None = None, **other: Any
) -> bytes:
    message = {"role": "user", "content": text}
    return as_line(
        {"parentUuid": parent, "type": "user", "uuid": uuid, "message": message, **other}
    )


def answer(
    call: str,
    *,
    reported: int,
    output: int = 10,
    blocks: list[dict[str, Any]] | None = None,
    **other: Any,
) -> bytes:
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": reported - 5,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }
    message = {"id": call, "content": blocks or [], "usage": usage}
    entry = {
        "parentUuid": "p",
        "type": "assistant",
        "uuid": f"{call}.{next(_numbers)}",
        "message": message,
    }
    return as_line(entry | other)


def use(call: str, name: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(call: str, text: str, *, uuid: str = "") -> bytes:
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    message = {"role": "user", "content": [block]}
    return as_line({"parentUuid": "p", "type": "user", "uuid": uuid, "message": message})


def boundary(trigger: str, before: int, **metadata: object) -> bytes:
    found = {"trigger": trigger, "preTokens": before, **metadata}
    return as_line(
        {
            "parentUuid": None,
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": f"boundary.{next(_numbers)}",
            "compactMetadata": found,
        }
    )


def summary(text: str) -> bytes:
    return prompt(text, uuid="summary", parent="boundary", isCompactSummary=True)


def linked(*lines: bytes) -> list[bytes]:
    """The same lines, each with an id of its own and the line before as its parent."""
    entries = [json.loads(line) for line in lines]
    for number, entry in enumerate(entries):
        entry["uuid"] = f"line-{number}"
    for before, entry in pairwise(entries):
        entry["parentUuid"] = before["uuid"]
    entries[0]["parentUuid"] = None
    return [as_line(entry) for entry in entries]
