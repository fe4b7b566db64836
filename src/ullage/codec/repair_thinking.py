"""Thinking that can't go on in the middle of a tool loop: then the loop is finished without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.codec.repair_notes import Notes
from ullage.codec.repair_targets import Target
from ullage.messages import Message, ReasoningPart


def possible_thinking(
    params: Mapping[str, object], messages: Sequence[Message], target: Target, notes: Notes
) -> dict[str, object]:
    """The parameters, thinking switched off where this wire refuses it: for a loop that began without thinking.

    With thinking ``enabled`` the answer that began the loop has to start with its thinking block, or thinking has to be
    disabled, as the refusal itself says
    (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks). Where that answer
    is another model's, or its thinking was lost, the rest of the turn goes without; the next turn thinks again.
    Adaptive thinking asks for nothing. ``messages`` are those that are sent.
    """
    given = params.get("thinking")
    if target.wire != "messages" or not isinstance(given, Mapping) or given.get("type") != "enabled":
        return dict(params)
    begun = _loop_begun_by(messages)
    if begun is None or isinstance(begun.parts[0], ReasoningPart):
        return dict(params)
    notes.add("thinking_off", begun.id, "", "thinking switched off: this tool loop began without it")
    return {**params, "thinking": {"type": "disabled"}}


def _loop_begun_by(messages: Sequence[Message]) -> Message | None:
    """The answer that began the tool loop which the request goes on with; ``None`` where it begins a turn.

    Results and user messages that stand together are one message of the user, and go on with the loop.
    """
    begun: Message | None = None
    goes_on = False  # whether the messages behind this place, up to the next answer, hold a result
    for message in reversed(messages):
        if message.role != "assistant":
            goes_on = goes_on or message.role == "tool"
            continue
        if not goes_on:
            break
        begun, goes_on = message, False
    return begun
