"""What a transcript is made of. Values: an entry that goes on is replaced by a longer one."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.display.text import Line
from ullage.events import ToolOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEntry:
    """What a person said, or a summary that stands for what was said (``origin``)."""

    text: str
    message: str
    origin: str = "said"
    attached: int = 0
    """Images and files beside the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEntry:
    """Text of the model, in Markdown. ``is_open``: it is still being written."""

    text: str
    part: str
    is_open: bool = False
    interrupted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """Reasoning as the provider shows it. ``hidden`` is what of it only the provider can read, in characters."""

    text: str
    part: str
    is_open: bool = False
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A tool call and, once there is one, its result. ``outcome`` is ``None`` while it waits or runs."""

    name: str
    arguments: str
    call_id: str
    is_open: bool = False
    """The model is still writing it."""
    is_running: bool = False
    is_granted: bool = False
    """It ran without a question, because a grant allows it."""
    asks: bool = False
    """It waits for a person's word."""
    outcome: ToolOutcome | None = None
    result: str | None = None
    is_error: bool = False
    size_bytes: int | None = None
    """Of the whole result, where the model got only a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One line about what happened."""

    line: Line


ChatEntry = MessageEntry | AnswerEntry | Thought | Called | Notice
