"""What the providers say of a cache that was not read, where a request asks: the first difference to an earlier one.

Anthropic: ``diagnostics.previous_message_id``; only requests with ``diagnostics`` are remembered
(https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics). OpenAI:
``prompt_cache_options.comparison_response_id`` (https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics).
"""

from __future__ import annotations

import json
from typing import Any, Final

from ullage_simulators.body import Body
from ullage_simulators.wire import CallInProgress

_ASKED: Final = "asked "
_FIELDS: Final = (
    ("model", "model_changed"),
    ("service_tier", "service_tier_changed"),
    ("prompt_cache_key", "prompt_cache_key_changed"),
    ("system", "system_changed"),
    ("tools", "tools_changed"),
    ("text", "text_format_changed"),
    ("reasoning", "reasoning_effort_changed"),
    ("instructions", "input_changed"),
    ("messages", "messages_changed"),
    ("input", "input_changed"),
)
"""What is compared, and the word for it; a wire lacks the fields of the other one."""
_OTHERS: Final = ("thinking", "tool_choice", "context_management", "output_config")


def of_message(call: CallInProgress, identity: str) -> Body:
    """The field of Anthropic's answer ``identity``; nothing where it was not asked for."""
    asked = call.body.get("diagnostics")
    if not isinstance(asked, dict):
        return {}
    name = asked.get("previous_message_id")
    before = _noted(call, identity, name)
    if name is None:
        return {"diagnostics": None}
    reason: Body = {"type": "previous_message_not_found"}
    if before is not None:
        found = _first(before, call.body)
        if found:
            missed = len(_text(before)) // 4
            reason = {"type": found, "cache_missed_input_tokens": missed}
        elif any(before.get(each) != call.body.get(each) for each in _OTHERS):
            reason = {"type": "unavailable"}
        else:
            return {"diagnostics": None}
    return {"diagnostics": {"cache_miss_reason": reason}}


def of_response(call: CallInProgress, identity: str) -> Body:
    """The field of OpenAI's answer ``identity``; nothing where it was not asked for."""
    options = call.body.get("prompt_cache_options")
    name = options.get("comparison_response_id") if isinstance(options, dict) else None
    before = _noted(call, identity, name)
    if not name:
        return {}
    found: Body = {"type": "comparison_response_not_found"}
    if before is not None:
        found = {"type": "cache_hit"}
        reason = _first(before, call.body)
        if reason:
            missed = len(_text(before)) // 4
            found = {
                "type": "cache_miss",
                "reason": reason,
                "cache_missed_tokens": missed,
            }
    return {"prompt_cache_diagnostics": found}


def _noted(call: CallInProgress, identity: str, name: object) -> Body | None:
    """The body whose answer has this name, after that of this call was noted."""
    items = call.memory.items
    before: Body | None = items.get(f"{_ASKED}{name}")
    items[_ASKED + identity] = call.body
    return before


def _first(before: Body, now: Body) -> str:
    """The word for the first difference; empty where the request extends the earlier one."""
    for name, told in _FIELDS:
        old, new = before.get(name), now.get(name)
        if name in ("messages", "input") and isinstance(old, list):
            new = new[: len(old)] if isinstance(new, list) else None
        if _text(old) != _text(new):
            return told
    return ""


def _text(value: Any) -> str:
    """The JSON without cache marks."""
    return json.dumps(_bare(value))


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if key != "cache_control"}
    return [_bare(each) for each in value] if isinstance(value, list) else value
