"""Asks a person on a terminal, line by line, whether a call may run: for ``ullage run`` and the plain conversation."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from ullage.cli.pages import forget_typed_ahead, show_pages, typed, wrapped_spans
from ullage.cli.screen import Screen
from ullage.display.text import Line, Span
from ullage.turns.grants import granted_words
from ullage_agent.runtime.approvals import GrantScope, Question
from ullage_agent.runtime.session import Session
from ullage_agent.tools.call_text import CallLine

STYLES: Final = {
    "name": "strong",
    "label": "title",
    "text": "",
    "escape": "bad",
    "gutter": "dim",
    "note": "warn",
}
"""What each kind of piece looks like. An escape has a look of its own: text can't pass for it."""

_FURTHER: Final = "  "
_FURTHER_IN_A_BLOCK: Final = "    "
"""What stands before the rest of a line that was wrapped: a label begins further left, a gutter is missing."""


def drawn_call(
    lines: Iterable[CallLine], width: int, encoding: str = "utf-8"
) -> list[Line]:
    """The lines of a call, none of them cut; ``encoding`` is what the terminal can show, the rest is spelled."""
    drawn: list[Line] = []
    for line in lines:
        spans = [
            Span(_encodable(piece.text, encoding), STYLES[piece.kind]) for piece in line
        ]
        is_block = bool(line) and line[0].kind == "gutter"
        drawn += wrapped_spans(
            spans, width, _FURTHER_IN_A_BLOCK if is_block else _FURTHER
        )
    return drawn


def _encodable(text: str, encoding: str) -> str:
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Reply(NamedTuple):
    """What a person answered. ``reason`` is that of a no; ``always`` is how far a yes reaches beyond this call."""

    approved: bool
    reason: str = ""
    always: GrantScope | None = None
    by_nobody: bool = False


Approver = Callable[[Question], Awaitable[Reply]]
"""Asks a person about a call. Is cancelled when the turn is."""


async def give(session: Session, question: Question, reply: Reply) -> None:
    """Pass an answer on to the session, for exactly the call that was shown."""
    if reply.always is not None and question.offer is not None:
        await session.grant(question.name, question.offer, scope=reply.always)
    await session.approve(
        question.call_id,
        reply.approved,
        reply.reason,
        digest=question.digest,
        by_nobody=reply.by_nobody,
    )


def granted_line(question: Question, reply: Reply) -> str:
    """What an answer allows in this project from now on; empty for an answer that allows nothing there.

    A grant for the session is an event, which is shown as such.
    """
    if reply.always != "project" or question.offer is None:
        return ""
    return f"allowed in this project: {granted_words(question.name, question.offer)}"


async def ask_person(question: Question) -> Reply:
    """Show the whole call and ask; a long one page by page. Without a terminal the answer is that nobody was asked.

    What was typed before the question is no answer to it. Cancelling it leaves what was typed unread.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        said = f"Not allowed, since no person can be asked: {question.name}. --yes allows every call."
        print(said, file=sys.stderr)
        return Reply(False, by_nobody=True)
    screen = Screen(sys.stderr)
    forget_typed_ahead()
    print(file=sys.stderr)
    if not await show_pages(
        screen, drawn_call(question.lines, screen.width - 1, screen.encoding)
    ):
        return Reply(False)
    always = ""
    if question.offered:
        always = f', a: always "{question.offered}" in this session, p: in this project'
    while True:
        asked = f"Allow {question.name}? y: yes, n: no (n and a reason tells the model why){always} [n] "
        reply = reply_of(
            await typed(screen, asked), can_always=question.offer is not None
        )
        if reply is not None:
            return reply


def reply_of(typed: str, *, can_always: bool) -> Reply | None:
    """What a line means; ``None`` for one that is no answer. An empty one is a no."""
    word, _, rest = typed.strip().partition(" ")
    match word.lower().rstrip(",:"):
        case "y" | "yes":
            return None if rest else Reply(True)
        case "" | "n" | "no":
            return Reply(False, rest.strip())
        case "a" | "always" if can_always and not rest:
            return Reply(True, always="session")
        case "p" | "project" if can_always and not rest:
            return Reply(True, always="project")
        case _:
            return None
