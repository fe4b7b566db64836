"""What the bench has to know of a client."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

Lane = Literal["main", "child", "summary", "other"]
"""The conversation, its subagents, requests for a summary, and all others (titles, notes)."""

Deed = Literal["prompt", "compact", "interrupt", "kill", "drop", "twins"]

Arguments = dict[str, Any]


class Turn(NamedTuple):
    """One run of the client's program. All runs of a scenario but the first continue the same session.

    ``other_model`` uses the client's second model; ``interrupt`` ends the program while the answer streams, and
    ``kill`` does so without asking it. ``drop``: the provider's connection breaks while the answer streams.
    ``twins``: two programs at once, each in a new session of its own.
    """

    text: str
    deed: Deed = "prompt"
    other_model: bool = False
    first: bool = False


class Place(NamedTuple):
    """Where a scenario runs: an empty home directory, and the simulators' base address (without a path).

    ``small_window`` asks for automatic compaction after about ``SMALL_WINDOW`` tokens. ``by_proxy``: the address is
    that of ``ullage proxy``. ``at_terminal``: a person who has answered all questions of a first start uses it.
    """

    home: Path
    address: str
    small_window: bool = False
    by_proxy: bool = False
    at_terminal: bool = False

    @property
    def project(self) -> Path:
        return self.home / "project"

    def write(self, name: str, content: str | Mapping[str, Any]) -> None:
        """A configuration file below the home directory; a mapping is written as JSON."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        path.write_text(text, encoding="utf-8")


class ToolCall(NamedTuple):
    """A call of one of the client's tools, as the simulated model makes it. ``custom``: free text, no JSON."""

    name: str
    arguments: Arguments
    custom: str = ""


class Client(ABC):
    """A program under test. ``lacks`` says for each scenario that the client can't do headless why not."""

    name: ClassVar[str]
    title: ClassVar[str]
    package: ClassVar[str]
    version: ClassVar[str]
    program: ClassVar[str]
    """The command that the package installs."""
    on_pypi: ClassVar[bool] = False
    """Whether its package is of PyPI, and not of npm."""
    newer_node: ClassVar[bool] = True
    """Whether it needs a newer Node than the one that npm itself runs on."""
    model: ClassVar[str]
    other_model: ClassVar[str]
    lacks: ClassVar[Mapping[str, str]] = {}
    refused_rightly: ClassVar[Mapping[str, str]] = {}
    """Rules that its requests break at the real provider too, and what shows it."""
    unlogged: ClassVar[Mapping[Lane, str]] = {}
    """Lanes whose calls are not in its log, and why."""
    summary_prompt: ClassVar[str]
    """Words of the request that asks for a summary, which no other request has in its last message."""
    side_prompts: ClassVar[tuple[str, ...]] = ()
    """Words of requests that are neither the conversation's nor a subagent's."""
    no_log: ClassVar[str] = ""
    """Why Ullage refuses its log; then it is run behind the proxy alone."""
    last_command: ClassVar[str] = ""
    """The shell command with which its model says that it is done; empty where an answer says so."""
    edit: ClassVar[str] = ""
    """An answer that changes a file, of a client without tools."""

    compact_command: ClassVar[str] = "/compact"
    leave: ClassVar[str] = "/quit"
    """What a person types."""

    shell_tool: ClassVar[tuple[str, str]] = ("bash", "command")
    shell_more: ClassVar[Arguments] = {}
    read_tool: ClassVar[tuple[str, str]] = ("read", "path")
    """The names of a tool and of its argument, empty without tools; ``…_more`` are arguments that are always given."""
    agent_tool: ClassVar[str] = ""
    agent_more: ClassVar[Arguments] = {}

    @abstractmethod
    def prepare(self, place: Place) -> dict[str, str]:
        """Write the configuration. Gives the environment variables to set."""

    @abstractmethod
    def arguments(self, turn: Turn) -> list[str]:
        """The command line of a turn, without the program."""

    def at_terminal(self) -> list[str]:
        """The command line that starts it in a terminal, without the program."""
        return ["--model", self.model]

    def typed(self, turn: Turn) -> str:
        """A turn as a person types it."""
        return self.compact_command if turn.deed == "compact" else turn.text

    def again(self, turn: Turn, *words: str) -> list[str]:
        """These words in a turn that continues a session."""
        return [] if turn.first else [*words]

    @property
    def has_tools(self) -> bool:
        return bool(self.shell_tool[0])

    def model_of(self, turn: Turn) -> str:
        return self.other_model if turn.other_model else self.model

    def shell(self, command: str) -> ToolCall:
        name, field = self.shell_tool
        return ToolCall(name, {field: command, **self.shell_more})

    def read(self, path: Path) -> ToolCall:
        """The call that reads a file."""
        name, field = self.read_tool
        return ToolCall(name, {field: str(path)})

    def read_large(self, path: Path) -> ToolCall:
        """The call that reads a file of 30 KB, as far as the client allows."""
        return self.read(path)

    def subagent(self, prompt: str) -> ToolCall | None:
        """The call that starts a subagent; ``None`` where the client has none."""
        if not self.agent_tool:
            return None
        return ToolCall(self.agent_tool, {**self.agent_more, "prompt": prompt})

    def patch(self) -> ToolCall | None:
        """The call of a custom tool, whose input is free text; ``None`` where the client has none."""
        return None
