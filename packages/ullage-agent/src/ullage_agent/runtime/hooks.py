"""Hooks: what a program may see and change before and after each thing the loop does.

Each method returns what it puts in the place of what it was given, or ``None``, which changes nothing. The hooks are
asked in the order in which they were given, and each gets what the one before it made. An exception in one, or a value
of another type, ends the turn as ``failed`` with its text; everything stored so far stays. Cancelling a turn cancels a
hook that is running. docs/hooks.md shows examples.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from ullage.codec.stream import Answer
from ullage.errors import UllageError, WrongType
from ullage.events import Event
from ullage.messages import Request
from ullage.meter.reading import Reading
from ullage.similar import did_you_mean
from ullage_agent.runtime.session_view import Viewed
from ullage_agent.tools.tool import Output

T = TypeVar("T")

_MOMENTS: Final = ("before_", "after_", "around_", "on_")
"""How the names of a hook's methods begin: others of these are of another library, or mistyped."""


class HookFailed(UllageError):
    """A hook raised, or returned what can't be used; the cause is kept. The turn ends as ``failed``."""


class Refusal(NamedTuple):
    """A refusal of a hook or guardrail: ``why`` is told to the model for a tool, to the caller for a message or an
    answer, and recorded for a compaction."""

    why: str


class Hook:
    """Does nothing; override what is of interest."""

    is_inherited = False
    """Whether subagents of the agent have it too, unless they have one of its class."""

    def on_event(self, event: Event) -> None:
        """An event was stored while this process drives the session. Must not wait; what it raises is only logged.

        Args:
            event: What happened (``ullage.events``).
        """

    def on_driven(self, session: str, trace: str, driven: Viewed) -> None:
        """This process drives the session from here on. As ``on_event``.

        Args:
            session: Its id.
            trace: The ``traceparent`` of the request that began its turn; empty without one, and between turns.
            driven: Gives what is known of the session.
        """

    def around_tool(self, session: str, call_id: str) -> AbstractContextManager[object]:
        """A block that a tool runs in: the tool sees the context variables that it sets.

        Args:
            session: The id of the session.
            call_id: The id of the call.
        """
        return nullcontext()

    async def before_call(self, request: Request, reading: Reading) -> Request | None:
        """A request is about to be sent.

        Another request is sent in its place: with a message more, a text less, other tools or another system prompt.
        That is for this call alone. The ledger keeps the conversation as it was, and says which hooks replaced the
        request and by how many tokens. A request that a crash kept from being answered is made, and replaced, again.

        Args:
            request: What the conversation makes. Its wire, provider, model and ``stream`` can't be changed here.
            reading: The window with it, in tokens; of a replaced request, the last one's difference is included.
        """
        return None

    async def before_summary(self, request: Request, reading: Reading) -> Request | None:
        """The same for the request of a summary, which holds the conversation too. By default ``before_call``.

        Args:
            request: As in ``before_call``.
            reading: As in ``before_call``.
        """
        return await self.before_call(request, reading)

    async def after_call(self, answer: Answer, reading: Reading) -> Answer | None:
        """An answer has come and is about to be recorded.

        Of another answer the ``message`` is recorded, so the model and the caller see only that: its texts, and its
        tool calls, which run. What streamed before was the model's own. The usage stays what the provider reported.

        Args:
            answer: What the model gave.
            reading: The window as it was for the call, in tokens.
        """
        return None

    async def before_tool(
        self, name: str, arguments: Mapping[str, Any] | None, call_id: str
    ) -> Mapping[str, Any] | Output | Refusal | None:
        """A call of a tool is about to be approved or run.

        Other arguments are what a person is asked to approve, and what runs. An ``Output`` is the result, and the tool
        does not run; a ``Refusal`` is told to the model. A call is asked about once, however long it waits; again only
        where the process ended before the call was started and the arguments had not been replaced.

        Args:
            name: The tool.
            arguments: As the model wrote them; ``None`` where they are no JSON object.
            call_id: The id of the call.
        """
        return None

    async def after_tool(self, name: str, output: Output, call_id: str) -> Output | None:
        """A tool has ended; another output is recorded in the place of this one.

        Args:
            name: The tool.
            output: Its result, before it is cut to what the model gets at once.
            call_id: The id of the call.
        """
        return None

    async def before_compaction(
        self, reading: Reading, trigger: str
    ) -> Refusal | tuple[str, ...] | None:
        """The view is about to be made smaller: ids of messages to pin, or a refusal.

        Args:
            reading: The window as it is.
            trigger: Why it is compacted, as ``CompactionStarted`` has it.
        """
        return None

    async def after_compaction(self, before: Reading, after: Reading) -> None:
        """The view has become smaller.

        Args:
            before: The window as it was.
            after: The window as it is now.
        """


async def run_hook(
    hook: Hook, method: str, *given: Any, takes: tuple[type, ...] = ()
) -> Any:
    """What a hook returns: a value of one of these types, or ``None``. Raises ``HookFailed`` for all else."""
    name = f"{hook_name(hook)}.{method}"
    try:
        returned = getattr(hook, method)(*given)
        if inspect.isawaitable(returned):
            returned = await returned
    except Exception as problem:
        raise HookFailed(
            f"The hook {name} failed: {type(problem).__name__}: {problem}"
        ) from problem
    if returned is not None and not isinstance(returned, takes):
        wanted = ", ".join(["None", *(one.__name__ for one in takes)])
        raise HookFailed(
            f"The hook {name} returned {type(returned).__name__}, and may return: {wanted}. Nothing of it was used."
        )
    return returned


def check_hook(hook: object) -> None:
    """Raises ``WrongType`` for what is no hook, and for a method that would never be called, or not so."""
    if not isinstance(hook, Hook):
        raise WrongType(
            f"`hooks` are objects of a class made from ullage.Hook, and not {type(hook).__name__}."
        )
    methods = [name for name in vars(Hook) if name.startswith(_MOMENTS)]
    for name in dir(hook):
        if name.startswith(_MOMENTS) and name not in methods:
            raise WrongType(
                f"{hook_name(hook)}.{name} would never be called: a hook has {', '.join(methods)}."
                f"{did_you_mean(name, methods)} A method of your own begins otherwise, as with `_`."
            )
    for name in methods:
        wanted = inspect.signature(getattr(Hook, name))
        try:
            inspect.signature(getattr(type(hook), name)).bind(*wanted.parameters)
        except TypeError as problem:
            raise WrongType(
                f"{hook_name(hook)}.{name} can't be called as it will be: write def {name}"
                f"({', '.join(wanted.parameters)})."
            ) from problem


def hook_name(hook: Hook) -> str:
    """How events and errors call a hook: by its class."""
    return type(hook).__name__


class AfterHooks(NamedTuple, Generic[T]):
    """A value after all hooks, and the names of those that put another one in its place."""

    value: T
    by: tuple[str, ...] = ()


async def passed(
    hooks: Sequence[Hook], method: str, value: T, *beside: object
) -> AfterHooks[T]:
    """The value after this method of each hook. Raises ``HookFailed``."""
    by: list[str] = []
    for hook in hooks:
        given = await run_hook(hook, method, value, *beside, takes=(type(value),))
        if given is not None and given != value:
            value = given
            by.append(hook_name(hook))
    return AfterHooks(value, tuple(by))


async def passed_request(
    hooks: Sequence[Hook], method: str, request: Request, reading: Reading
) -> AfterHooks[Request]:
    """The request after ``before_call`` or ``before_summary``. Raises ``HookFailed``, also for another destination."""
    sent = await passed(hooks, method, request, reading)
    for name in ("wire", "provider", "model", "stream", "chained"):
        if getattr(sent.value, name) != getattr(request, name):
            raise HookFailed(
                f"The hook {sent.by[-1]}.{method} changed `{name}` of the request, which is not for one call alone. "
                "Set it for the session, as in session.set(model=…)."
            )
    return sent


def arguments_text(hook: Hook, arguments: Mapping[str, Any]) -> str:
    """The arguments that a hook put in place, as JSON. Raises ``HookFailed`` for what is none."""
    try:
        return msgspec.json.encode(dict(arguments)).decode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise HookFailed(
            f"The hook {hook_name(hook)}.before_tool returned arguments that are no JSON object: {problem}"
        ) from problem
