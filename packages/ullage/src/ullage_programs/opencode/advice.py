"""What makes OpenCode's requests smaller.

https://opencode.ai/docs/mcp-servers, https://opencode.ai/docs/config.
"""

from __future__ import annotations

from ullage_programs.advice import ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "server": '`"mcp": {"{0}": {"enabled": false}}` in opencode.json',
        "tools": '`"tools": {"NAME": false}` in opencode.json',
        "instructions": "shorten AGENTS.md and the files of `instructions` in opencode.json",
    },
)
