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
from ullage_agent.tools.type_variables import Deps_co

DEFAULT_TIMEOUT_S = 600.0
"""Seconds a call may take by default: what common coding agents allow the longest command."""


class ToolError(UllageError):
    """Raised by a tool to give the model this message, and nothing else, as an error result."""


class ToolRetry(ToolError):
    """Raised by a tool to ask the model to call it again: the message says what to do differently.

    The model gets it as an error result, with how many retries are left: ``tool(retries=…)`` is how many there are in a
    turn. A call after the last one does not start.
    """


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
    agent: str = ""
    """The agent that the conversation is handed over to."""
    asks_retry: bool = False
    """The tool asks the model to call it again (``ToolRetry``)."""
    is_answer: bool = False
    """The call gives the answer, and the turn ends with it."""


class ToolContext(Protocol[Deps_co]):
    """The parts of its session that a running call may use.

    ``ToolContext[Database]`` says that the tool needs ``deps`` of that type: ``agent.session(…, deps=Database(…))``.
    """

    @property
    def session(self) -> str:
        """The session's id."""
        ...

    @property
    def call_id(self) -> str:
        """The id of this call, which the model's message has too."""
        ...

    @property
    def root(self) -> Path:
        """The directory that file tools are confined to."""
        ...

    @property
    def deps(self) -> Deps_co:
        """The object that the session was opened with: a database, a client, the user. It is not stored."""
        ...

    async def keep(self, data: bytes) -> str:
        """Store bytes beside the session.

        Args:
            data: Any number of bytes, which are kept as long as the session.

        Returns:
            A handle for ``kept`` and for the model's tool ``read_result``.
        """
        ...

    async def kept(
        self, handle: str, *, start: int = 0, size: int | None = None
    ) -> bytes:
        """Bytes stored by ``keep``.

        Args:
            handle: What ``keep`` returned.
            start: The first byte, from 0.
            size: How many bytes; ``None``: all that follow.
        """
        ...


Run = Callable[[Mapping[str, Any], ToolContext], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool as the runtime uses it.

    Args:
        declaration: Name, description and schema, as the model sees them.
        run: Gets the parsed arguments and the context of the call.
        sequential: Never beside another call.
        idempotent: May be run again after a crash.
        needs_approval: Each call needs a person's approval, or a function decides by the arguments.
        timeout_s: The longest that a call may take, in seconds.
        result_tokens: The most of a result that the model gets at once; ``None``: as the session's setting.
        outlives_cancel: After a cancel or time-out work may continue out of reach, in a thread or a server, so its
            outcome is unknown.
        unconfined: Why its commands can't be confined; then each call needs approval.
        retries: How often in a turn it may ask to be called again (``ToolRetry``).
        deps_type: The type of the ``deps`` that it can't run without; ``None``: it needs none.
        is_answer: Its arguments are the answer of the turn, and limits of tool calls and steps don't hold it back.
        read_only: ``True`` changes no files, ``False`` may: the files of the root are looked at before and after, so
            that a rewind can restore them. ``None``: they are where another tool of the agent may change files.
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
    retries: int = 1
    deps_type: object = None
    is_answer: bool = False
    read_only: bool | None = None

    @property
    def name(self) -> str:
        return self.declaration.name
