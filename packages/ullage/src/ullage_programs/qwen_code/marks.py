"""By what qwen-code's requests are recognised."""

from __future__ import annotations

import re

from ullage_programs.marks import SLASH_VERSION, ClientMarks

MARKS = ClientMarks(
    name="qwen-code",
    seen="@qwen-code/qwen-code 0.24.4, which takes Claude Code's name with its own version on Anthropic's wire",
    agent=re.compile("^(?:QwenCode|claude-cli)" + SLASH_VERSION),
    asks_summary=("You are the component that summarizes a conversation",),
    asks_other=(
        "You are now acting as the managed memory extraction subagent",
        "[SUGGESTION MODE",
    ),
    cwd=re.compile(r"currently working in the directory: ([^\n]+)"),
)
