"""What a tool is to the runtime: a declaration for the model, and a function that runs a call.

A tool may raise, hang, or give anything: whoever runs it turns that into a result the model can react to. Cancelling
the task that runs a tool must end what the tool has started, child processes included, before the cancel goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ullage.errors import UllageError
from ullage.events import ToolOutcome
from ullage.messages import ImagePart, Tool

DEFAULT_TIMEOUT_S = 600.0
"""Seconds a call may take unless the tool says otherwise: what common coding agents allow the longest command."""


class ToolError(UllageError):
    """Raised by a tool to give the model this message, and nothing else, as an error result."""


class BadArguments(ToolError):
    """The model's arguments don't fit the tool, and nothing was done; the message says which and why."""


class Picture(NamedTuple):
    """An image a tool gives: its bytes, and what it costs by. ``part.source`` is filled in when it is stored."""

    data: bytes
    part: ImagePart


class Output(NamedTuple):
    """What a call gave: text for the model, and pictures. An error is a value too: the model reacts to it.

    ``outcome`` is set by a tool that knows better than its runner how it ended: it kept a time limit of its own, or
    lost the server that may or may not have acted.
    """

    text: str
    pictures: tuple[Picture, ...] = ()
    is_error: bool = False
    outcome: ToolOutcome | None = None


class ToolContext(Protocol):
    """What a running call may use of the session it runs in."""

    @property
    def session(self) -> str: ...

    @property
    def call_id(self) -> str: ...

    @property
    def root(self) -> Path:
        """The directory that file tools are confined to."""
        ...

    async def keep(self, data: bytes) -> str:
        """Store bytes beside the session; gives the handle that ``kept`` and the tool ``read_result`` take."""
        ...

    async def kept(self, handle: str, *, start: int = 0, size: int | None = None) -> bytes:
        """Bytes stored by ``keep``."""
        ...


Run = Callable[[Mapping[str, Any], ToolContext], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool as the runtime uses it.

    ``run`` gets the parsed arguments. ``sequential``: never beside another call. ``idempotent``: may be run again after
    a crash. ``needs_approval``: a person is asked before each call; a function decides by the arguments.
    ``unconfined`` says why what it runs can't be confined; then a person is always asked. ``result_tokens`` is the
    most of a result the model gets at once; ``None`` takes the session's. ``outlives_cancel``: what a cancelled or
    timed out call began may go on out of reach (a thread, a server), so its outcome is unknown.
    """

    declaration: Tool
    run: Run = field(repr=False)
    sequential: bool = False
    idempotent: bool = False
    needs_approval: bool | Callable[[Mapping[str, Any]], bool] = False
    timeout_s: float = DEFAULT_TIMEOUT_S
    result_tokens: int | None = None
    outlives_cancel: bool = False
    unconfined: str = ""

    @property
    def name(self) -> str:
        return self.declaration.name
