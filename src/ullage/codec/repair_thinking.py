"""Thinking that can't go on in the middle of a tool loop: then the loop is finished without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.codec.repair_notes import Notes
from ullage.codec.rules import Target
from ullage.messages import Message, ReasoningPart


def thinking_in(params: Mapping[str, object], begun: Message | None, target: Target, notes: Notes) -> dict[str, object]:
    """The parameters, thinking switched off where this wire refuses it: for a loop that began without thinking.

    ``begun`` is the answer that began the tool loop which the request goes on with; ``None`` where it begins a turn.
    With thinking ``enabled`` that answer has to start with its thinking block, or thinking has to be disabled, as the
    refusal itself says (https://docs.claude.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks).
    Where the answer is another model's, or its thinking was lost, the rest of the turn goes without; the next turn
    thinks again. Adaptive thinking asks for nothing.
    """
    if begun is None or not _is_asked_for(params, target) or isinstance(begun.parts[0], ReasoningPart):
        return dict(params)
    notes.add("thinking_off", begun.id, "", "thinking switched off: this tool loop began without it")
    return {**params, "thinking": {"type": "disabled"}}


def _is_asked_for(params: Mapping[str, object], target: Target) -> bool:
    given = params.get("thinking")
    return target.thinking_from_begin and isinstance(given, Mapping) and given.get("type") == "enabled"


class ToolLoop:
    """Which answer began the tool loop that a history ends in. The history may come in pieces.

    Results and user messages that stand together are one message of the user, and go on with the loop.
    """

    def __init__(self) -> None:
        self._first: Message | None = None
        self._goes_on = False  # whether a result came since the last answer

    def add(self, messages: Sequence[Message]) -> None:
        """The next messages, as they are sent."""
        for message in messages:
            if message.role != "assistant":
                self._goes_on = self._goes_on or message.role == "tool"
                continue
            if self._first is None or not self._goes_on:
                self._first = message
            self._goes_on = False

    @property
    def begun_by(self) -> Message | None:
        """The answer; ``None`` where the history ends in no loop, so that a request begins a turn."""
        return self._first if self._goes_on else None
