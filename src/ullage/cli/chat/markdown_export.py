"""A session's conversation as one Markdown text, to be read by people. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ullage.cli.chat.entries import AnswerEntry, Called, ChatEntry, MessageEntry, Notice, Thought
from ullage.cli.chat.rendering import visible
from ullage.display.text import plain


def as_markdown(title: str, entries: Iterable[ChatEntry]) -> str:
    """Headings for who speaks, fences around what tools take and give, notices in italics."""
    return "\n\n".join([f"# {visible(title)}", *(_section(entry) for entry in entries)]) + "\n"


def _section(entry: ChatEntry) -> str:
    match entry:
        case MessageEntry():
            return f"## {'Summary' if entry.origin == 'summary' else 'You'}\n\n{entry.text}"
        case AnswerEntry():
            return f"## Model\n\n{entry.text}" + (
                f"\n\n*interrupted: {entry.interrupted}*" if entry.interrupted else ""
            )
        case Thought():
            return "### Reasoning\n\n" + _fenced(entry.text or f"({entry.hidden} characters not shown by the provider)")
        case Called():
            said = f"### Call of {entry.name}\n\n{_fenced(entry.arguments)}"
            return said if entry.result is None else f"{said}\n\n{_fenced(entry.result)}"
        case Notice():
            return f"*{plain(entry.line)}*"


def _fenced(text: str) -> str:
    """The text in a fence that is longer than any inside it."""
    longest = max(
        (len(run) for line in text.split("\n") for run in [line.lstrip()] if run.startswith("```")), default=0
    )
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
