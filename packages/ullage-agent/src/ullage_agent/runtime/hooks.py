"""Hooks: what a program may do before and after each thing the loop does.

A hook's methods are awaited in the order the hooks were given. An exception in one ends the turn as ``failed`` with its
text, and everything stored so far stays. Cancelling a turn cancels a hook that is running.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeVar

from ullage.codec.stream import Answer
from ullage.errors import UllageError
from ullage.events import Event
from ullage.messages import Request
from ullage.meter.reading import Reading
from ullage_agent.runtime.session_view import Viewed
from ullage_agent.tools.tool import Output

T = TypeVar("T")


class HookFailed(UllageError):
    """A hook raised; the cause is kept. The turn ends as ``failed``."""


async def run_hook(doing: Awaitable[T]) -> T:
    """What a hook gives. Raises ``HookFailed`` for whatever it raises."""
    try:
        return await doing
    except Exception as problem:
        raise HookFailed(
            f"A hook failed: {type(problem).__name__}: {problem}"
        ) from problem


class Refusal(NamedTuple):
    """A hook's refusal: ``why`` is told to the model for a tool, and recorded for a compaction."""

    why: str


class Hook:
    """Does nothing; override what is of interest."""

    is_inherited = False
    """Whether subagents of the agent have it too, unless they have one of its class."""

    def on_event(self, event: Event) -> None:
        """An event was stored while this process drives the session. Must not wait; what it raises is only logged."""

    def on_driven(self, session: str, trace: str, driven: Viewed) -> None:
        """This process drives the session from here on. As ``on_event``.

        Args:
            session: Its id.
            trace: The ``traceparent`` of the request that began its turn; empty without one, and between turns.
            driven: Gives what is known of the session.
        """

    def around_tool(self, session: str, call_id: str) -> AbstractContextManager[object]:
        """A block that a tool runs in: the tool sees the context variables that it sets."""
        return nullcontext()

    async def before_call(self, request: Request, reading: Reading) -> None:
        """A request is about to be sent, and what it is expected to hold."""

    async def after_call(self, answer: Answer, reading: Reading) -> None:
        """An answer has been recorded."""

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Refusal | None:
        """A tool is about to run; ``arguments`` is ``None`` where they are no JSON object. A refusal stops it."""
        return None

    async def after_tool(self, name: str, output: Output, call_id: str) -> Output:
        """A tool has ended; what is given back is what is recorded."""
        return output

    async def before_compaction(
        self, reading: Reading, trigger: str
    ) -> Refusal | tuple[str, ...]:
        """The view is about to be made smaller: ids of messages to pin, or a refusal."""
        return ()

    async def after_compaction(self, before: Reading, after: Reading) -> None:
        """The view has become smaller."""
