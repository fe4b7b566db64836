"""Thinking blocks that come back: whether they are what was sent, and whether what stands before them still is."""

from __future__ import annotations

from typing import Any

from ullage_simulators.anthropic.checks import blocks, is_turn
from ullage_simulators.anthropic.rules import RULES
from ullage_simulators.refusal import refuse
from ullage_simulators.seal import digest, seal, unseal
from ullage_simulators.wire import CallInProgress, last_index

WIRE = "anthropic"
BETA = "thinking-binding-controls-2026-08-01"
_KINDS = ("thinking", "redacted_thinking")
_OTHER_MODEL = "model_binding_mismatch"
_OTHER_PREFIX = "prefix_binding_mismatch"
_NEEDS_BETA = f" That setting requires the `{BETA}` value in the `anthropic-beta` header."


def is_enabled(call: CallInProgress) -> bool:
    """Whether the request lets the model think; newer models do unless they are told not to."""
    given = (call.body.get("thinking") or {}).get("type")
    if given is None:
        return "thinks" in call.model.traits
    return given in ("enabled", "adaptive", "between_tools")


def sign(call: CallInProgress, text: str, size: int) -> str:
    """The signature of a block with this text that stands for ``size`` tokens."""
    identity = call.memory.new_id("", 12)
    messages = call.body["messages"]
    before = [carried["id"] for carried in map(_open, _all(messages)) if carried]
    carried = {
        "id": identity,
        "n": size,
        "text": digest(text),
        "model": call.model.name,
        "bound": "bound" in call.model.traits,
        "prefix": _prefix(call.body, messages, []),
        "before": before[-1] if before else "",
    }
    return seal(WIRE, carried)


def size_of(block: dict[str, Any]) -> int:
    """The tokens a block stands for."""
    carried = _open(block)
    return int(carried["n"]) if carried else 0


def check_thinking(call: CallInProgress) -> None:
    """Refuses thinking that is not what was sent.

    Bound thinking is dropped for another model, and refused or dropped behind a changed prefix
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking).
    """
    _check_settings(call)
    messages = call.body["messages"]
    latest = last_index(messages, _is_answer)
    for index, message in enumerate(messages):
        if _is_answer(message):
            _check_blocks(index, blocks(message), is_latest=index == latest)
            _check_order(index, blocks(message), call)
    thinking = call.body.get("thinking") or {}
    if thinking.get("type") == "enabled" and "manual-thinking" in call.model.traits:
        _check_loop(messages)
    _check_binding(call)


def _is_answer(message: dict[str, Any]) -> bool:
    return bool(message["role"] == "assistant")


def _check_settings(call: CallInProgress) -> None:
    given = call.body.get("thinking") or {}
    if "block_binding" in given and not has_controls(call):
        raise refuse(RULES, "binding_without_beta", type=given.get("type"))
    if given.get("type") != "enabled":
        return
    budget = given.get("budget_tokens", 0)
    if budget < 1_024:
        raise refuse(RULES, "thinking_budget_small")
    if budget >= call.body.get("max_tokens", budget + 1):
        raise refuse(RULES, "thinking_budget_large")


def _check_blocks(index: int, found: list[dict[str, Any]], *, is_latest: bool) -> None:
    for at, block in enumerate(found):
        match block.get("type"):
            case "thinking":
                if not isinstance(block.get("signature"), str):
                    raise refuse(RULES, "signature_missing", i=index, j=at)
                carried = _open(block)
                if carried is None:
                    raise refuse(RULES, "signature_invalid", i=index, j=at)
                # Text in a block that came without any is ignored:
                # https://platform.claude.com/docs/en/build-with-claude/thinking#preserving-thinking-blocks
                if carried["text"] not in (digest(""), digest(block.get("thinking"))):
                    rule = "thinking_edited" if is_latest else "signature_invalid"
                    raise refuse(RULES, rule, i=index, j=at)
            case "redacted_thinking":
                if _open(block) is None:
                    raise refuse(RULES, "redacted_invalid", i=index, j=at)


def _check_order(index: int, found: list[dict[str, Any]], call: CallInProgress) -> None:
    kinds = [block.get("type") for block in found]
    if not set(kinds) & set(_KINDS):
        return
    if kinds[-1] in _KINDS:
        raise refuse(RULES, "thinking_last", i=index)
    if "manual-thinking" in call.model.traits and kinds[0] not in _KINDS:
        raise refuse(RULES, "thinking_not_first", i=index, found=kinds[0])


def _check_loop(messages: list[dict[str, Any]]) -> None:
    """The answer that began the current tool loop must bring its thinking back."""
    answer = 1 + last_index(messages, _begins_turn)
    if answer >= len(messages) - 1:
        return
    for block in blocks(messages[answer])[:1]:
        kind = block.get("type")
        if kind not in _KINDS:
            raise refuse(RULES, "thinking_left_out", i=answer, found=kind)


def _begins_turn(message: dict[str, Any]) -> bool:
    return is_turn(message, beside=False)


def _check_binding(call: CallInProgress) -> None:
    messages = call.body["messages"]
    previous = ""
    is_broken = False
    for index, message in enumerate(messages):
        kept = []
        content = blocks(message)
        for at, block in enumerate(content):
            carried = _open(block) if block.get("type") in _KINDS else None
            if carried is None:
                kept.append(block)
                is_broken = False
                continue
            reason = _mismatch(
                call, carried, previous, index, content[:at], is_broken=is_broken
            )
            is_dropped = reason == _OTHER_MODEL
            if reason == _OTHER_PREFIX:
                is_dropped = _drops_block(call, index, at)
            if reason:
                kind = "thinking_dropped" if is_dropped else "thinking_mismatch_allowed"
                path = f"messages.{index}.content.{at}"
                call.dropped.append({"type": kind, "path": path, "reason": reason})
            is_broken = is_dropped and reason == _OTHER_PREFIX
            if not is_dropped:
                kept.append(block)
                previous = carried["id"]
        if len(kept) < len(content):
            message["content"] = kept


def _drops_block(call: CallInProgress, index: int, at: int) -> bool:
    """Whether a block behind a changed prefix is dropped, where the request may hold it at all.

    A lenient run answers as to an account from before August 31, 2026: a request that doesn't say what happens to the
    block is billed with it.
    """
    binding = (call.body.get("thinking") or {}).get("block_binding") or {}
    behavior = binding.get("prefix_mismatch_behavior")
    if behavior == "drop_block":
        return True
    refusal = refuse(RULES, "prefix_changed", i=index, j=at, hint=_hint(call))
    if behavior == "error":
        raise refusal
    call.refuse_or_warn(refusal)
    return False


def _mismatch(
    call: CallInProgress,
    carried: dict[str, Any],
    previous: str,
    index: int,
    before: list[dict[str, Any]],
    *,
    is_broken: bool,
) -> str:
    if not carried.get("bound"):
        return ""
    if carried["model"] != call.model.name:
        return "" if "reads-all" in call.model.traits else _OTHER_MODEL
    messages = call.body["messages"][:index]
    if is_broken or carried["prefix"] != _prefix(call.body, messages, before):
        return _OTHER_PREFIX
    return _OTHER_PREFIX if previous and carried["before"] != previous else ""


def has_controls(call: CallInProgress) -> bool:
    """Whether the request may set what happens to unreadable thinking, and is told of it."""
    return BETA in call.headers.get("anthropic-beta", "")


def _hint(call: CallInProgress) -> str:
    return "" if has_controls(call) else _NEEDS_BETA


def _prefix(
    body: dict[str, Any], messages: list[dict[str, Any]], before: list[dict[str, Any]]
) -> str:
    """What a block is bound to: system, tools and all that stands before it, but for thinking and cache marks."""
    said = [[message["role"], _plain(blocks(message))] for message in messages]
    system = body.get("system")
    if isinstance(system, str):
        system = [{"type": "text", "text": system}]
    tools = [tool for tool in body.get("tools") or [] if not tool.get("defer_loading")]
    return digest(_plain(system or []), _plain(tools), said, _plain(before))


def _plain(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    plain: list[dict[str, Any]] = []
    for block in found:
        if block.get("type") not in _KINDS:
            unmarked = dict(block)
            unmarked.pop("cache_control", None)
            plain.append(unmarked)
    return plain


def _all(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        block
        for message in messages
        for block in blocks(message)
        if block.get("type") in _KINDS
    ]


def _open(block: dict[str, Any]) -> dict[str, Any] | None:
    return unseal(
        WIRE, block.get("signature" if block.get("type") == "thinking" else "data")
    )
