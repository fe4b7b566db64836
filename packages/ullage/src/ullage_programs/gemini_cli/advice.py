"""What makes Gemini CLI's requests smaller, and what it keeps when it compacts.

https://geminicli.com/docs/get-started/configuration.
"""

from __future__ import annotations

from ullage_programs.advice import CompactionRule, ProgramAdvice

ADVICE = ProgramAdvice(
    {
        "server": '`"mcp": {"excluded": ["{0}"]}` in settings.json, or excludeTools of the server',
        "tools": '`"tools": {"exclude": […]}` in settings.json',
        "outputs": "tools.truncateToolOutputThreshold in settings.json cuts outputs, in characters",
        "instructions": "shorten GEMINI.md; `/memory show` prints what is sent",
    },
    # COMPRESSION_PRESERVE_THRESHOLD in packages/core/src/services/chatCompressionService.ts of
    # https://github.com/google-gemini/gemini-cli
    CompactionRule(
        share=0.3,
        note="The newest 30 % of the conversation stay",
    ),
)
