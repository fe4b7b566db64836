"""Anthropic's report of the context edits of a call: what its server cleared before the model read the request.

``context_management.applied_edits`` of a message, and of ``message_delta`` where it streams. An edit names its type,
``cleared_input_tokens`` and how many tool uses or turns of thinking these were. The reported input is what was left
(https://platform.claude.com/docs/en/build-with-claude/context-editing; anthropic 2.12,
``types/beta/beta_context_management_response.py``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ullage.codec.foreign import as_plain
from ullage.envelope import MOST_TOKENS
from ullage.usage import Cleared

MOST_EDITS: Final = 16
"""More edits than any request can ask for: the rest is not read."""


class _EditKind(NamedTuple):
    prefix: str
    content: str
    counted_by: str


_KINDS: Final = (
    _EditKind("clear_tool_uses", "tool_results", "cleared_tool_uses"),
    _EditKind("clear_thinking", "reasoning", "cleared_thinking_turns"),
)
"""Types end with the date of their version."""

_OTHER: Final = _EditKind("", "", "")


def read_applied_edits(context_management: object) -> tuple[Cleared, ...]:
    """The edits that cleared anything. An edit without a usable number of tokens is left out.

    ``context_management`` is that field of an answer, as JSON or as an SDK's object. Never raises for what a provider
    may send.
    """
    fields = as_plain(context_management)
    edits = fields.get("applied_edits") if isinstance(fields, dict) else None
    found: list[Cleared] = []
    for edit in edits[:MOST_EDITS] if isinstance(edits, list) else ():
        if not isinstance(edit, dict):
            continue
        tokens = _count(edit.get("cleared_input_tokens"))
        if not tokens:
            continue
        kind = _kind_of(edit.get("type"))
        count = _count(edit.get(kind.counted_by))
        found.append(Cleared(tokens=tokens, content=kind.content, count=count))
    return tuple(found)


def _kind_of(name: object) -> _EditKind:
    for kind in _KINDS:
        if isinstance(name, str) and name.startswith(kind.prefix):
            return kind
    return _OTHER


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
