"""A research agent: asks readers, each with a window of its own, and answers from what they found."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ullage
from ullage_simulators import load, running

HERE = Path(__file__).parent
MODEL = "anthropic:claude-haiku-4-5"
QUESTION = "Where should we plant, and which grape? Name the source of each reason."


@contextmanager
def provider() -> Iterator[dict[str, Any]]:
    """What reaches the model: your key, or else a simulator on this machine that plays script.toml."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        yield {}
        return
    with running(load(HERE / "script.toml")) as simulator:
        key = {**os.environ, "ANTHROPIC_API_KEY": "any"}
        yield {"base_url": simulator.url("anthropic"), "environment": key}


async def main() -> None:
    sources = HERE / "sources"
    names = ", ".join(sorted(path.name for path in sources.iterdir()))
    with provider() as reached, tempfile.TemporaryDirectory() as place:
        shared = {"store": Path(place) / "sessions.db", "config": False, **reached}
        reader = ullage.Agent(
            MODEL,
            tools=["read", "search"],
            root=sources,
            system="You read one source and answer in one sentence that names it.",
            **shared,
        )
        asks_reader = ullage.subagent(
            reader, name="reader", description=f"Reads one source: {names}."
        )
        agent = ullage.Agent(
            MODEL,
            tools=[asks_reader],
            system=f"You answer questions from these sources: {names}. Ask a reader for each, all at once.",
            **shared,
        )
        async with agent.session() as session:
            result = await session.ask(" ".join(sys.argv[1:]) or QUESTION)
            spend = (await session.context()).spend
            print(result.text)
            print(f"\nThe agent's window: {result.reading}")
            for purpose, total in spend.by_purpose.items():
                print(f"{purpose}: {total.calls} calls")


if __name__ == "__main__":
    asyncio.run(main())
