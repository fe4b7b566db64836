"""What workers without work cost PostgreSQL, by their number: all look for sessions whose driver died.

    uv run python -m bench.idle [--workers 2,10,30] [--seconds 20]

The workers are hosts in one process, each with a store and connections of its own, as in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from contextlib import AsyncExitStack, ExitStack

from bench.blips import new_place
from bench.store_postgres import cpu_of, cpu_s
from tests.postgres import PostgresServer
from ullage import Agent
from ullage_agent.runtime.dispatch import Embedded
from ullage_agent.runtime.hosting import Host
from ullage_cluster.postgres.calls import PostgresCalls
from ullage_cluster.postgres.store import PostgresStore

SETTLE_S = 5.0


async def measure(
    postgres: PostgresServer, place: str, number: int, seconds: float
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(number):
            store = PostgresStore(place)
            stack.push_async_callback(store.close)
            agent = Agent("anthropic:claude-haiku-4-5", store=store)
            dispatch = Embedded(calls=PostgresCalls(place))
            await stack.enter_async_context(Host(agent, attends=True, dispatch=dispatch))
        await asyncio.sleep(SETTLE_S)
        began, own, other = time.monotonic(), cpu_s(os.getpid()), cpu_of(postgres)
        await asyncio.sleep(seconds)
        took_s = time.monotonic() - began
        used = (cpu_of(postgres) - other) / took_s * 100
        of_each = (cpu_s(os.getpid()) - own) / took_s / number * 100
        print(
            f"{number} workers: PostgreSQL {used:.2f} % of a core, a worker {of_each:.2f} %",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", default="2,10,30")
    parser.add_argument("--seconds", type=float, default=20.0)
    args = parser.parse_args()
    for number in args.workers.split(","):
        with ExitStack() as stack:
            postgres, place = new_place(stack)
            asyncio.run(measure(postgres, place, int(number), args.seconds))


if __name__ == "__main__":
    main()
