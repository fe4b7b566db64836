"""What the providers say of a cache that was not read, where a request asks: the first difference to an earlier one.

Anthropic: ``diagnostics.previous_message_id``; only requests with ``diagnostics`` are remembered
(https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics). OpenAI:
``prompt_cache_options.comparison_response_id`` (https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ullage_simulators.body import Body
from ullage_simulators.wire import CallInProgress

_ASKED: Final = "asked "
_HEADS: Final = (
    ("model", "model_changed"),
    ("system", "system_changed"),
    ("tools", "tools_changed"),
)
_OTHERS: Final = ("thinking", "tool_choice", "context_management", "output_config")
_OPENAI: Final = (
    ("model", "model_changed"),
    ("service_tier", "service_tier_changed"),
    ("prompt_cache_key", "prompt_cache_key_changed"),
    ("tools", "tools_changed"),
    ("text", "text_format_changed"),
    ("reasoning", "reasoning_effort_changed"),
    ("instructions", "input_changed"),
)


def of_message(call: CallInProgress, identity: str) -> Body:
    """The field of Anthropic's answer ``identity``; nothing where it was not asked for."""
    asked = call.body.get("diagnostics")
    if not isinstance(asked, dict):
        return {}
    items = call.memory.items
    name = asked.get("previous_message_id")
    before = items.get(f"{_ASKED}{name}")
    items[_ASKED + identity] = call.body
    if name is None:
        return {"diagnostics": None}
    if before is None:
        reason: Body = {"type": "previous_message_not_found"}
        return {"diagnostics": {"cache_miss_reason": reason}}
    found = _first(before, call.body, _HEADS, "messages", "messages_changed")
    if any(before.get(each) != call.body.get(each) for each in _OTHERS):
        found = found or "unavailable"
    if not found:
        return {"diagnostics": None}
    reason = {"type": found}
    if found != "unavailable":
        reason["cache_missed_input_tokens"] = len(_text(before)) // 4
    return {"diagnostics": {"cache_miss_reason": reason}}


def of_response(call: CallInProgress, identity: str) -> Body:
    """The field of OpenAI's answer ``identity``; nothing where it was not asked for."""
    items = call.memory.items
    options = call.body.get("prompt_cache_options")
    name = options.get("comparison_response_id") if isinstance(options, dict) else None
    before = items.get(f"{_ASKED}{name}")
    items[_ASKED + identity] = call.body
    if not name:
        return {}
    found: Body = {"type": "comparison_response_not_found"}
    if before is not None:
        reason = _first(before, call.body, _OPENAI, "input", "input_changed")
        found = {"type": "cache_hit"}
        if reason:
            missed = len(_text(before)) // 4
            found = {
                "type": "cache_miss",
                "reason": reason,
                "cache_missed_tokens": missed,
            }
    return {"prompt_cache_diagnostics": found}


def _first(
    before: Body, now: Body, heads: Sequence[tuple[str, str]], history: str, word: str
) -> str:
    """The word for the first difference; empty where the request extends the earlier one."""
    for name, told in heads:
        if _text(before.get(name)) != _text(now.get(name)):
            return told
    old, new = before.get(history), now.get(history)
    if not (isinstance(old, list) and isinstance(new, list)):
        return "" if old == new else word
    return "" if _text(new[: len(old)]) == _text(old) else word


def _text(value: Any) -> str:
    """The JSON without cache marks."""
    return json.dumps(_bare(value))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if key != "cache_control"}
    return [_bare(each) for each in value] if isinstance(value, list) else value
