"""Thinking blocks that come back: whether they are what was sent, and whether what stands before them still is."""

from __future__ import annotations

import re
from functools import partial

from ullage_simulators.anthropic.betas import has_beta
from ullage_simulators.anthropic.binding import THINKING, WIRE, BoundPrefix
from ullage_simulators.anthropic.checks import blocks, is_turn
from ullage_simulators.anthropic.compaction import newest
from ullage_simulators.anthropic.rules import refuse
from ullage_simulators.body import Body
from ullage_simulators.refusal import CallRefused
from ullage_simulators.seal import digest, seal, unseal
from ullage_simulators.wire import CallInProgress, last_index

BETA = "thinking-binding-controls-2026-08-01"
_OTHER_MODEL = "model_binding_mismatch"
_OTHER_PREFIX = "prefix_binding_mismatch"
_NEEDS_BETA = f"That setting requires the `{BETA}` value in the `anthropic-beta` header."


def is_enabled(call: CallInProgress) -> bool:
    """Whether the request lets the model think; newer models do unless they are told not to."""
    given = (call.body.get("thinking") or {}).get("type")
    if given is None:
        return "thinks" in call.model.traits
    return given in ("enabled", "adaptive", "between_tools")


def sign(
    call: CallInProgress,
    text: str,
    size: int,
) -> str:
    """The signature of a block with this text that stands for ``size`` tokens."""
    prefix = BoundPrefix(call.body)
    prefix.read(call.body["messages"])
    prefix.enter({"role": "assistant"})
    carried = {
        **prefix.bound(),
        "id": call.memory.new_id("", 12),
        "n": size,
        "text": digest(text),
        "model": call.model.name,
        "bound": "bound" in call.model.traits,
        "previous": call.last_thinking,
    }
    return seal(WIRE, carried)


def summary(call: CallInProgress) -> Body:
    """What a compaction of the request stands for."""
    prefix = BoundPrefix(call.body)
    prefix.read(call.body["messages"])
    return prefix.summary(binds="bound" in call.model.traits)


def size_of(block: Body) -> int:
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


def _is_answer(message: Body) -> bool:
    return bool(message["role"] == "assistant")


def _check_settings(call: CallInProgress) -> None:
    given = call.body.get("thinking") or {}
    if "block_binding" in given and not has_controls(call):
        raise refuse("binding_without_beta", type=given.get("type"))
    _check_type(given.get("type"), call.model.traits)
    if given.get("type") != "enabled":
        return
    budget = given.get("budget_tokens", 0)
    if budget < 1_024:
        raise refuse("thinking_budget_small")
    if budget >= call.body.get("max_tokens", budget + 1):
        raise refuse("thinking_budget_large")


def _check_type(given: object, traits: frozenset[str]) -> None:
    """Newer models think adaptively alone, and the newest always, or at least between tools.

    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-adaptive-thinking.html and
    https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5.
    """
    if given == "enabled" and "budgeted" not in traits:
        raise refuse("thinking_type", type=given, instead="adaptive")
    if given == "disabled" and "always-thinks" in traits:
        raise refuse("thinking_type", type=given, instead="adaptive")
    if given == "disabled" and "between-tools" in traits:
        raise refuse("thinking_type", type=given, instead="between_tools")


def _check_blocks(
    index: int,
    found: list[Body],
    *,
    is_latest: bool,
) -> None:
    for at, block in enumerate(found):
        match block.get("type"):
            case "thinking":
                if not isinstance(block.get("signature"), str):
                    raise refuse("signature_missing", i=index, j=at)
                carried = _open(block)
                if carried is None:
                    raise refuse("signature_invalid", i=index, j=at)
                # Text in a block that came without any is ignored:
                # https://platform.claude.com/docs/en/build-with-claude/thinking#preserving-thinking-blocks
                if carried["text"] not in (digest(""), digest(block.get("thinking"))):
                    rule = "thinking_edited" if is_latest else "signature_invalid"
                    raise refuse(rule, i=index, j=at)
            case "redacted_thinking":
                if _open(block) is None:
                    raise refuse("redacted_invalid", i=index, j=at)


def _check_order(
    index: int,
    found: list[Body],
    call: CallInProgress,
) -> None:
    kinds = [block.get("type") for block in found]
    if not set(kinds) & set(THINKING):
        return
    if kinds[-1] in THINKING:
        raise refuse("thinking_last", i=index)
    if "manual-thinking" in call.model.traits and kinds[0] not in THINKING:
        raise refuse("thinking_not_first", i=index, found=kinds[0])


def _check_loop(messages: list[Body]) -> None:
    """The answer that began the current tool loop must bring its thinking back."""
    answer = 1 + last_index(messages, partial(is_turn, beside=False))
    if answer >= len(messages) - 1:
        return
    for block in blocks(messages[answer])[:1]:
        kind = block.get("type")
        if kind not in THINKING:
            raise refuse("thinking_left_out", i=answer, found=kind)


def _check_binding(call: CallInProgress) -> None:
    """Takes out the blocks that the model may not read, and notes the last of the others.

    A block knows which one was in front of it, so that none may be missing in between. One that another model has
    written stays in that order.
    """
    prefix = BoundPrefix(call.body)
    is_broken = False
    read: list[Body] = []
    first = newest(call.body["messages"])
    for index, message in enumerate(call.body["messages"]):
        prefix.enter(message)
        kept = []
        content = blocks(message)
        for at, block in enumerate(content):
            carried = None
            if block.get("type") in THINKING and index >= first:
                carried = _open(block)
            if carried is None:
                prefix.add(message["role"], block)
                kept.append(block)
                is_broken = False
                continue
            is_readable = _reads(call, carried)
            change = None
            if is_readable and carried["bound"] and "bound" in call.model.traits:
                change = "" if is_broken else _change(call, prefix, carried)
            is_dropped = not is_readable
            if change is not None:
                refusal = _refusal(call, (index, at), block, change)
                is_dropped = _drops_block(call, refusal)
            if not is_readable or change is not None:
                kind = "thinking_dropped" if is_dropped else "thinking_mismatch_allowed"
                entry = {
                    "type": kind,
                    "path": f"messages.{index}.content.{at}",
                    "reason": _OTHER_PREFIX if is_readable else _OTHER_MODEL,
                }
                call.dropped.append(entry)
            is_broken = is_dropped and is_readable
            if not is_broken:
                call.last_thinking = carried["id"]
            if not is_dropped:
                kept.append(block)
        if len(kept) == len(content):
            read.append(message)
        else:
            read.append({**message, "content": kept})
    call.body = {**call.body, "messages": read}


def _reads(call: CallInProgress, carried: Body) -> bool:
    made_by = carried["model"]
    return bool(made_by == call.model.name or re.fullmatch(call.model.reads, made_by))


def _change(
    call: CallInProgress,
    prefix: BoundPrefix,
    carried: Body,
) -> str | None:
    """What changed in front of a block; ``None`` where nothing has."""
    change = prefix.change(carried)
    is_gap = call.last_thinking not in ("", carried["previous"])
    return "" if change is None and is_gap else change


def _refusal(
    call: CallInProgress, at: tuple[int, int], block: Body, change: str
) -> CallRefused:
    more = ""
    if not has_controls(call):
        more = f" {_NEEDS_BETA}"
    if change:
        more += f" {change}"
    kind = block["type"]
    index, place = at
    return refuse(
        "prefix_changed",
        i=index,
        j=place,
        kind=kind,
        more=more,
    )


def _drops_block(call: CallInProgress, refusal: CallRefused) -> bool:
    """Whether a block behind a changed prefix is dropped, where the request may hold it at all.

    A lenient run answers as to an account from before August 31, 2026: unless the model binds for every account, a
    request that doesn't say what happens to the block is billed with it.
    """
    binding = (call.body.get("thinking") or {}).get("block_binding") or {}
    behavior = binding.get("prefix_mismatch_behavior")
    if behavior == "drop_block":
        return True
    is_old = call.memory.scenario.lenient and "bound-always" not in call.model.traits
    if behavior == "error" or not is_old:
        raise refusal
    call.warn(refusal)
    return False


def has_controls(call: CallInProgress) -> bool:
    """Whether the request may set what happens to unreadable thinking, and is told of it."""
    return has_beta(call, BETA)


def _open(block: Body) -> Body | None:
    sealed = block.get("signature" if block.get("type") == "thinking" else "data")
    return unseal(WIRE, sealed)
