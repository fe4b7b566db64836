"""A tool for the runtime: a declaration for the model, and a function that runs a call.

A tool may raise, hang, or return anything: ``run_call`` turns that into a result the model can react to. Cancelling the
task that runs a tool must end what the tool started, including child processes, before it propagates.
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
"""Seconds a call may take by default: what common coding agents allow the longest command."""


class ToolError(UllageError):
    """Raised by a tool to give the model this message, and nothing else, as an error result."""


class BadArguments(ToolError):
    """The model's arguments don't fit the tool, and nothing was done; the message says which and why."""


class Picture(NamedTuple):
    """An image from a tool: its bytes, and the part that determines its cost. Storing it fills in ``part.source``."""

    data: bytes
    part: ImagePart


class Output(NamedTuple):
    """The result of a call: text for the model, and pictures. An error is a value too: the model reacts to it.

    A tool sets ``outcome`` if it knows better than ``run_call`` how the call ended: its own time limit ended it, or it
    lost a server that may or may not have acted.
    """

    text: str
    pictures: tuple[Picture, ...] = ()
    is_error: bool = False
    outcome: ToolOutcome | None = None
    found: tuple[str, ...] = ()
    """Names of deferred tools that a search has found."""


class ToolContext(Protocol):
    """The parts of its session that a running call may use."""

    @property
    def session(self) -> str: ...

    @property
    def call_id(self) -> str: ...

    @property
    def root(self) -> Path:
        """The directory that file tools are confined to."""
        ...

    async def keep(self, data: bytes) -> str:
        """Store bytes beside the session; returns the handle for ``kept`` and for the tool ``read_result``."""
        ...

    async def kept(
        self, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        """Bytes stored by ``keep``."""
        ...


Run = Callable[[Mapping[str, Any], ToolContext], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool as the runtime uses it.

    ``run`` gets the parsed arguments. ``sequential``: never beside another call. ``idempotent``: may be run again after
    a crash. ``needs_approval``: each call needs a person's approval, or a function decides by the arguments.
    ``unconfined`` says why its commands can't be confined; then each call needs approval. ``result_tokens`` is the
    most of a result the model gets at once; ``None`` is the session's limit. ``outlives_cancel``: after a cancel or
    time-out, work may continue out of reach (in a thread or server), so its outcome is unknown.
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
