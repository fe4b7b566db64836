"""By what OpenCode's requests are recognised."""

from __future__ import annotations

import re

from ullage_programs.marks import SLASH_VERSION, WORKING_DIRECTORY, ClientMarks

MARKS = ClientMarks(
    name="opencode",
    seen="opencode-ai 1.18.33",
    agent=re.compile("^opencode" + SLASH_VERSION),
    session=("x-session-id",),
    parent="x-parent-session-id",
    asks_summary=("You are a context summarization agent.",),
    asks_title=("You are a title generator.",),
    cwd=WORKING_DIRECTORY,
)
