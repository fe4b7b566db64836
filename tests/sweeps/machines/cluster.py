"""A cluster whose parts are killed and started again: servers, workers, the engine, the database and its pooler."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from tests.machines import Program, ServerProcess, WorkerProcess
from tests.pooler import pooled
from tests.postgres import PostgresServer, new_server
from tests.restate import new_restate, under
from tests.server.served import MODEL
from tests.sweeps.machines.claims import (
    claims_of,
    claims_of_file,
    judge_claims,
    log_claims,
)
from ullage.events import Event
from ullage.store.places import store_at
from ullage_cluster.cli.local_restate import LOOPBACK, LocalRestate, free_ports
from ullage_simulators.server import Server

Kind = Literal["restate", "lease", "sqlite"]
"""Restate, or leases, over PostgreSQL; or two servers that drive over one SQLite file."""

LEASE_S = 2


class LoggedServer(ServerProcess):
    """A server that logs the leases of its writes to SQLite."""

    module = "tests.sweeps.machines.logged"


ROOT = Path(__file__).parents[3]


class Part(NamedTuple):
    """What can be killed. ``weight`` is how often, beside others."""

    weight: int
    kill: Callable[[], None]
    start: Callable[[], object]


class Cluster:
    """Its parts by name. ``servers`` are the URLs of its servers, which stay the same."""

    def __init__(
        self, kind: Kind, simulator: Server, folder: Path, model: str, **variables: str
    ) -> None:
        self.kind = kind
        self.simulator = simulator
        self._model = model
        self._more = variables
        self.parts: dict[str, Part] = {}
        self.programs: dict[str, Program] = {}
        self.servers: list[str] = []
        self.place = str(folder / "s.db")
        self._provider = simulator.url(model.partition(":")[0])
        self._folder = folder
        self._postgres: PostgresServer | None = None
        self._database = ""
        self.restate: LocalRestate | None = None

    def begin(self, stack: ExitStack) -> None:
        """Start everything. The stack ends it."""
        stack.callback(self._end)
        if self.kind != "sqlite":
            self._begin_postgres(stack)
        dispatch = ["--dispatch", self.kind]
        worker = list(dispatch)
        if self.kind == "restate":
            restate = self.restate = new_restate()
            stack.callback(restate.kill)
            self.parts["restate"] = Part(2, restate.kill, restate.start)
            (port,) = free_ports(1)
            dispatch += ["--restate", restate.ingress]
            worker = [*under(restate, f"{LOOPBACK}:{port}")]
        for number, port in enumerate(free_ports(2)):
            self._begin_server(f"server{number}", port, dispatch)
        if self.kind != "sqlite":
            for number in range(2):
                self._begin_worker(f"worker{number}", worker)

    def _begin_postgres(self, stack: ExitStack) -> None:
        postgres = new_server()
        stack.callback(postgres.remove)
        self._database = postgres.new_database()
        self.place = postgres.url(self._database)
        asyncio.run(self._make_tables())
        log_claims(postgres, self._database)
        self.parts["postgres"] = Part(1, postgres.kill, postgres.start)
        self._postgres = postgres
        pooler = stack.enter_context(pooled(postgres))
        self.place = pooler.url_with_direct(self.place)
        self.parts["pgbouncer"] = Part(1, pooler.kill, pooler.start)

    async def _make_tables(self) -> None:
        store = store_at(self.place)
        try:
            await store.sessions(limit=1)
        finally:
            await store.close()

    def _begin_server(self, name: str, port: int, dispatch: Sequence[str]) -> None:
        options = ["--port", str(port)]
        if self.kind != "sqlite":
            options += ["--no-drive", *dispatch]

        def start() -> None:
            self.programs[name] = (
                ServerProcess if self.kind != "sqlite" else LoggedServer
            )(
                self._provider,
                self.place,
                self._folder,
                *(*options, *self._tools),
                **self._variables(name),
            )

        self._add(name, 3, start)
        self.servers.append(f"http://{LOOPBACK}:{port}")

    def _begin_worker(self, name: str, options: Sequence[str]) -> None:
        def start() -> None:
            self.programs[name] = WorkerProcess(
                self._provider,
                self.place,
                self._folder,
                *(*options, *self._tools),
                **self._variables(name),
            )

        self._add(name, 4, start)

    def _add(self, name: str, weight: int, start: Callable[[], None]) -> None:
        start()
        self.parts[name] = Part(
            weight,
            lambda: self.programs[name].kill(),  # noqa: PLW0108 - the one that runs then
            start,
        )

    @property
    def _tools(self) -> tuple[str, ...]:
        more = "--root", str(self._folder), "--log", "info", "--model", self._model
        return "--tools", "write", *more

    def _variables(self, name: str) -> dict[str, str]:
        named = {"ULLAGE_MACHINE": name, "ULLAGE_LEASE_TTL_S": str(LEASE_S)}
        named |= {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "x"}
        return named | self._more

    def sql(self, statement: str) -> str:
        """What a statement gives in the database of a cluster with PostgreSQL."""
        assert self._postgres is not None
        return self._postgres.sql(statement, self._database)

    def _end(self) -> None:
        for program in self.programs.values():
            program.kill()

    async def ledgers(self, sessions: Sequence[str]) -> dict[str, list[Event]]:
        store = store_at(self.place)
        try:
            return {name: await store.read(name) for name in sessions}
        finally:
            await store.close()

    def judge_writers(self, sessions: Sequence[str]) -> int:
        """Raises ``AssertionError`` if two drivers wrote to one of them; gives how many writes the fence refused.

        On SQLite refused writes are not counted: their transactions are undone, with the log.
        """
        if self._postgres is not None:
            claims = claims_of(self._postgres, self._database)
        else:
            with closing(sqlite3.connect(self.place)) as file:
                claims = claims_of_file(file)
        for name in sessions:
            assert claims[name], f"no write of {name} was logged"
            judge_claims(claims[name])
        return sum(claim.is_refused for name in sessions for claim in claims[name])

    def said(self) -> str:
        """What the programs that run now wrote to standard error, the last of it."""
        lines = []
        for name, program in self.programs.items():
            lines += [f"-- {name}", program.said()[-3_000:]]
        return "\n".join(lines)


@contextmanager
def cluster(
    kind: Kind, simulator: Server, folder: Path, model: str = MODEL, **variables: str
) -> Iterator[Cluster]:
    """A cluster that runs, and is removed afterwards. What its programs said is added to a failure."""
    with ExitStack() as stack:
        made = Cluster(kind, simulator, folder, model, **variables)
        made.begin(stack)
        try:
            yield made
        except BaseException as problem:
            problem.add_note(made.said())
            raise
