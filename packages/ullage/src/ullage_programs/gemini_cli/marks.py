"""By what Gemini CLI's requests are recognised."""

from __future__ import annotations

import re

from ullage_programs.marks import SLASH_VERSION, ClientMarks

MARKS = ClientMarks(
    name="gemini-cli",
    seen="@google/gemini-cli 0.61.0; its summary prompt: https://github.com/google-gemini/gemini-cli, "
    "packages/core/src/prompts/snippets.ts",
    agent=re.compile(r"^GeminiCLI[\w-]*" + SLASH_VERSION),
    asks_summary=(
        "You are a specialized system component responsible for distilling",
        "You are the component that summarizes internal chat history",
    ),
    cwd=re.compile(r"Directory Structure:\*\*\s+Showing up to [^\n]+\n\s*([^\n]+?)/?\n"),
)
