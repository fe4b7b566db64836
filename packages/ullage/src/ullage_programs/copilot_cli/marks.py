"""By what Copilot CLI's requests are recognised."""

from __future__ import annotations

import re

from ullage_programs.marks import WORKING_DIRECTORY, ClientMarks

MARKS = ClientMarks(
    name="copilot-cli",
    seen="@github/copilot 1.0.102 with a provider of the user's own",
    prompt="You are the GitHub Copilot CLI",
    version=re.compile(r"<version_information>Version number: ([\d.]+)"),
    purposes={"x-interaction-type": {"conversation-subagent": "child"}},
    asks_summary=("Please create a detailed summary of the conversation so far.",),
    cwd=WORKING_DIRECTORY,
    alone=("x-initiator", "x-interaction-type"),
)
