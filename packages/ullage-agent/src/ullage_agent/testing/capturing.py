"""What an agent sends and records while a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ullage.display.text import counted
from ullage.events import Event
from ullage.messages import Request
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hooks import Hook
from ullage_agent.runtime.overriding import Override, Substitutes
from ullage_agent.testing.answers import last_words


@dataclass(slots=True, repr=False)
class Sent:
    """What was sent and recorded so far, in order."""

    requests: list[Request] = field(default_factory=list)
    """Every request of a model call, also for summaries, as it was sent: ``system``, ``messages``, ``tools``, and
    among ``params`` the settings of the call (``max_output``, ``temperature``, ``effort``)."""
    events: list[Event] = field(default_factory=list)
    """What the sessions recorded."""

    def __repr__(self) -> str:
        """How much it is, and of each request the last words."""
        told = counted(len(self.requests), "request")
        lines = [f"Sent({told}, {counted(len(self.events), 'event')})"]
        lines += [
            f"  {counted(len(one.messages), 'message')} to {one.model}, the last one says {last_words(one)}"
            for one in self.requests
        ]
        return "\n".join(lines)


class _Recorder(Hook):
    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    def on_event(self, event: Event) -> None:
        self._sent.events.append(event)


@contextmanager
def capture(agent: Agent[Any, Any]) -> Iterator[Sent]:
    """Record what the agent sends: ``with capture(agent) as sent: …``, then ``sent.requests[0].tools``.

    Counts for the calls and sessions that are begun inside the block, as ``agent.override``, with which it goes
    together in either order. A request is recorded once, however often it is tried again; those of sub-agents and of
    agents it hands over to are recorded too.

    Args:
        agent: Whose requests are recorded.
    """
    sent = Sent()
    substitutes = Substitutes(hooks=(_Recorder(sent),), on_call=sent.requests.append)
    with Override(agent, substitutes, all_agents=False):
        yield sent
