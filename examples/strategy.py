"""A compaction strategy of your own: it keeps the newest messages and drops the older ones.

    uv run --extra simulators python examples/strategy.py

A simulator stands in for the provider, so it needs no key. For the real one, leave out ``running``, ``base_url`` and
``environment``.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ullage
from ullage.compaction import Candidate, Declined, Proposal, Situation, must_stay
from ullage.events import CompactionCommitted, DroppedMessage
from ullage_simulators import running


@dataclass(frozen=True)
class KeepNewest:
    """Keeps ``count`` messages, and those that must stay."""

    count: int = 4
    name: str = "newest"

    def calls_at_most(self, situation: Situation) -> int:
        """It calls no model."""
        return 0

    def propose(self, situation: Situation, answers: object) -> Proposal:
        """What leaves, or that nothing can."""
        stays = must_stay(situation).keys()
        kept = 0
        dropped: list[DroppedMessage] = []
        for exchange in reversed(situation.exchanges):
            kept += len(exchange.ids)
            if kept > self.count and not stays & set(exchange.ids):
                dropped += [
                    DroppedMessage(id=each, reason="old") for each in exchange.ids
                ]
        if not dropped:
            return Declined("nothing_to_do")
        compaction = situation.compaction
        return Candidate(
            CompactionCommitted(compaction=compaction, dropped=tuple(dropped))
        )


async def converse(agent: ullage.Agent) -> None:
    """Six turns, and a compaction."""
    async with agent.session("cellar") as session:
        for cask in range(6):
            await session.ask(f"Cask {cask} is old. " * 300)
        before = len(await session.messages())
        await session.compact()
        await session.wait()
        print(f"{before} messages, {len(await session.messages())} after the compaction.")


def main() -> None:
    """The strategy is tried first; where it declines, the usual ones follow."""
    with running() as provider, tempfile.TemporaryDirectory() as folder:
        agent = ullage.Agent(
            "anthropic:claude-haiku-4-5",
            strategy=(KeepNewest(), "hybrid"),
            base_url=provider.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "any"},
            config=False,
            store=Path(folder) / "sessions.db",
        )
        asyncio.run(converse(agent))


if __name__ == "__main__":
    main()
