"""What makes pi's requests smaller, and what it keeps when it compacts.

``--help`` of 0.87.1.
"""

from __future__ import annotations

from ullage_programs.advice import CompactionRule, ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "tools": "--exclude-tools leaves tools out; --tools names those that are wanted",
        "instructions": "shorten AGENTS.md",
    },
    # keepRecentTokens in docs/compaction.md of @earendil-works/pi-coding-agent 0.87.1
    CompactionRule(
        tokens=20_000,
        note="The newest 20,000 tokens stay",
    ),
)
