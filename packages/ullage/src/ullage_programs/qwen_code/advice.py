"""What makes qwen-code's requests smaller.

https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/ and ``--help`` of 0.24.4.
"""

from __future__ import annotations

from ullage_programs.advice import ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "server": '`"mcp": {"excluded": ["{0}"]}` in settings.json',
        "tools": "--exclude-tools, or permissions.deny in settings.json",
        "outputs": "tools.truncateToolOutputThreshold in settings.json cuts outputs, in characters",
        "instructions": "shorten QWEN.md",
    },
)
