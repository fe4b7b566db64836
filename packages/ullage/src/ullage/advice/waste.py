"""What fills the window for nothing: tools that are never called, long outputs, large pictures, long instructions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ullage.advice.held import TOOLS
from ullage.advice.lives import ItemLife
from ullage.advice.policy import (
    ENOUGH_OUTPUT,
    FEWEST_REQUESTS,
    INSTRUCTION_LINES,
    LONG_OUTPUT,
    SMALL_PICTURE,
)
from ullage.advice.savings import SavedShare
from ullage.advice.suggestion import (
    AdviceInput,
    Suggestion,
    SuggestionKind,
    name_of,
)
from ullage.advice.tool_calls import server_of
from ullage.display.text import counted
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    SystemChanged,
)
from ullage.messages import Message, TextPart
from ullage.meter.cost import TOOL_CALLS, TOOL_RESULTS
from ullage.meter.shares import SYSTEM_ROWS
from ullage_programs.advice import Remedied

SHELLS: Final = frozenset(
    {
        "bash",
        "shell",
        "local_shell",
        "exec_command",
        "container.exec",
        "run_shell_command",
        "powershell",
    }
)
"""Tools that run commands, in lower case: of Claude Code, Codex, OpenCode, pi, Gemini CLI, qwen-code, Copilot and ours.
"""

BETWEEN_FILES: Final = "\nContents of "
"""What Claude Code writes between the files of one reminder (2.1.330)."""

REMINDER: Final = "instructions"
"""The name of such a reminder, in its log and in the body of a request."""

INSTRUCTIONS: Final = frozenset(SYSTEM_ROWS.values()) - {SYSTEM_ROWS["prompt"]}
"""Rows of what a person can shorten."""


def unused_tools(given: AdviceInput) -> list[Suggestion]:
    """One suggestion for each MCP server that was never called, and one for all other tools that were not."""
    called = set(given.subagent_tools)
    for item in given.history.items:
        if item.category in (TOOL_CALLS, TOOL_RESULTS):
            called.add(item.tool)
    unused: dict[str, list[SavedShare]] = {}
    used_servers = {""}
    for place, item in enumerate(given.history.items):
        if item.category != TOOLS or not item.tool or item.last_call is not None:
            continue
        server = item.server or server_of(item.tool)
        if item.tool in called:
            used_servers.add(server)
        elif given.costs.calls_of(item) >= FEWEST_REQUESTS:
            unused.setdefault(server, []).append(SavedShare(place))
    found: list[Suggestion] = []
    others: list[SavedShare] = []
    for server, shares in unused.items():
        if server in used_servers:
            others += shares
            continue
        calls = max(given.costs.calls_of(given.item(each.place)) for each in shares)
        tools = counted(len(shares), "tool")
        title = f"MCP server {server} was never called"
        text = f"{tools} in each of {counted(calls, 'request')}"
        how = given.remedy("server", server)
        found.append(given.without(shares, "unused_server", title, text, how))
    if others:
        title = f"{counted(len(others), 'tool was', 'tools were')} never called"
        text = given.largest_names(others)
        how = given.remedy("tools")
        found.append(given.without(others, "unused_tools", title, text, how))
    return found


def is_output(item: ItemLife) -> bool:
    """Whether it is what a command wrote."""
    return item.category == TOOL_RESULTS and item.tool.lower() in SHELLS


def is_mcp_result(item: ItemLife) -> bool:
    """Whether it is what a tool of an MCP server returned."""
    return item.category == TOOL_RESULTS and item.server != ""


def is_instruction(item: ItemLife) -> bool:
    """Whether it is instructions that a person can shorten."""
    if item.message:
        is_file = item.label == REMINDER or item.label.endswith(".md")
        return is_file and not item.tool
    return item.category in INSTRUCTIONS


_OUTPUT: Final = f"an output above {LONG_OUTPUT:,} tokens"
_CUT: Final = f"a cut to {ENOUGH_OUTPUT:,}"
_PIXELS: Final = "{width} x {height}".format_map(SMALL_PICTURE)

LONG: Final[dict[SuggestionKind, tuple[str, str, str, Remedied]]] = {
    "long_output": ("command", _OUTPUT, _CUT, "outputs"),
    "long_result": ("MCP call", _OUTPUT, _CUT, "results"),
    "pictures": ("MCP call", f"a picture above {_PIXELS}", _PIXELS, "pictures"),
}
"""Of results that can be shorter: what one comes from, how it is too long, what is enough, and the remedy."""


def long_kind(item: ItemLife) -> SuggestionKind | None:
    """What is suggested for a result that is longer than it need be; ``None`` for all other items."""
    if item.oversize:
        return "pictures"
    if item.tokens >= LONG_OUTPUT:
        if is_output(item):
            return "long_output"
        if is_mcp_result(item):
            return "long_result"
    return None


def long_outputs(given: AdviceInput) -> list[Suggestion]:
    """Outputs of commands and MCP servers above ``LONG_OUTPUT``, as if they were cut to ``ENOUGH_OUTPUT``.

    Large pictures of MCP servers are as if they had the size of ``SMALL_PICTURE``; what is beside one is not cut.
    """
    found: list[Suggestion] = []
    for kind, (one, long, enough, remedied) in LONG.items():
        shares: list[SavedShare] = []
        for place, item in enumerate(given.history.items):
            if long_kind(item) == kind:
                share = item.oversize or 1 - ENOUGH_OUTPUT / item.tokens
                shares.append(SavedShare(place, share))
        if shares:
            title = f"{counted(len(shares), one)} with {long}"
            text = f"what {enough} saves: {given.largest_names(shares)}"
            how = given.remedy(remedied)
            found.append(given.without(shares, kind, title, text, how))
    return found


def long_instructions(given: AdviceInput) -> list[Suggestion]:
    """Instruction files of more than ``INSTRUCTION_LINES`` lines: what is beyond them."""
    found: list[Suggestion] = []
    for place, text in _instructions(given).items():
        item = given.item(place)
        lines = 0
        beyond = 0
        for file in text.split(BETWEEN_FILES):
            rows = file.split("\n")
            if len(rows) > INSTRUCTION_LINES:
                lines += len(rows)
                beyond += len("\n".join(rows[INSTRUCTION_LINES:]))
        if beyond:
            shares = [SavedShare(place, beyond / len(text))]
            title = f"{lines:,} lines in {name_of(item)}"
            saved = (
                f"saved with {INSTRUCTION_LINES}; {item.tokens:,} tokens in every request"
            )
            how = given.remedy("instructions")
            found.append(given.without(shares, "instructions", title, saved, how))
    return found


def _instructions(given: AdviceInput) -> dict[int, str]:
    """The instructions in the next request: blocks of the system prompt, and files that came as reminders."""
    places: dict[tuple[str, str], int] = {}
    for place, item in enumerate(given.history.items):
        if is_instruction(item) and item.last_call is None:
            places[item.message, item.part] = place
    found: dict[int, str] = {}
    for event in given.events:
        if isinstance(event, SystemChanged):
            for block in event.system:
                place = places.get(("", block.name or block.kind), -1)
                found[place] = block.text
        for message in _reminders(event):
            for part in message.of_type(TextPart):
                found[places.get((message.id, part.id), -1)] = part.text
    found.pop(-1, None)
    return found


def _reminders(event: Event) -> Iterable[Message]:
    """The messages of an event that no person and no model wrote."""
    messages: tuple[Message, ...] = ()
    if isinstance(event, MessageAdded | MessageReplaced):
        messages = (event.message,)
    elif isinstance(event, CompactionCommitted):
        messages = event.added
    for message in messages:
        if message.origin == "injected" or message.role == "system":
            yield message
