"""Logs that hold too little to be read: how each begins, what it is, and what to read instead."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class RefusedLog(NamedTuple):
    """A log by its first bytes. ``what`` follows the file's name, ``instead`` is a sentence."""

    begin: re.Pattern[bytes]
    what: str
    instead: str


_METERED: Final = "Start the program behind `ullage proxy`, which meters what is sent, or by `ullage wrap`."

REFUSED: Final = (
    # aider-chat 0.86.2, io.py and base_coder.py: "Tokens: 2.3k sent" is the sum of a message's calls
    RefusedLog(
        re.compile(rb"\s*# aider chat started at "),
        "Aider's chat history, which has no whole request and rounds its counts",
        _METERED,
    ),
    RefusedLog(
        re.compile(rb"TO LLM \d{4}-\d\d-\d\dT"),
        "Aider's LLM history, which has no counts and no tools",
        _METERED,
    ),
    # mistral-vibe 3.0.2: a turn's segment is deleted when a later turn has ended
    RefusedLog(
        re.compile(
            rb'(?s)\{(?=.{0,99999}"recovery_journal_record_version":\s?1)'
            rb'|\{\s*"session_id": "[^"]+",\s*"parent_session_id": .{0,400}"git_commit":'
        ),
        "Mistral Vibe's, which keeps the calls of the newest turn alone",
        _METERED,
    ),
    RefusedLog(
        re.compile(rb'\[\s*\{\s*"ts":\s*\d+,\s*"type":\s*"(?:say|ask)"'),
        "what Cline shows, not what it sends",
        "Read `api_conversation_history.json` beside it.",
    ),
)


def refused(head: bytes) -> RefusedLog | None:
    """The kind of log that begins so; ``None`` for one that may be read."""
    return next((each for each in REFUSED if each.begin.match(head)), None)
