"""A session against the simulator in this process, for tests of what shows it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from ullage.store.store import SessionStore
from ullage_agent.chat.commands import Acting
from ullage_agent.chat.start import environment_for
from ullage_agent.cli.agent_options import LOOKING, own_defaults
from ullage_agent.cli.simulated import Simulated
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.hosting import Host
from ullage_agent.runtime.session import Session
from ullage_simulators import running
from ullage_simulators.scenario import read

MODEL = "anthropic:claude-sonnet-4-6"


class Talk(NamedTuple):
    host: Host
    store: SessionStore
    session: Session
    acting: Acting
    environment: dict[str, str]


@contextlib.asynccontextmanager
async def talking(
    place: Path,
    *answers: dict[str, Any],
    delay_s: float = 0,
    session: str = "test",
    **settings: object,
) -> AsyncIterator[Talk]:
    """A session with a model that gives these answers; it is closed at once when the block ends.

    ``settings`` are the session's own, but for the tools, which only the program that starts it can give.
    """
    given: dict[str, Any] = {
        "root": place,
        **({"tools": settings.pop("tools")} if "tools" in settings else {}),
    }
    with running(
        read({"server": {"delay_s": delay_s}, "answers": list(answers)})
    ) as server:
        simulator = Simulated(
            MODEL,
            {
                "ANTHROPIC_API_KEY": "simulated",
                "ANTHROPIC_BASE_URL": server.url("anthropic"),
            },
        )
        environment = environment_for({}, simulator)
        agent = Agent(
            environment=environment,
            store=place / "sessions.db",
            config=(own_defaults(tools=LOOKING.split(",")),),
            **given,
        )
        shared = await agent._enter()
        try:
            async with Host(agent) as host:
                opened = await host.begin(session, {"model": MODEL, **settings})
                yield Talk(
                    host,
                    shared.store,
                    opened,
                    Acting(shared.store, opened, environment),
                    environment,
                )
        finally:
            await agent._leave()
