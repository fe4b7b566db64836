"""What makes Claude Code's requests smaller, and what it keeps when it compacts.

https://code.claude.com/docs/en/context-window, https://code.claude.com/docs/en/memory (``CLAUDE.md`` of at most 200
lines), ``--help`` and the descriptions of settings in 2.1.330.
"""

from __future__ import annotations

from ullage_programs.advice import CompactionRule, ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "server": "`claude mcp remove {0}`, or ENABLE_TOOL_SEARCH=true to load tools on demand",
        "tools": "`--tools` names the built-in tools that are wanted, or ENABLE_TOOL_SEARCH=true",
        "outputs": "a lower `bashOutputMaxChars` in settings.json; the rest goes to a file",
        # https://code.claude.com/docs/en/mcp; 25,000 without it in 2.1.332
        "results": "`MAX_MCP_OUTPUT_TOKENS=4000` in `env` of settings.json; longer ones go to a file",
        "instructions": "below 200 lines; rules for some files go to .claude/rules, the rest to skills",
        "cache": "`/compact` before a pause; ENABLE_PROMPT_CACHING_1H=1 keeps the cache longer",
    },
    # https://code.claude.com/docs/en/context-window, "What survives compaction"
    CompactionRule(
        note="Afterwards up to five files that it used last come back, CLAUDE.md and skills too",
    ),
)
