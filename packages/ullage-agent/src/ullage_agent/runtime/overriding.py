"""Another model, store or other tools for an agent while a block runs: what ``Agent.override`` gives.

An override lies in a context variable: it counts in the thread or task that entered the block, in tasks that are begun
there, and in ``asyncio.to_thread``; other threads and tasks use the agent as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, Self, TypeVar, runtime_checkable

from ullage.errors import CommandRefused
from ullage.messages import Request
from ullage.provider import Provider
from ullage.store.places import UNSET, StorePlace, Unset
from ullage_agent.runtime.hooks import Hook
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.tool import AgentTool

_OF_THE_MODEL: Final[Mapping[str, object]] = {
    "fallback": (),
    "summary_model": "",
    "base_url": "",
    "wire": "",
}
"""Settings that belong to the model that is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitutes:
    """What an override puts in the place of the agent's own; ``None`` and ``UNSET`` leave it."""

    model: str | Provider | None = None
    store: StorePlace | Unset | None = UNSET
    tools: tuple[AgentTool | Callable[..., object] | McpServer | str, ...] | None = None
    hooks: tuple[Hook, ...] = ()
    on_call: Callable[[Request], None] | None = None

    def arguments(self, given: Mapping[str, object]) -> dict[str, object]:
        """The agent's arguments with these in their place."""
        arguments = dict(given)
        if self.model is not None:
            arguments |= {**_OF_THE_MODEL, "model": self.model}
        return arguments


class Overridable(Protocol):
    """What an override needs of an agent."""

    def _current(self) -> Self: ...

    def _with(self, substitutes: Substitutes) -> Self: ...


AgentT = TypeVar("AgentT", bound=Overridable)


@runtime_checkable
class _UsedUp(Protocol):
    def assert_used_up(self) -> None:
        """Raise if something of it was not used."""
        ...


_active: Final[ContextVar[tuple[Override[Any], ...]]] = ContextVar(
    "ullage_overrides", default=()
)


class Override(Generic[AgentT]):
    """A block in which an agent is used with something else: ``with`` or ``async with``, which give the changed agent.

    May be nested; the inner one wins. Enter it once.
    """

    def __init__(
        self, agent: AgentT, substitutes: Substitutes, *, all_agents: bool
    ) -> None:
        self._agent = agent
        self._substitutes = substitutes
        self._all_agents = all_agents
        self._was_entered = False
        self._changed: dict[int, tuple[Any, Any]] = {}
        """By the identity of an agent: itself, and its copy with the changes."""

    def __enter__(self) -> AgentT:
        if self._was_entered:
            raise CommandRefused(
                "This override was entered before. Make another one: agent.override(…)."
            )
        self._was_entered = True
        _active.set((*_active.get(), self))
        try:
            return self._agent._current()
        except BaseException:  # of a model that can't be: the block is not entered
            self._leave()
            raise

    def _leave(self) -> None:
        # Not by a token: fixtures may be left in another order, and in another context, than they were entered.
        _active.set(tuple(each for each in _active.get() if each is not self))

    def __exit__(self, *problem: object) -> None:
        self._leave()
        model = self._substitutes.model
        if problem[0] is None and isinstance(model, _UsedUp):
            model.assert_used_up()

    async def __aenter__(self) -> AgentT:
        return self.__enter__()

    async def __aexit__(self, *problem: object) -> None:
        self.__exit__(*problem)

    def changed(self, original: AgentT, current: AgentT) -> AgentT:
        """``current``, which stands for the ``original`` so far, with the changes if they are meant for it."""
        if original is not self._agent and not self._all_agents:
            return current
        if id(current) not in self._changed:
            self._changed[id(current)] = current, current._with(self._substitutes)
        found: AgentT = self._changed[id(current)][1]
        return found


def in_force(agent: AgentT) -> AgentT:
    """The agent with the overrides that count here."""
    current = agent
    for override in _active.get():
        current = override.changed(agent, current)
    return current


class EveryAgent:
    """Stands for no agent in particular: ``Override(EveryAgent(), …, all_agents=True)``."""

    def _current(self) -> Self:
        return self

    def _with(self, substitutes: Substitutes) -> Self:
        return self
