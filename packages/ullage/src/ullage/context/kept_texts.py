"""What code keeps of the messages that leave, beside any summary: each kind in a part of its own.

``said``: the user's messages. ``quoted``: rules that tools have shown. ``trail``: the files. ``values``: names and
numbers. ``kept``: lines of the earlier summary that the new one lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ullage.context.file_trail import trail_text
from ullage.context.kept_values import values_text
from ullage.context.policy import (
    QUOTED_MOST,
    QUOTED_SHARE,
    SAID_MOST,
    SAID_SHARE,
    SAME_WORDS,
    TRAIL_MOST,
    TRAIL_SHARE,
    VALUES_MOST,
    VALUES_SHARE,
)
from ullage.context.quoted_rules import quotes_text
from ullage.context.situation import Situation
from ullage.context.user_words import user_words
from ullage.messages import Message, TextPart

_WORD: Final = re.compile(r"\w{2,}")
_NEXT: Final = re.compile(r"#+ *next\b", re.IGNORECASE)
"""The heading of what was to be done next (``prompt.SECTIONS``), which has been done since."""

_SETTING: Final = re.compile(
    r"(?<![\w.-])([\w.-]{1,100}) ?(?:=|: ?(?=\S{1,100}$))", re.MULTILINE
)
"""The name of what has a value."""


def copies(
    situation: Situation,
    leaving: Sequence[Message],
    message: str,
    *,
    window: int | None,
    text: str = "",
    held: str = "",
) -> tuple[TextPart, ...]:
    """The parts of ``message`` that code copies from what leaves.

    Args:
        situation: The session that is compacted.
        leaving: The messages that leave.
        message: The id of the message that gets them.
        window: In tokens, if it is known.
        text: The summary that stands beside them.
        held: What a provider holds word for word.
    """

    def most(share: float, tokens: int) -> float:
        return tokens if window is None else min(tokens, share * window)

    said = user_words(situation, leaving, most=most(SAID_SHARE, SAID_MOST), held=held)
    quoted = quotes_text(situation, leaving, most=most(QUOTED_SHARE, QUOTED_MOST))
    trail = trail_text(situation, leaving, most=most(TRAIL_SHARE, TRAIL_MOST))
    beside = "\n".join([said, quoted, trail, text, held])
    room = most(VALUES_SHARE, VALUES_MOST)
    values = values_text(situation, leaving, most=room, held=beside)
    parts: list[TextPart] = []
    for name, block in (
        ("said", said),
        ("quoted", quoted),
        ("trail", trail),
        ("values", values),
    ):
        if block:
            parts.append(TextPart(id=f"{message}.{name}", text=f"{block}\n"))
    return tuple(parts)


def copies_room(window: int | None) -> float:
    """The most tokens that ``copies`` may take."""
    most = SAID_MOST + QUOTED_MOST + TRAIL_MOST + VALUES_MOST
    share = SAID_SHARE + QUOTED_SHARE + TRAIL_SHARE + VALUES_SHARE
    return most if window is None else min(most, share * window)


def lost_lines(situation: Situation, old: str, new: str, *, most: float) -> str:
    """The lines of an earlier summary that a new one lost, by their words, in at most about ``most`` tokens.

    Not what was to be done next, and not the old value of what has another one now.

    Args:
        situation: The session that is compacted.
        old: The earlier summary.
        new: The new one.
        most: In tokens.
    """
    known = _words(new)
    named = set(_SETTING.findall(new))
    lost: list[str] = []
    is_done = False
    for line in old.split("\n"):
        if line.startswith("#"):
            is_done = _NEXT.match(line) is not None
        elif not is_done and named.isdisjoint(_SETTING.findall(line)):
            words = _words(line)
            if len(words & known) < SAME_WORDS * len(words):
                lost.append(line)
                known |= words
    left = most
    kept: list[str] = []
    for line in reversed(lost):
        tokens = situation.count(line) + 1
        if tokens <= left:
            left -= tokens
            kept.insert(0, line)
    return "\n".join(kept)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
