"""How a person makes the requests of a program smaller, by what fills the window, and what the program keeps itself.

Read or tried in November 2026; ``advice.py`` of each program has its source, Ullage's own are in ``docs/settings.md``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Literal, NamedTuple

from ullage_programs.limits import name_and_version
from ullage_programs.programs import OWN, folder_of

Remedied = Literal[
    "server",
    "tools",
    "outputs",
    "results",
    "pictures",
    "instructions",
    "cache",
]
"""What a suggestion is about. Results and pictures are those of MCP servers."""


class CompactionRule(NamedTuple):
    """The newest messages that stay, in tokens or as a share of the messages; ``note`` says what else comes back."""

    tokens: int = 0
    share: float = 0.0
    of: Literal["all", "people"] = "all"
    """Whether messages of all kinds stay, or only those of a person."""
    note: str = ""
    comes: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """At which shares of its threshold it compacts, by our count: early, usual, late."""


class ProgramAdvice(NamedTuple):
    """What is known of one program; what is not known is left out."""

    remedies: dict[Remedied, str]
    """``{0}`` is the MCP server that it is about."""
    compaction: CompactionRule | None = None
    """What it keeps when it compacts; everything else becomes a summary but the system prompt and the tools."""


_RESULT_TOKENS: Final = (
    "a lower `result_tokens`: the rest of a long result is stored and can be read"
)

_OURS: Final = ProgramAdvice(
    {
        "server": '`enabled = false` of the server in the setting `mcp`, or `defer_tools = "always"`',
        "tools": 'name only the tools that are wanted in `tools`, or `defer_tools = "always"`',
        "outputs": _RESULT_TOKENS,
        "results": _RESULT_TOKENS,
        "instructions": "shorten the files of `instructions`",
        "cache": "compact before a longer pause",
    }
)

_ANY: Final[dict[Remedied, str]] = {
    "server": "turn the server off where it is not needed",
    "tools": "declare only the tools that this task needs",
    "outputs": "cut the output in the command: `| tail -50`",
    "results": "ask for less: a filter, a range or a limit among the arguments of the tool",
    # README.md of https://github.com/microsoft/playwright-mcp (0.0.79)
    "pictures": "smaller: `--viewport-size 800x600` of Playwright's server; none: `--image-responses omit`",
    "instructions": "shorten the file",
    "cache": "compact before a longer pause",
}


def advice_of(program: str) -> ProgramAdvice:
    """What is known of a program, whatever its version; nothing of an unknown one."""
    name, _ = name_and_version(program)
    if name in OWN:
        return _OURS
    folder = folder_of(name)
    if not folder:
        return ProgramAdvice({})
    found: ProgramAdvice = import_module(f"ullage_programs.{folder}.advice").ADVICE
    return found


def compaction_rule_of(program: str) -> CompactionRule | None:
    """What this program keeps when it compacts; ``None`` where it is not known."""
    return advice_of(program).compaction


def remedy_of(program: str, what: Remedied, name: str = "") -> str:
    """What to do about it in this program. ``name`` is the MCP server that it is about."""
    text = advice_of(program).remedies.get(what, _ANY[what])
    return text.replace("{0}", name)
