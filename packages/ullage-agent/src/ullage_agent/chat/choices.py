"""Lists to choose from: sessions and messages. The screen that shows them is in ``lister``."""

from __future__ import annotations

import time
from typing import NamedTuple

from ullage.display.text import Line, Span, cells, padded, printable, shortened
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.store import SessionStore
from ullage_agent.runtime.session import Session


class Choice(NamedTuple):
    """One line of a list. ``target`` is what choosing it means; a line without one is passed over."""

    line: Line
    target: str = ""


SESSIONS = 200
"""Newest sessions that are listed."""


async def session_choices(store: SessionStore) -> list[Choice]:
    """The sessions, the one changed last first."""
    now = time.time()
    choices: list[Choice] = []
    for row in await store.sessions(limit=SESSIONS):
        line: Line = (
            Span(padded(printable(row.id), 20)),
            Span(padded(ago(now - row.changed), 10), "dim"),
            Span(padded(row.standing_now(now).words, 15), "row2"),
            Span(shortened(printable(row.title) or "(nothing said yet)", 60)),
            Span(f"  {printable(row.model)}", "dim"),
            Span(f"  at {printable(row.place)}" if row.place else "", "dim"),
        )
        choices.append(Choice(line, row.id))
    return choices


def ago(seconds: float) -> str:
    """``5 min ago``."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"


async def message_choices(session: Session, command: str, width: int) -> list[Choice]:
    """Messages to choose from, the newest first: what people said to rewind to, all in view to pin, all to explain."""
    work = await session._look()
    messages = list(await session.messages())
    pins = work.memory.pins if command == "pin" else frozenset[str]()
    if command == "explain":
        seen = {
            event.message.id: event.message
            for event in await session.history()
            if isinstance(event, MessageAdded)
        }
        messages = list(seen.values())
    if command == "rewind":
        messages = [
            message
            for message in messages
            if message.role == "user" and message.origin == "said"
        ]
    return [_choice(message, message.id in pins, width) for message in reversed(messages)]


def _choice(message: Message, is_pinned: bool, width: int) -> Choice:
    head = f"{'*' if is_pinned else ' '} {padded(message.role, 10)}"
    text = " ".join(part.text[:500] for part in message.of_type(TextPart))
    if not text:
        text = " ".join(
            getattr(part, "name", "") or type(part).__name__ for part in message.parts
        )
    return Choice(
        (
            Span(head, "dim"),
            Span(shortened(printable(text), max(10, width - cells(head)))),
        ),
        message.id,
    )
