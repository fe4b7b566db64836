import asyncio
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.promises.stage import of_kind
from tests.sweeps.forks import Forks, Process, fork_server
from tests.sweeps.judging import judge_ledger, judge_turns
from tests.sweeps.orders import Kill, Order, Said, effects_in, report_of
from tests.sweeps.sweep import Runs, error_of, ledger_of
from tests.sweeps.wires import WIRES
from ullage.events import (
    CallEnded,
    CallStarted,
    Event,
    MessageAdded,
    Queued,
    QueueLeft,
    ToolEnded,
    ToolStarted,
)
from ullage.messages import ToolCallPart, ToolResultPart
from ullage_simulators import Scenario, running
from ullage_simulators.scenario import read

ROUNDS = 100
ANTHROPIC = WIRES[0]
LINGERS = (Said("task", "Run one: please linger."),)
TTL_S = 1.5


@asynccontextmanager
async def barrier(processes: int) -> AsyncIterator[int]:
    """A port at which each process gets a byte for its own, once all of them have sent one."""
    waiting: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1):
            waiting.append(writer)
            if len(waiting) == processes:
                for each in waiting:
                    each.write(b".")
                waiting.clear()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def test_of_a_hundred_racing_starts_each_turn_has_one_driver_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    counting = [{"name": "count", "arguments": {"what": "bungs"}}]
    scenario = read(
        {
            "answers": [
                {"when": {"contains": "please count", "after": "user"}, "calls": counting}
            ]
        }
    )
    with running(scenario) as server:
        async with fork_server() as forks, barrier(2) as port:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            await runs.warm()
            orders = [
                runs.order(
                    "race", name, life="race", more={"port": port, "rounds": ROUNDS}
                )
                for name in ("a", "b")
            ]
            for order, status in zip(
                orders, await asyncio.gather(*map(forks.run, orders)), strict=True
            ):
                assert status == 0, error_of(order)
        ledger = await ledger_of(orders[0].database)
        exchanges = [
            exchange
            for exchange in server.exchanges
            if exchange.number and "Round" in str(exchange.body)
        ]
    judge_ledger([], ledger)
    judge_turns(ledger)
    sent = {f"{n}-both" for n in range(1, ROUNDS, 2)} | {
        f"{n}-{who}" for n in range(0, ROUNDS, 2) for who in "ab"
    }
    assert sorted(event.message.id for event in of_kind(ledger, Queued)) == sorted(sent)
    left = Counter((event.message_id, event.how) for event in of_kind(ledger, QueueLeft))
    assert left == Counter((name, "delivered") for name in sent)
    calls = [event.call for event in of_kind(ledger, CallStarted)]
    assert [event.call for event in of_kind(ledger, CallEnded)] == calls, (
        "two calls at once"
    )
    assert len(exchanges) == len(calls), (
        "a model call was made that the ledger does not know, or twice"
    )
    assert all(exchange.status == 200 for exchange in exchanges)
    judge_effects(ledger, effects_in(tmp_path / "race"))


def judge_effects(ledger: list[Event], effects: list[str]) -> None:
    """Every call of a tool was started once and ran once."""
    started = Counter(event.call_id for event in of_kind(ledger, ToolStarted))
    asked = [
        part.call_id
        for event in of_kind(ledger, MessageAdded)
        for part in event.message.of_type(ToolCallPart)
    ]
    assert asked
    assert started == Counter(asked)
    assert Counter(line.split()[1] for line in effects) == started


class Stopped:
    """A session whose driver was stopped as by Ctrl-Z in the middle of a tool, and lives on."""

    def __init__(self, runs: Runs, process: Process) -> None:
        self.runs = runs
        self.process = process
        self.order = process.order

    def go_on(self) -> None:
        os.kill(self.process.begun.result(), signal.SIGCONT)

    def held(self) -> tuple[str, int]:
        """Owner and generation of the session's lease."""
        with closing(sqlite3.connect(self.order.database)) as database:
            owner, generation = database.execute(
                "SELECT owner, generation FROM sessions"
            ).fetchone()
            return owner, generation


@asynccontextmanager
async def stopped(forks: Forks, runs: Runs) -> AsyncIterator[Stopped]:
    await runs.warm()
    order = runs.order(
        "one",
        "first",
        kill=Kill("tool linger lasts", 1, does="stop"),
        said=LINGERS,
        lease_ttl_s=TTL_S,
    )
    process = forks.start(order)
    pid = await process.begun
    while True:
        await until(lambda: state_of(pid) == "T")
        with closing(
            sqlite3.connect(order.database, timeout=0, isolation_level=None)
        ) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
                break
            except (
                sqlite3.OperationalError
            ):  # it was stopped while it wrote: whoever does that holds up everybody
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(0.01)
                os.kill(pid, signal.SIGSTOP)
    try:
        yield Stopped(runs, process)
    finally:
        if not process.over.done():
            os.kill(pid, signal.SIGCONT)
            await process.status()


async def until(is_so: object) -> None:
    """Look every few milliseconds; for ever, as the test's own time limit is the only one."""
    assert callable(is_so)
    while not is_so():
        await asyncio.sleep(0.005)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def lingering() -> Scenario:
    return read(
        {
            "answers": [
                {
                    "when": {"contains": "please linger", "after": "user"},
                    "calls": [{"name": "linger"}],
                }
            ]
        }
    )


def judge_taken_over(ledger: list[Event], effects: list[str], taken_at: int) -> None:
    judge_ledger([], ledger)
    judge_turns(ledger)
    assert [event.outcome for event in of_kind(ledger, ToolEnded)] == ["unknown"]
    assert sum(isinstance(event, ToolStarted) for event in ledger) == 1
    assert len(effects) == 1, "the tool ran again"
    results = [
        part
        for event in of_kind(ledger, MessageAdded)
        for part in event.message.of_type(ToolResultPart)
    ]
    assert len(results) == 1
    assert "unknown" in results[0].text, (
        "what the stale driver's tool gave came into the history"
    )
    assert taken_at < len(ledger)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks into /proc"
)


@needs_proc
async def test_a_driver_that_slept_beyond_its_lease_writes_nothing_over_the_one_who_took_it(
    tmp_path: Path,
) -> None:
    with running(lingering()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            async with stopped(forks, runs) as first:
                before = await ledger_of(first.order.database)
                second = runs.order("one", "second", said=LINGERS, lease_ttl_s=TTL_S)
                assert (await runs.whole(second)).reason == "finished"
                after = await ledger_of(first.order.database)
                first.go_on()
                assert await first.process.status() == 0, error_of(first.order)
            ledger = await ledger_of(first.order.database)
        sent = [
            exchange
            for exchange in server.exchanges
            if exchange.number and "Run one" in str(exchange.body)
        ]
    assert ledger == after, "the stale driver wrote"
    judge_taken_over(ledger, effects_in(tmp_path / "one"), len(before))
    assert len(sent) == sum(isinstance(event, CallStarted) for event in ledger)
    assert all(exchange.status == 200 for exchange in sent)
    report = read_report(first.order)
    assert report == ("finished", ""), "the stale driver's own user sees how it ended"


@needs_proc
async def test_a_driver_that_wakes_while_another_one_drives_leaves_it_alone(
    tmp_path: Path,
) -> None:
    answers = [
        {
            "when": {"contains": "please linger", "after": "user"},
            "calls": [{"name": "linger"}],
        },
        {"text": "That may or may not have been done. " * 40},
    ]
    with running(read({"server": {"delay_s": 0.01}, "answers": answers})) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            async with stopped(forks, runs) as first:
                before = await ledger_of(first.order.database)
                held = first.held()
                second = forks.start(
                    runs.order("one", "second", said=LINGERS, lease_ttl_s=TTL_S)
                )
                await until(lambda: first.held() not in (held, ("", held[1])))
                first.go_on()
                assert await first.process.status() == 0, error_of(first.order)
                assert await second.status() == 0, error_of(second.order)
            ledger = await ledger_of(first.order.database)
        sent = [
            exchange
            for exchange in server.exchanges
            if exchange.number and "Run one" in str(exchange.body)
        ]
    judge_taken_over(ledger, effects_in(tmp_path / "one"), len(before))
    assert len(sent) == sum(isinstance(event, CallStarted) for event in ledger)
    assert read_report(first.order) == read_report(second.order) == ("finished", "")


async def test_a_session_whose_driver_was_killed_is_free_at_once_however_long_its_lease_was(
    tmp_path: Path,
) -> None:
    with running(lingering()) as server:
        async with fork_server() as forks:
            runs = Runs(forks, server, ANTHROPIC, tmp_path)
            first = runs.order(
                "one",
                "first",
                kill=Kill("tool linger lasts", 1),
                said=LINGERS,
                lease_ttl_s=3_600,
            )
            assert await forks.run(first) == -9, error_of(first)
            before = await ledger_of(first.database)
            second = runs.order("one", "second", said=LINGERS, lease_ttl_s=3_600)
            assert (await runs.whole(second)).reason == "finished"
        judge_taken_over(
            await ledger_of(first.database), effects_in(tmp_path / "one"), len(before)
        )


def read_report(order: Order) -> tuple[str, str]:
    report = report_of(order)
    assert report is not None
    return report.reason, report.error
