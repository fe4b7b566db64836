import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.sweeps.forks import fork_server
from tests.sweeps.judging import judge, what_happened
from tests.sweeps.lives import DEADLY
from tests.sweeps.orders import Kill
from tests.sweeps.points import IN_SHELL, points
from tests.sweeps.sweep import AT_ONCE, Runs, error_of
from tests.sweeps.wires import WIRES, Wire, script
from ullage_simulators import running

PROCESSES = 3
WHENS = (
    AT_ONCE,
    ("", "tool started", "tool started"),
    ("", "text streams", "call started"),
)
"""When the three messages are sent: before anything, while tools run, while answers stream."""


class Sweep:
    """The same turn again and again, each time killed somewhere else, and another process that goes on."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.problems: list[str] = []
        self.happened: Counter[str] = Counter()
        self._at_once = asyncio.Semaphore(PROCESSES)

    async def point(self, number: int, kill: Kill) -> None:
        """One run that dies at a point, and the run that goes on. What is wrong is kept."""
        run = f"{self.runs.wire.name}-{number}"
        first = self.runs.order(run, "first", kill=kill, whens=WHENS[number % len(WHENS)])
        second = self.runs.order(run, "second")
        async with self._at_once:
            deadly = Path(first.directory) / DEADLY
            if kill == IN_SHELL:
                deadly.touch()
            status = await self.runs.forks.run(first)
            deadly.unlink(missing_ok=True)
            went_on = await self.runs.forks.run(second)
        try:
            assert status in (-9, 0), f"the first process failed: {error_of(first)}"
            assert went_on == 0, f"the second process failed: {error_of(second)}"
            trace = await self.runs.trace(run, first, second)
            judge(trace)
        except AssertionError as problem:
            self.problems.append(f"{run} {kill}: {problem}")
        else:
            self.happened += what_happened(trace)
            self.happened["killed"] += status == -9


async def least(runs: Runs) -> tuple[Counter[str], int]:
    """How often runs that nobody kills reach each kind of point at least, and their shortest time.

    One that a busy machine holds up writes and waits more often than most others.
    """
    clock = asyncio.get_running_loop().time
    counts: list[Counter[str]] = []
    lasted_ms: list[int] = []
    for number in range(3):
        begun = clock()
        order = runs.order(f"whole-{number}", "first", whens=WHENS[1])
        counts.append(Counter((await runs.whole(order)).counts))
        lasted_ms.append(int(1_000 * (clock() - begun)))
    return counts[0] & counts[1] & counts[2], min(lasted_ms)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_a_process_killed_at_any_point_of_a_turn_loses_nothing_and_repeats_nothing(
    wire: Wire, tmp_path: Path
) -> None:
    with running(script()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, wire, tmp_path)
            await runs.warm()
            counts, lasts_ms = await least(runs)
            planned = points(
                counts, lasts_ms=lasts_ms, wire=WIRES.index(wire), wires=len(WIRES)
            )
            sweep = Sweep(runs)
            await asyncio.gather(
                *(sweep.point(number, kill) for number, kill in enumerate(planned))
            )
    assert not sweep.problems, (
        f"{len(sweep.problems)} of {len(planned)} points:\n"
        + "\n".join(sweep.problems[:8])
    )
    assert len(planned) >= 60
    assert sweep.happened["killed"] >= 0.8 * len(planned), (
        "most runs ended before they were to be killed"
    )
    for kind in (
        "answer cut",
        "call unknown",
        "call run again",
        "call not started",
        "result kept",
        "nothing stored",
    ):
        assert sweep.happened[kind], f"no point led to this: {kind}; {sweep.happened}"
