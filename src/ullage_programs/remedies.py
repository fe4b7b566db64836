"""How a person makes the requests of a program smaller: its settings and commands, by what fills the window.

Sources, read or tried in November 2026:

* Claude Code: https://code.claude.com/docs/en/context-window, https://code.claude.com/docs/en/memory (``CLAUDE.md``
  of at most 200 lines), ``--help`` and the descriptions of settings in 2.1.330
* Codex: https://developers.openai.com/codex/config-reference/
* Gemini CLI: https://geminicli.com/docs/get-started/configuration
* OpenCode: https://opencode.ai/docs/mcp-servers, https://opencode.ai/docs/config
* pi: ``--help`` of 0.87.1
* qwen-code: https://qwenlm.github.io/qwen-code-docs/en/users/configuration/settings/ and ``--help`` of 0.24.4
* Copilot CLI: ``--help`` of 1.0.102
* Ullage: ``docs/settings.md``
"""

from __future__ import annotations

from typing import Final, Literal

from ullage_programs.limits import name_and_version
from ullage_programs.programs import OWN

Remedied = Literal[
    "server",
    "tools",
    "listing",
    "results",
    "reads",
    "outputs",
    "instructions",
    "paste",
    "image",
    "cache",
]
"""What a suggestion is about."""

_CLAUDE: Final[dict[Remedied, str]] = {
    "server": "`claude mcp remove {0}`, or ENABLE_TOOL_SEARCH=true to load tools on demand",
    "tools": "`--tools` names the built-in tools that are wanted, or ENABLE_TOOL_SEARCH=true",
    "listing": "a lower `skillListingBudgetFraction` or `disableBundledSkills` in settings.json",
    "results": "`/clear` between tasks; what a subagent reads stays out of this window",
    "reads": "`/clear` between tasks, or name the lines that are wanted",
    "outputs": "a lower `bashOutputMaxChars` in settings.json; the rest goes to a file",
    "instructions": "below 200 lines; rules for some files go to .claude/rules, the rest to skills",
    "paste": "save it to a file and name the file: Claude Code then reads what it needs",
    "image": "`/clear`, or `/compact` once what it shows is written down",
    "cache": "`/compact` before a pause; ENABLE_PROMPT_CACHING_1H=1 keeps the cache longer",
}

_CODEX: Final[dict[Remedied, str]] = {
    "server": "`enabled = false` below [mcp_servers.{0}] in ~/.codex/config.toml",
    "tools": "`disabled_tools` of its MCP server in ~/.codex/config.toml",
    "outputs": "`tool_output_token_limit` in ~/.codex/config.toml cuts every output",
    "instructions": "shorten AGENTS.md; `project_doc_max_bytes` in config.toml cuts it",
    "results": "`/new` between tasks, or `/compact`",
    "cache": "`/compact` before a longer pause",
}

_GEMINI: Final[dict[Remedied, str]] = {
    "server": '`"mcp": {"excluded": ["{0}"]}` in settings.json, or excludeTools of the server',
    "tools": '`"tools": {"exclude": […]}` in settings.json',
    "outputs": "tools.truncateToolOutputThreshold in settings.json cuts outputs, in characters",
    "instructions": "shorten GEMINI.md; `/memory show` prints what is sent",
    "results": "`/compress`, or `/clear` between tasks",
}

_QWEN: Final[dict[Remedied, str]] = {
    "server": '`"mcp": {"excluded": ["{0}"]}` in settings.json',
    "tools": "--exclude-tools, or permissions.deny in settings.json",
    "outputs": "tools.truncateToolOutputThreshold in settings.json cuts outputs, in characters",
    "instructions": "shorten QWEN.md",
    "results": "`/compress`, or `/clear` between tasks",
}

_OPENCODE: Final[dict[Remedied, str]] = {
    "server": '`"mcp": {"{0}": {"enabled": false}}` in opencode.json',
    "tools": '`"tools": {"NAME": false}` in opencode.json',
    "results": "`/compact`, or `/new` between tasks",
    "instructions": "shorten AGENTS.md and the files of `instructions` in opencode.json",
}

_PI: Final[dict[Remedied, str]] = {
    "tools": "--exclude-tools leaves tools out; --tools names those that are wanted",
    "results": "`/compact`, or `/new` between tasks",
    "instructions": "shorten AGENTS.md",
}

_COPILOT: Final[dict[Remedied, str]] = {
    "server": "--disable-mcp-server {0}",
    "tools": "--excluded-tools leaves tools out",
    "results": "`/compact`, or `/clear` between tasks",
    "instructions": "shorten AGENTS.md and .github/copilot-instructions.md",
}

_OURS: Final[dict[Remedied, str]] = {
    "server": '`enabled = false` of the server in the setting `mcp`, or `defer_tools = "always"`',
    "tools": 'name only the tools that are wanted in `tools`, or `defer_tools = "always"`',
    "results": "a lower `protect_tokens`, or `clear_cold_at`: old results are then cleared earlier",
    "reads": "a lower `protect_tokens`: old results are then cleared earlier",
    "outputs": "a lower `result_tokens`: the rest of a long result is stored and can be read",
    "instructions": "shorten the files of `instructions`",
    "cache": "compact before a longer pause",
}

REMEDIES: Final[dict[str, dict[Remedied, str]]] = {
    "claude-code": _CLAUDE,
    "codex": _CODEX,
    "copilot-cli": _COPILOT,
    "gemini-cli": _GEMINI,
    "opencode": _OPENCODE,
    "pi": _PI,
    "qwen-code": _QWEN,
}
"""By the names in ``SessionStarted.program``."""

_ANY: Final[dict[Remedied, str]] = {
    "server": "turn the server off where it is not needed",
    "tools": "declare only the tools that this task needs",
    "listing": "remove those that are not used",
    "results": "compact, or begin a new session for the next task",
    "reads": "compact, or begin a new session for the next task",
    "outputs": "cut the output in the command: `| tail -50`",
    "instructions": "shorten the file",
    "paste": "save it to a file and name the file",
    "image": "compact once what it shows is written down",
    "cache": "compact before a longer pause",
}


def remedy_of(program: str, what: Remedied, name: str = "") -> str:
    """What to do about it in this program. ``name`` is the MCP server that it is about."""
    short = name_and_version(program)[0]
    known = REMEDIES.get(short, {})
    if short in OWN:
        known = _OURS
    text = known.get(what, _ANY[what])
    return text.replace("{0}", name)
