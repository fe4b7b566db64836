"""Context editing: what the server takes out of a request before the model reads it, and reports in the answer.

Source: https://platform.claude.com/docs/en/build-with-claude/context-editing, and anthropic 2.12
(``types/beta/beta_context_management_config_param.py``, ``beta_context_management_response.py``).
"""

from __future__ import annotations

from typing import Any, Final

from ullage_simulators.anthropic.betas import has_beta
from ullage_simulators.anthropic.billing import pieces
from ullage_simulators.anthropic.checks import blocks, is_turn
from ullage_simulators.anthropic.rules import refuse
from ullage_simulators.body import Body
from ullage_simulators.prompt import PromptPieces, count
from ullage_simulators.wire import CallInProgress

FIELD: Final = "context_management"
BETA: Final = "context-management-2025-06-27"
TOOL_USES: Final = "clear_tool_uses_20250919"
THINKING: Final = "clear_thinking_20251015"

TRIGGER: Final = 100_000
KEPT_TOOL_USES: Final = 3
"""What holds where an edit does not say otherwise; the page above."""

PLACEHOLDER: Final = "[Old tool result content cleared]"
"""Stands for the server's own text, whose words are not known."""

_COUNTED: Final = {TOOL_USES: "cleared_tool_uses", THINKING: "cleared_thinking_turns"}
_THINKING_BLOCKS: Final = ("thinking", "redacted_thinking")


def check_clearing(call: CallInProgress) -> None:
    """The parameter needs its beta header."""
    if call.body.get(FIELD) is None:
        return
    if not has_beta(call, BETA):
        raise refuse("field_unknown", path=FIELD)


def cleared_pieces(call: CallInProgress) -> PromptPieces:
    """The request in pieces as the model reads it. Notes in ``call`` what was cleared of it."""
    asked = call.body.get(FIELD)
    if asked is None:
        return pieces(call.body, call.model)
    keeps = _keeps_thinking(asked.get("edits") or [])
    prompt = _pieces(call.body, call, keeps)
    ask = prompt.ask
    size = _size(call, prompt)
    call.uncleared = size
    call.applied = []
    body = call.body
    for edit in asked.get("edits") or []:
        messages = body["messages"]
        if edit["type"] == TOOL_USES:
            edited, number = _without_results(edit, messages, size)
        elif edit["type"] == THINKING:
            edited, number = _without_thinking(edit, messages, call.model.beside)
        else:
            continue
        if not number:
            continue
        smaller = {**body, "messages": edited}
        rest = _pieces(smaller, call, keeps)
        cleared = size - _size(call, rest)
        if cleared <= 0 or cleared < _value(edit.get("clear_at_least"), 0):
            continue
        body = smaller
        prompt = rest
        size -= cleared
        report = {
            "type": edit["type"],
            _COUNTED[edit["type"]]: number,
            "cleared_input_tokens": cleared,
        }
        call.applied.append(report)
    prompt.ask = ask
    return prompt


def _pieces(body: Body, call: CallInProgress, keeps: bool) -> PromptPieces:
    prompt = pieces(body, call.model)
    prompt.keeps_reasoning = keeps
    return prompt


def _keeps_thinking(edits: list[Body]) -> bool:
    """Whether an edit says how much thinking stays, in place of what the model would keep."""
    return any(edit["type"] == THINKING and edit.get("keep") for edit in edits)


def report_of(call: CallInProgress) -> Body:
    """The field of the answer; nothing where no edits were asked for."""
    if call.applied is None:
        return {}
    return {FIELD: {"applied_edits": call.applied}}


def _size(call: CallInProgress, prompt: PromptPieces) -> int:
    return count(prompt, call.model, call.drawn, stream=call.stream).input


def _value(setting: Any, default: int) -> int:
    return int(setting["value"]) if isinstance(setting, dict) else default


def _without_results(
    edit: Body, messages: list[Body], size: int
) -> tuple[list[Body], int]:
    """The messages without the contents of all results but the newest, and how many these were."""
    uses: list[str] = []
    excluded = edit.get("exclude_tools") or []
    for message in messages:
        for block in blocks(message):
            if block.get("type") == "tool_use" and block.get("name") not in excluded:
                uses.append(str(block.get("id")))
    trigger = edit.get("trigger") or {}
    held = len(uses) if trigger.get("type") == "tool_uses" else size
    if held < _value(edit.get("trigger"), TRIGGER):
        return messages, 0
    kept = _value(edit.get("keep"), KEPT_TOOL_USES)
    old = set(uses[: max(0, len(uses) - kept)])
    inputs = edit.get("clear_tool_inputs") or []
    edited: list[Body] = []
    for message in messages:
        content = [_without_content(block, old, inputs) for block in blocks(message)]
        edited.append({**message, "content": content})
    return edited, len(old)


def _without_content(block: Body, old: set[str], inputs: Any) -> Body:
    """A block as it is left once the tool uses with these ids are cleared."""
    if block.get("type") == "tool_result" and block.get("tool_use_id") in old:
        return {**block, "content": PLACEHOLDER}
    if block.get("type") == "tool_use" and block.get("id") in old:
        clears_input = inputs is True or block.get("name") in inputs
        return {**block, "input": {}} if clears_input else block
    return block


def _without_thinking(
    edit: Body, messages: list[Body], beside: bool
) -> tuple[list[Body], int]:
    """The messages without the thinking of all turns but the newest that have any, and how many turns these were."""
    turn_of: list[int] = []
    turns: list[int] = []
    turn = 0
    for message in messages:
        turn += is_turn(message, beside=beside)
        turn_of.append(turn)
        kinds = {block.get("type") for block in blocks(message)}
        if kinds.intersection(_THINKING_BLOCKS) and turn not in turns:
            turns.append(turn)
    keep = edit.get("keep")
    if not isinstance(keep, dict) or keep.get("type") == "all":
        return messages, 0  # without a number, what the model does unasked
    old = turns[: max(0, len(turns) - int(keep["value"]))]
    edited: list[Body] = []
    for message, at in zip(messages, turn_of, strict=True):
        content: list[Body] = []
        for block in blocks(message):
            if at not in old or block.get("type") not in _THINKING_BLOCKS:
                content.append(block)
        edited.append({**message, "content": content})
    return edited, len(old)
