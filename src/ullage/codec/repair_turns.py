"""The order of speakers: where a wire asks for a user's word, or for an answer, and the history has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ullage.codec.repair_notes import Notes
from ullage.codec.rules import Target
from ullage.messages import Message, ProviderItem, Role, TextPart

GO_ON: Final = "Go on."
BEGIN: Final = "Begin."
NOTED: Final = "Noted."


def continued(
    previous: Message | None, messages: Sequence[Message], target: Target, notes: Notes, *, chained: bool
) -> list[Message]:
    """The messages as they stand behind ``previous``, with stand-ins between them and none at their end."""
    made: list[Message] = []
    for message in messages:
        if previous is None:
            if message.role == "assistant" and target.user_first and not chained:
                add_stand_in(made, message.id, "user", BEGIN, notes)
        elif message.role == "assistant" and previous.role == "assistant":
            if target.alternates and not is_paused(previous):
                add_stand_in(made, previous.id, "user", GO_ON, notes)
        elif message.role in ("user", "system") and previous.role == "tool" and target.answer_after_tools:
            add_stand_in(made, previous.id, "assistant", NOTED, notes)
        made.append(message)
        previous = message
    return made


def close(made: list[Message], target: Target, notes: Notes) -> bool:
    """Alter the end of the messages in place, where the target would not go on from it; whether that was so."""
    if not made or made[-1].role != "assistant":
        return False
    if target.user_last:
        if is_paused(made[-1]):
            return False
        add_stand_in(made, made[-1].id, "user", GO_ON, notes)
        return True
    if target.space_at_end:
        return False
    last = made[-1]
    made[-1] = _trimmed(last, notes)
    return made[-1] is not last


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


def add_stand_in(made: list[Message], beside: str, role: Role, text: str, notes: Notes) -> None:
    """Put a message that the history does not have behind those that were made."""
    name = f"{beside}.{role}"
    notes.add("stand_in_message", name, "", f"the wire asks for a message of the {role} here")
    made.append(Message(id=name, role=role, origin="injected", parts=(TextPart(id=f"{name}.text", text=text),)))
