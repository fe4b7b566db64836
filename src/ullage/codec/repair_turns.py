"""The order of speakers: where a wire asks for a user's word, or for an answer, and the history has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ullage.codec.repair_notes import Notes
from ullage.codec.repair_targets import Target
from ullage.messages import Message, ProviderItem, Role, TextPart

GO_ON: Final = "Go on."
BEGIN: Final = "Begin."
NOTED: Final = "Noted."


def in_turns(messages: Sequence[Message], target: Target, notes: Notes, *, chained: bool) -> list[Message]:
    """The messages with a stand-in wherever the target would refuse the order. Empty messages are gone before.

    A chained request may begin anywhere: the provider holds what came before.
    """
    made: list[Message] = []
    if not messages and not chained:
        _add(made, "begin", "user", BEGIN, notes)
    made += continued(None, messages, target, notes, chained=chained)
    close(made, target, notes)
    return made


def continued(
    previous: Message | None, messages: Sequence[Message], target: Target, notes: Notes, *, chained: bool
) -> list[Message]:
    """The messages as they stand behind ``previous``, with stand-ins between them and none at their end."""
    made: list[Message] = []
    for message in messages:
        if previous is None:
            if message.role == "assistant" and target.user_first and not chained:
                _add(made, message.id, "user", BEGIN, notes)
        elif message.role == "assistant" and previous.role == "assistant":
            if target.alternates and not is_paused(previous):
                _add(made, previous.id, "user", GO_ON, notes)
        elif message.role in ("user", "system") and previous.role == "tool" and target.answer_after_tools:
            _add(made, previous.id, "assistant", NOTED, notes)
        made.append(message)
        previous = message
    return made


def close(made: list[Message], target: Target, notes: Notes) -> None:
    """Alter the end of the messages in place, where the target would not go on from it."""
    if made and made[-1].role == "assistant" and target.user_last and not is_paused(made[-1]):
        _add(made, made[-1].id, "user", GO_ON, notes)
    if made and made[-1].role == "assistant" and not target.space_at_end:
        made[-1] = _trimmed(made[-1], notes)


def may_end(last: Message, target: Target) -> bool:
    """Whether a request can end with this message as it is."""
    notes = Notes()
    close([last], target, notes)
    return not notes.repairs


def _trimmed(message: Message, notes: Notes) -> Message:
    """An answer to be continued, without white space at its end: ``final assistant content cannot end with trailing
    whitespace`` (https://platform.claude.com/docs/en/build-with-claude/prompt-engineering/prefill-claudes-response)."""
    last = message.parts[-1]
    if not isinstance(last, TextPart) or not last.text[-1:].isspace():
        return message
    notes.add("text", message.id, last.id, "white space at the end of the last answer left out")
    return replace(message, parts=(*message.parts[:-1], replace(last, text=last.text.rstrip())))


def is_paused(message: Message) -> bool:
    """Whether the provider stopped in the middle of a loop of its own and wants the answer back as it is."""
    return bool(message.parts) and isinstance(message.parts[-1], ProviderItem)


def _add(made: list[Message], beside: str, role: Role, text: str, notes: Notes) -> None:
    name = f"{beside}.{role}"
    notes.add("stand_in_message", name, "", f"the wire asks for a message of the {role} here")
    made.append(Message(id=name, role=role, origin="injected", parts=(TextPart(id=f"{name}.text", text=text),)))
