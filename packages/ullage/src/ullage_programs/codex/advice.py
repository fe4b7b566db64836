"""What makes Codex's requests smaller, and what it keeps when it compacts.

https://developers.openai.com/codex/config-reference/.
"""

from __future__ import annotations

from ullage_programs.advice import CompactionRule, ProgramAdvice

_OUTPUT_LIMIT = "`tool_output_token_limit` in ~/.codex/config.toml cuts every output"

ADVICE = ProgramAdvice(
    {
        "server": "`enabled = false` below [mcp_servers.{0}] in ~/.codex/config.toml",
        "tools": "`disabled_tools` of its MCP server in ~/.codex/config.toml",
        "outputs": _OUTPUT_LIMIT,
        "results": _OUTPUT_LIMIT,
        "instructions": "shorten AGENTS.md; `project_doc_max_bytes` in config.toml cuts it",
        "cache": "`/compact` before a longer pause",
    },
    # COMPACT_USER_MESSAGE_MAX_TOKENS in codex-rs/core/src/compact.rs of https://github.com/openai/codex
    CompactionRule(
        tokens=20_000,
        of="people",
        note="Your newest messages stay, up to 20,000 tokens",
        # It counts reasoning that is not sent any more (n=31 compactions).
        comes=(0.91, 0.95, 1.01),
    ),
)
