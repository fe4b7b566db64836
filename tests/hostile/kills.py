"""Kills at random moments, over HTTP and in the library, with hostile traffic in between.

    python -m tests.hostile.kills [--http 200] [--library 200] [--seed 1]

A server or a program is killed with SIGKILL and started again on the same store. Every message that was acknowledged
must be in its session once and in order, every call must have its result, and a strict provider must take every
request.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx2
import msgspec

from tests.hostile.behaviours import BY_NAME, ROLES
from tests.hostile.experiment import ledger_problems
from tests.hostile.http_clients import RAW_REQUESTS
from tests.hostile.provider import HostileProvider, hostile_provider
from tests.hostile.session_files import SESSION_FILES, Lure, lines_of
from tests.hostile.speech import WIRES as HOSTILE_WIRES
from tests.server.served import Process, script
from tests.sweeps.forks import Forks, fork_server
from tests.sweeps.judging import judge, judge_ledger, judge_queue, judge_turns
from tests.sweeps.orders import Kill
from tests.sweeps.sweep import Runs, error_of
from tests.sweeps.wires import WIRES
from tests.sweeps.wires import script as turn_script
from ullage.events import MessageAdded, Queued, ToolEnded
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import Server, running

SESSIONS = ("red", "green", "blue")
LIVES_S = 2.0
MISBEHAVIOURS = (
    "broken-middle",
    "cut-in-event",
    "reset-in-body",
    "error-in-200",
    "silent-after-text",
    "unoffered-tool",
    "not-utf8",
    "page-502",
    "text-forever",
    "redirect-307",
)
"""What the provider does in every third life."""


class Tally(msgspec.Struct, kw_only=True):
    """What was done and what was found."""

    how: str
    kills: int = 0
    acknowledged: int = 0
    calls: int = 0
    hostile: int = 0
    problems: list[str] = []


class Talker(NamedTuple):
    """Says one thing after the other in a session, and keeps what was acknowledged."""

    session: str
    acknowledged: list[str]

    def talk(self, url: str, life: int) -> None:
        with suppress(httpx2.HTTPError), httpx2.Client(base_url=url, timeout=5) as client:
            client.post("/v1/sessions", json={"id": self.session})
            for number in range(1_000):
                name = f"{self.session}-{life}-{number}"
                text = f"{name}: list the cellar, please."
                sent = client.post(
                    f"/v1/sessions/{self.session}/messages",
                    json={"text": text, "id": name},
                )
                if sent.status_code == 202:
                    self.acknowledged.append(name)
                time.sleep(0.05)


class Disturber:
    """Sends raw requests and hostile session files to a server."""

    def __init__(self, seed: int, lure: Lure) -> None:
        self._random = random.Random(seed)
        self._lure = lure
        self.sent = 0

    def disturb(self, url: str, life: int) -> None:
        host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
        for number in range(1_000):
            data = self._random.choice(RAW_REQUESTS).data
            if number % 4 == 3:
                file = lines_of(self._random.choice(SESSION_FILES[:30]), self._lure)
                head = f"POST /v1/sessions/import?id=evil-{life}-{number} HTTP/1.1\r\nHost: HOST\r\n"
                data = (
                    f"{head}Connection: close\r\nContent-Length: {len(file)}\r\n\r\n".encode()
                    + file
                )
            try:
                with socket.create_connection((host, int(port)), timeout=2) as connection:
                    connection.sendall(data.replace(b"HOST", f"{host}:{port}".encode()))
                    self.sent += 1
                    connection.recv(1000)
            except ConnectionRefusedError:
                return
            except OSError:
                continue
            time.sleep(0.02)


def kill_servers(kills: int, seed: int, directory: Path) -> Tally:
    """Over HTTP."""
    tally = Tally(how="HTTP")
    chance = random.Random(seed)
    store = directory / "sessions.db"
    (directory / "cellar").mkdir()
    marker = directory / "marker"
    talkers = [Talker(name, []) for name in SESSIONS]
    disturber = Disturber(seed, Lure("http://127.0.0.1:1", str(marker)))
    calls = {
        "calls": [{"name": "list", "arguments": {"path": "."}}],
        "when": {"after": "user"},
    }
    scenario = script(
        calls, {"text": "Nothing there. " * 20, "when": {"after": "tool"}}, delay_s=0.004
    )
    with running(scenario) as simulator, provider_thread() as hostile:
        for life in range(kills):
            address = simulator.url("anthropic")
            if life % 3 == 2:
                address = hostile.address(
                    chance.choice(MISBEHAVIOURS), HOSTILE_WIRES[0], f"life-{life}"
                )
            process = Process(
                address, store, "--tools", "list", "--root", str(directory / "cellar")
            )
            threads = [
                threading.Thread(
                    target=talker.talk, args=(process.url, life), daemon=True
                )
                for talker in talkers
            ]
            threads.append(
                threading.Thread(
                    target=disturber.disturb, args=(process.url, life), daemon=True
                )
            )
            for thread in threads:
                thread.start()
            time.sleep(chance.uniform(0.02, LIVES_S))
            process.kill()
            tally.kills += 1
            for thread in threads:
                thread.join(10)
            said = progress("HTTP", tally.kills, kills)
            if said:
                sys.stderr.write(said)
        rest(simulator, store, directory)
        asyncio.run(judge_sessions(store, talkers, tally))
        refused = [each for each in simulator.exchanges if each.rule]
        tally.problems += [
            f"a strict provider refused: {each.rule} {each.said}" for each in refused
        ]
    tally.hostile = disturber.sent
    if marker.exists():
        tally.problems.append("a command of an imported session was run")
    return tally


def progress(how: str, done: int, of: int) -> str:
    return f"  {how}: {done} of {of} kills\n" if done % 25 == 0 else ""


def rest(simulator: Server, store: Path, directory: Path) -> None:
    """A last server, in which every session comes to rest."""
    process = Process(
        simulator.url("anthropic"),
        store,
        "--tools",
        "list",
        "--root",
        str(directory / "cellar"),
    )
    try:
        with process.api() as api:
            for session in SESSIONS:
                if api.get(f"/v1/sessions/{session}").status_code == 404:
                    api.session(session)
                api.say(
                    session, "And the last thing: list the cellar.", id=f"{session}-last"
                )
            for session in SESSIONS:
                api.until(session, "idle")
    finally:
        process.end()


async def judge_sessions(store: Path, talkers: Sequence[Talker], tally: Tally) -> None:
    """Holds every session's ledger against what was acknowledged."""
    kept = SqliteStore(store)
    for session, acknowledged in talkers:
        ledger = await kept.read(session)
        tally.acknowledged += len(acknowledged)
        tally.calls += sum(isinstance(event, ToolEnded) for event in ledger)
        queued = Counter(
            event.message.id for event in ledger if isinstance(event, Queued)
        )
        added = [
            event.message.id
            for event in ledger
            if isinstance(event, MessageAdded) and event.message.id in queued
        ]
        for name in acknowledged:
            if queued[name] != 1:
                tally.problems.append(
                    f"{name} was acknowledged and is queued {queued[name]} times"
                )
            if added.count(name) != 1:
                tally.problems.append(
                    f"{name} was acknowledged and delivered {added.count(name)} times"
                )
        order = [name for name in added if name in set(acknowledged)]
        if order != [name for name in acknowledged if name in set(order)]:
            tally.problems.append(f"{session}: messages were delivered in another order")
        tally.problems += [f"{session}: {problem}" for problem in ledger_problems(ledger)]
    await kept.close()


@contextmanager
def provider_thread() -> Iterator[HostileProvider]:
    """A hostile provider in a thread of its own."""
    started: Future[tuple[HostileProvider, asyncio.AbstractEventLoop, asyncio.Event]] = (
        Future()
    )

    async def live() -> None:
        end = asyncio.Event()
        async with hostile_provider(ROLES) as provider:
            started.set_result((provider, asyncio.get_running_loop(), end))
            await end.wait()

    thread = threading.Thread(
        target=lambda: asyncio.run(live()), name="hostile provider", daemon=True
    )
    thread.start()
    provider, loop, end = started.result(30)
    try:
        yield provider
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(5)


async def kill_programs(kills: int, seed: int, directory: Path) -> Tally:
    """In the library: processes that use it are killed. Every second one is followed by one at a hostile provider."""
    tally = Tally(how="library")
    chance = random.Random(seed)
    at_once = asyncio.Semaphore(2)
    with running(turn_script()) as server, provider_thread() as hostile:
        async with fork_server() as forks:
            runs = [Runs(forks, server, wire, directory) for wire in WIRES[:4]]
            await runs[0].warm()

            async def one(number: int) -> None:
                async with at_once:
                    await kill_program(
                        number, runs[number % 4], chance, hostile, tally, forks
                    )
                said = progress("library", tally.kills, kills)
                if said:
                    sys.stderr.write(said)

            number = 0
            while tally.kills < kills:
                await asyncio.gather(*(one(number + each) for each in range(8)))
                number += 8
    return tally


async def kill_program(
    number: int,
    runs: Runs,
    chance: random.Random,
    hostile: HostileProvider,
    tally: Tally,
    forks: Forks,
) -> None:
    """One session: killed at a random moment, perhaps killed again at a hostile provider, then brought to its end."""
    run = f"{runs.wire.name}-{number}"
    first = runs.order(run, "first", kill=Kill("time", chance.randint(5, 700)))
    statuses = [await forks.run(first)]
    meets_hostile = number % 2 == 1
    if meets_hostile:
        behaviour = BY_NAME[chance.choice(MISBEHAVIOURS)]
        address = hostile.address(behaviour.name, HOSTILE_WIRES[number % 4], run)
        middle = runs.order(
            run,
            "middle",
            kill=Kill("time", chance.randint(50, 900)),
            tries=1,
        )
        statuses.append(await forks.run(msgspec.structs.replace(middle, url=address)))
    second = runs.order(run, "second")
    ended = await forks.run(second)
    tally.kills += statuses.count(-9)
    tally.hostile += meets_hostile
    try:
        assert set(statuses) <= {0, -9}, f"a process failed: {error_of(first)}"
        assert ended == 0, f"the last process failed: {error_of(second)}"
        trace = await runs.trace(run, first, second)
        tally.acknowledged += len(trace.sent)
        tally.calls += sum(isinstance(event, ToolEnded) for event in trace.ledger)
        if meets_hostile:
            judge_ledger(trace.before, trace.ledger)
            if (
                not trace.found.is_paused
            ):  # a turn that the hostile provider failed waits for a person
                judge_turns(trace.ledger)
                judge_queue(trace)
            refused = [exchange.said for exchange in trace.exchanges if exchange.rule]
            assert not refused, f"a strict provider refused: {refused}"
        else:
            judge(trace)
    except AssertionError as problem:
        tally.problems.append(f"{run}: {problem}"[:400])


def run(http: int, library: int, seed: int) -> list[Tally]:
    """Both kinds of kills."""
    with tempfile.TemporaryDirectory(prefix="ullage-kills-") as directory:
        place = Path(directory)
        for name in ("http", "library"):
            (place / name).mkdir()
        return [
            kill_servers(http, seed, place / "http"),
            asyncio.run(kill_programs(library, seed, place / "library")),
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, default=200)
    parser.add_argument("--library", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    tallies = run(given.http, given.library, given.seed)
    for tally in tallies:
        sys.stdout.write(msgspec.json.encode(tally).decode() + "\n")
    return 1 if any(tally.problems for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
