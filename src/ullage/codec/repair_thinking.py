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

    ``When `thinking` is enabled, a final `assistant` message must start with a thinking block … To avoid this
    requirement, disable `thinking` `` (https://github.com/BerriAI/litellm/issues/9020). The answer that began the loop
    is another model's, or lost its thinking. It holds for this turn; the next one thinks again. Adaptive thinking asks
    for nothing (https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking). ``messages`` are those that
    are sent.
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
    """The answer that began the tool loop the request goes on with.

    Results and user messages that stand together are one message of the user, and go on with the loop.
    """
    first: Message | None = None
    for message in reversed(messages):
        if message.role == "assistant":
            if first is not None and not has_results:
                break
            first, has_results = message, False
        elif message.role == "tool":
            has_results = True
    return first if first is not None and messages[-1].role != "assistant" else None
