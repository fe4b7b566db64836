"""Compacts a session of the user's own store for another program, without running anything else in it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ullage.cli.mcp_answers import AnswerRules, is_own, place_of_id
from ullage.display.text import quoted
from ullage.errors import CommandRefused
from ullage.events import CompactionCommitted, CompactionRolledBack, Event
from ullage.messages import Request, SystemBlock, Tool
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.config_file import read_configs
from ullage_agent.runtime.layers import Layer
from ullage_agent.runtime.opening import folded
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.tool import AgentTool, BadArguments, Output, ToolContext

NOT_OURS: Final = ("mcp", "tools", "system", "instructions")
"""Settings of files that do not count here: the session keeps what its ledger holds."""

LONGEST_INSTRUCTIONS: Final = 10_000


class LedgerAgent(Agent):
    """An agent whose system prompt and tools are those of the session's ledger, so that nothing of them changes."""

    held: Request

    def _system(self, settings: Settings) -> tuple[SystemBlock, ...]:
        return self.held.system

    def _tools(self, settings: Settings) -> Mapping[str, AgentTool]:
        return {tool.name: _declared(tool) for tool in self.held.tools}


async def compacted(
    rules: AnswerRules, name: str, instructions: str = ""
) -> dict[str, Any]:
    """Compact the session whose id ends so, and say what came of it.

    Raises ``CommandRefused`` for another program's session and for one that is at work, and as the session does.
    """
    if len(instructions) > LONGEST_INSTRUCTIONS:
        raise CommandRefused(
            f"The instructions have {len(instructions):,} characters; the most is {LONGEST_INSTRUCTIONS:,}."
        )
    place = place_of_id(rules, name)
    if not is_own(place):
        raise CommandRefused(
            f"The session {quoted(place.id)} is another program's ({place.format}): compact it there. "
            "`plan_compaction` says what would leave."
        )
    store = SqliteStore(place.path)
    try:
        agent = await _agent_for(store, place.id)
        return await _compact(agent, place.id, instructions)
    finally:
        await store.close()


async def _agent_for(store: SqliteStore, session: str) -> LedgerAgent:
    folds = await folded(store, session)
    about = await store.about(session)
    loop = folds.loop
    if about.held_by or loop.turn or loop.queue:
        raise CommandRefused(
            f"The session {quoted(session)} is at work or waits in the middle of a turn. Compact it in the program "
            "that drives it, or when it is at rest."
        )
    held = folds.meter.request(messages=())
    environment = dict(os.environ)
    agent = LedgerAgent(
        f"{held.provider}:{held.model}",
        store=store,
        config=_files(environment),
        environment=environment,
        yields=True,
    )
    agent.held = held
    return agent


async def _compact(agent: Agent, session: str, instructions: str) -> dict[str, Any]:
    async with agent.session(session, resume=False) as opened:
        before = await opened.context()
        seen = (await opened._look()).ledger.loop.seq
        await opened.compact(instructions)
        await opened.wait()
        after = await opened.context()
        events = [event for event in await opened.history() if event.seq > seen]
    return {
        "session": session,
        "before": before.used.tokens,
        "after": after.used.tokens,
        "outcome": _outcome(events),
    }


def _outcome(events: Sequence[Event]) -> str:
    for event in reversed(events):
        if isinstance(event, CompactionCommitted):
            left = len(event.summarised) + len(event.dropped)
            return f"Compacted ({event.rung}): {left} messages left the view. It can be undone in Ullage."
        if isinstance(event, CompactionRolledBack):
            return f"Nothing was changed: {event.note or event.reason}"
    return "Nothing was changed: there was nothing to take out."


def _files(environment: Mapping[str, str]) -> list[Layer]:
    kept: list[Layer] = []
    for layer in read_configs(Path.cwd(), environment):
        values = {
            key: value for key, value in layer.values.items() if key not in NOT_OURS
        }
        kept.append(replace(layer, values=values))
    return kept


def _declared(tool: Tool) -> AgentTool:
    async def refuse(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        raise BadArguments("Tools are not run here.")

    return AgentTool(declaration=tool, run=refuse)
