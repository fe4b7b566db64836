import asyncio
from pathlib import Path

import pytest

from tests.sweeps.forks import Forks, fork_server
from tests.sweeps.judging import Trace, judge
from tests.sweeps.lives import DEADLY
from tests.sweeps.orders import SESSION, Kill, Order, Report, effects_in, report_of, shown_by
from tests.sweeps.points import IN_SHELL, points
from tests.sweeps.wires import WIRES, Wire, exchanges_by_run, messages, script
from ullage.events import Event
from ullage.simulators import Server, running
from ullage.store.sqlite import SqliteStore

AT_ONCE = 3
WHENS = (
    ("", "", ""),
    ("", "tool started", "tool started"),
    ("", "text streams", "call started"),
)
"""When the three messages are sent: before anything, while tools run, while answers stream."""


class Sweep:
    """Runs the same turn again and again, each time killed somewhere else, and has another process go on."""

    def __init__(self, forks: Forks, server: Server, wire: Wire, directory: Path) -> None:
        self.forks = forks
        self.server = server
        self.wire = wire
        self.directory = directory
        self.killed = 0
        self.problems: list[str] = []
        self._at_once = asyncio.Semaphore(AT_ONCE)

    def order(self, run: str, name: str, *, kill: Kill = Kill(), whens: tuple[str, ...], life: str = "converse") -> Order:
        directory = self.directory / run
        directory.mkdir(exist_ok=True)
        return Order(
            life=life,
            name=name,
            directory=str(directory),
            url=self.server.url(self.wire.serves),
            model=self.wire.model,
            wire=self.wire.wire,
            said=messages(run, whens),
            kill=kill,
            settings={"params": self.wire.params} if self.wire.params else {},
        )

    async def unkilled(self, run: str, whens: tuple[str, ...], life: str = "converse") -> Report:
        """A run to its end."""
        order = self.order(run, "first", whens=whens, life=life)
        assert await self.forks.run(order) == 0, error_of(order)
        report = report_of(order)
        assert report is not None
        assert report.reason == "finished", report
        return report

    async def point(self, number: int, kill: Kill) -> None:
        """One run that dies at a point, and the run that goes on. What is wrong is kept."""
        run = f"{self.wire.name}-{number}"
        whens = WHENS[number % len(WHENS)]
        async with self._at_once:
            first = self.order(run, "first", kill=kill, whens=whens)
            deadly = Path(first.directory) / DEADLY
            if kill == IN_SHELL:
                deadly.touch()
            status = await self.forks.run(first)
            deadly.unlink(missing_ok=True)
            second = self.order(run, "second", whens=("", "", ""))
            went_on = await self.forks.run(second)
        self.killed += status == -9
        try:
            assert status in (-9, 0), f"the first process failed: {error_of(first)}"
            assert went_on == 0, f"the second process failed: {error_of(second)}"
            judge(await self.trace(run, first, second))
        except AssertionError as problem:
            self.problems.append(f"{run} {kill} {whens}: {problem}")

    async def trace(self, run: str, first: Order, second: Order) -> Trace:
        report = report_of(second)
        assert report is not None
        return Trace(
            shown=shown_by(first),
            found=report,
            ledger=await ledger_of(second.database),
            effects=effects_in(Path(second.directory)),
            exchanges=exchanges_by_run(self.server).get(run, []),
            sent=[said.id for said in second.said],
        )


def error_of(order: Order) -> str:
    file = order.file("error")
    return file.read_text() if file.exists() else "(it said nothing)"


async def ledger_of(database: Path) -> list[Event]:
    store = SqliteStore(database)
    try:
        return await store.read(SESSION)
    finally:
        await store.close()




@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_a_process_killed_at_any_point_of_a_turn_loses_nothing_and_repeats_nothing(
    wire: Wire, tmp_path: Path
) -> None:
    with running(script()) as server:
        async with fork_server() as forks:
            sweep = Sweep(forks, server, wire, tmp_path)
            await sweep.unkilled("warm", WHENS[1], life="warm converse")
            begun = asyncio.get_running_loop().time()
            counts = (await sweep.unkilled("whole", WHENS[1])).counts
            lasts_ms = int(1_000 * (asyncio.get_running_loop().time() - begun))
            planned = points(counts, lasts_ms=lasts_ms, wire=WIRES.index(wire), wires=len(WIRES))
            await asyncio.gather(*(sweep.point(number, kill) for number, kill in enumerate(planned)))
    assert not sweep.problems, f"{len(sweep.problems)} of {len(planned)} points:\n" + "\n".join(sweep.problems[:8])
    assert len(planned) >= 60
    assert sweep.killed >= 0.8 * len(planned), "most runs ended before they were to be killed"
