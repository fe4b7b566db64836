"""What makes Copilot CLI's requests smaller.

``--help`` of 1.0.102.
"""

from __future__ import annotations

from ullage_programs.advice import ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "server": "--disable-mcp-server {0}",
        "tools": "--excluded-tools leaves tools out",
        "instructions": "shorten AGENTS.md and .github/copilot-instructions.md",
    },
)
