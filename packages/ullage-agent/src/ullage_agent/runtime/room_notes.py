"""Tells the model, once before each compaction, how much room is left, so that it writes down what it needs.

The note is one short message at the end of the conversation, behind a user's message or results: what was sent before
stays as it was, and so does the provider's cache. Its answer stands in the newest messages, which a compaction leaves
unchanged, and the note leaves the view with them at the next one.
"""

from __future__ import annotations

from typing import Final

from ullage.context.policy import KEEP
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart
from ullage_agent.runtime.policy import MOST_ROOM_NOTES
from ullage_agent.runtime.session_runtime import SessionRuntime
from ullage_agent.runtime.system_notes import may_follow

ROOM: Final = (
    "[About {} tokens are left before a summary replaces the earlier messages, and details may be lost. Begin your "
    "next answer with what must not be: names, values, paths, rules, decisions, open steps, one short line each, also "
    "those of earlier lists. Then go on.]"
)
"""The note: some 60 tokens."""


def room_note(runtime: SessionRuntime) -> MessageAdded | None:
    """The note, where the compaction threshold is near and the model was not told before; else ``None``."""
    reading, left = runtime.reading, runtime.reading.until_compaction
    if not runtime.settings.room_note or left is None or left <= 0:
        return None
    if reading.compactions >= MOST_ROOM_NOTES or not may_follow(runtime.fold):
        return None
    step, point = 0, reading.compaction_point or 0
    if reading.basis.last_input is not None:
        step = reading.basis.last_output + reading.basis.new
    name = f"room-{reading.compactions}-"
    if left > max(KEEP * point, step) or any(
        one.startswith(name) for one in runtime.fold.view.entries
    ):
        return None
    note = f"{name}{runtime.ledger.loop.seq + 1}"
    part = TextPart(id=f"{note}.text", text=ROOM.format(f"{left:,}"), name="room")
    message = Message(id=note, role="user", origin="injected", parts=(part,))
    return MessageAdded(message=message)
