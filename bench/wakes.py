"""What a turn costs by the number of workers: PostgreSQL alone calls all of them for it, Restate one.

    uv run python -m bench.wakes [--workers 2,10] [--turns 40] [--dispatch lease|restate]

Each turn is the first one of a session of its own, with a short answer. CPU is of all processes of a kind.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.blips import new_place
from bench.idle import SETTLE_S
from bench.store_postgres import cpu_of, cpu_of_all, cpu_s
from tests.machines import Machines, WorkerProcess, worker
from tests.restate import new_restate, under
from tests.server.served import process, script
from ullage_cluster.cli.local_restate import free_ports
from ullage_simulators import running

SHORT = {"text": "By autumn it was opened again."}

BETWEEN_S = 0.2


def measure(dispatch: str, number: int, turns: int) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = stack.enter_context(running(script(SHORT))).url("anthropic")
        postgres, place = new_place(stack)
        server: tuple[str, ...] = ("--dispatch", dispatch)
        options = server
        restate = None
        if dispatch == "restate":
            (port,) = free_ports(1)
            restate = new_restate()
            stack.callback(restate.kill)
            server = (*server, "--restate", restate.ingress)
            options = under(restate, f"127.0.0.1:{port}")
        begun = process(
            provider,
            folder / "unused",
            "--no-drive",
            *server,
            database=place,
            ULLAGE_MACHINE="server",
            ANTHROPIC_API_KEY="",
        )
        servers = [stack.enter_context(begun)]
        workers: list[WorkerProcess] = []
        for index in range(number):
            machine = {"ULLAGE_MACHINE": f"worker{index}"}
            each = worker(provider, place, folder, *options, **machine)
            workers.append(stack.enter_context(each))
        time.sleep(SETTLE_S)

        def used() -> tuple[float, float, float]:
            engine = restate.process if restate is not None else None
            of_restate = cpu_s(engine.pid) if engine is not None else 0.0
            return cpu_of_all(*workers), cpu_of(postgres), of_restate

        began, before = time.monotonic(), used()
        time.sleep(turns * BETWEEN_S)
        idle = [
            (after - first) / (time.monotonic() - began)
            for after, first in zip(used(), before, strict=True)
        ]
        began, before = time.monotonic(), used()
        names = [f"s{index}" for index in range(turns)]
        with servers[0].api() as api:
            for name in names:
                api.session(name)
                api.say(name, "Tell me.", id=f"m-{name}")
                time.sleep(BETWEEN_S)
        Machines(place, servers, workers).until_rest(names)
        took_s = time.monotonic() - began
        costs = [
            (after - first - rate * took_s) / turns * 1_000
            for after, first, rate in zip(used(), before, idle, strict=True)
        ]
        print(
            f"{dispatch}, {number} workers: a turn costs {costs[0]:.0f} ms of CPU of the workers, {costs[1]:.0f} of "
            f"PostgreSQL, {costs[2]:.0f} of Restate",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", default="2,10")
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--dispatch", choices=("restate", "lease"))
    args = parser.parse_args()
    for number in args.workers.split(","):
        for dispatch in [args.dispatch] if args.dispatch else ["lease", "restate"]:
            measure(dispatch, int(number), args.turns)


if __name__ == "__main__":
    main()
