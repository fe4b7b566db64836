"""A session of several processes, one after the other: each goes on where the last one died."""

from __future__ import annotations

from pathlib import Path

from tests.sweeps import orders
from tests.sweeps.forks import Forks
from tests.sweeps.judging import Trace
from tests.sweeps.wires import Wire, exchanges_by_run, messages
from ullage.events import Event
from ullage.store.sqlite.store import SqliteStore
from ullage.turns.standing import AT_REST, stood
from ullage_simulators import Server

NEVER = orders.Kill()

AT_ONCE = ("", "", "")
"""All three messages are sent at the beginning."""


class Runs:
    """Orders the processes of many runs on one wire, each run a session of its own."""

    def __init__(self, forks: Forks, server: Server, wire: Wire, directory: Path) -> None:
        self.forks = forks
        self.server = server
        self.wire = wire
        self.directory = directory

    def order(
        self,
        run: str,
        name: str,
        *,
        kill: orders.Kill = NEVER,
        whens: tuple[str, ...] = AT_ONCE,
        said: tuple[orders.Said, ...] | None = None,
        life: str = "converse",
        more: dict[str, object] | None = None,
        **settings: object,
    ) -> orders.Order:
        directory = self.directory / run
        directory.mkdir(exist_ok=True)
        return orders.Order(
            life=life,
            name=name,
            directory=str(directory),
            url=self.server.url(self.wire.serves),
            model=self.wire.model,
            wire=self.wire.wire,
            said=messages(run, whens) if said is None else said,
            kill=kill,
            settings={
                **({"params": dict(self.wire.params)} if self.wire.params else {}),
                **settings,
            },
            more=more or {},
        )

    async def whole(self, order: orders.Order) -> orders.Report:
        """A process that comes to its own end."""
        assert await self.forks.run(order) == 0, error_of(order)
        report = orders.report_of(order)
        assert report is not None
        return report

    async def warm(self) -> None:
        """One run inside the fork server, so that those who are forked have everything imported."""
        await self.whole(self.order("warm", "first", life="warm converse"))

    async def trace(self, run: str, first: orders.Order, second: orders.Order) -> Trace:
        """What is known of a run after its second process."""
        report = orders.report_of(second)
        assert report is not None
        return Trace(
            shown=orders.shown_by(first),
            found=report,
            ledger=await ledger_of(second.database),
            effects=orders.effects_in(Path(second.directory)),
            exchanges=exchanges_by_run(self.server).get(run, []),
            sent=[said.id for said in second.said],
        )


def error_of(order: orders.Order) -> str:
    """Why a process failed."""
    file = order.file("error")
    return file.read_text() if file.exists() else "(it said nothing)"


async def ledger_of(database: Path) -> list[Event]:
    """The events of the session, which stands as they say."""
    store = SqliteStore(database)
    try:
        events = await store.read(orders.SESSION)
        assert (await store.about(orders.SESSION)).standing == stood(AT_REST, events)
        return events
    finally:
        await store.close()
