"""What workers without work cost PostgreSQL, by their number: all look for sessions whose driver died.

    uv run python -m bench.idle [--workers 2,10,30] [--seconds 20] [--streams 0]

With `--streams` so many sessions stream meanwhile, so that the workers also look whether their drivers live.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.blips import LEASE, LONG, new_place
from bench.store_postgres import cpu_of, cpu_of_all
from tests.machines import Machines, WorkerProcess, worker
from tests.server.served import process, script
from ullage_simulators import running

SETTLE_S = 5.0


def measure(number: int, seconds: float, streams: int) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        simulator = running(script(LONG, delay_s=1.5))
        provider = stack.enter_context(simulator).url("anthropic")
        postgres, place = new_place(stack)
        workers: list[WorkerProcess] = []
        for index in range(number):
            machine = {"ULLAGE_MACHINE": f"worker{index}"}
            begun = worker(provider, place, folder, *LEASE, **machine)
            workers.append(stack.enter_context(begun))
        if streams:
            _begin(stack, provider, place, folder, workers, streams)
        time.sleep(SETTLE_S)
        pids = [each.process.pid for each in workers]
        before, workers_before = cpu_of(postgres), cpu_of_all(*workers)
        time.sleep(seconds)
        used = (cpu_of(postgres) - before) / seconds
        of_workers = (cpu_of_all(*workers) - workers_before) / seconds / len(pids)
        print(
            f"{number} workers, {streams} streams: PostgreSQL {used * 100:.2f} % of a core, "
            f"a worker {of_workers * 100:.2f} %",
            flush=True,
        )
        for each in workers:
            each.kill()  # else they wait for the end of the answers


def _begin(
    stack: ExitStack,
    provider: str,
    place: str,
    folder: Path,
    workers: Sequence[WorkerProcess],
    streams: int,
) -> None:
    server = process(
        provider,
        folder / "unused",
        "--no-drive",
        *LEASE,
        database=place,
        ULLAGE_MACHINE="server",
        ANTHROPIC_API_KEY="",
    )
    cluster = Machines(place, [stack.enter_context(server)], list(workers))
    names = [f"s{number}" for number in range(streams)]
    with cluster.servers[0].api() as api:
        for name in names:
            api.session(name)
            api.say(name, "Tell me.", id=f"m-{name}")
    cluster.until_called(names)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", default="2,10,30")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--streams", type=int, default=0)
    args = parser.parse_args()
    for number in args.workers.split(","):
        measure(int(number), args.seconds, args.streams)


if __name__ == "__main__":
    main()
