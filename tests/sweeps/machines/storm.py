"""Rounds of ``kill -9`` at random moments under people who use the cluster, and a verdict after each of them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.server.served import MODEL, script
from tests.sweeps.machines.billed import Billed, billed
from tests.sweeps.machines.cluster import Cluster, Kind, cluster
from tests.sweeps.machines.people import FILE, LONG, Person
from tests.sweeps.machines.verdict import judge_session
from ullage.events import CallEnded, CallStarted, Event
from ullage.tasks import background
from ullage_simulators import running
from ullage_simulators.scenario import Scenario

log = logging.getLogger(__name__)

PEOPLE = 8
REST_S = 300.0
"""Seconds in which a round has to come to rest, also on a busy machine."""

STORY = "The cask was filled in spring and by autumn it was opened again. "
DELAY_S = 0.03


def scenario() -> Scenario:
    """Short answers, answers at length, and a file that needs a person's approval."""
    arguments = {"path": "cask.txt", "content": "full"}
    return script(
        {"when": {"contains": LONG, "after": "user"}, "text": STORY * 6},
        {
            "when": {"contains": FILE, "after": "user"},
            "calls": [{"name": "write", "arguments": arguments}],
        },
        {"text": STORY * 2},
        delay_s=DELAY_S,
    )


@dataclass
class Tally:
    """What the rounds came to."""

    kills: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    cancels: int = 0
    approvals: int = 0
    events: int = 0
    resets: int = 0
    breaks: int = 0
    refused: int = 0
    """Writes of drivers that had lost their lease."""
    billed: Billed = field(default_factory=Billed)
    rests: list[float] = field(default_factory=list)
    """For each round: seconds from the last start to the rest of all sessions."""
    unattended: list[float] = field(default_factory=list)
    """For each round: the most of these seconds in which a session with work left had no call of the model."""

    def __str__(self) -> str:
        kills = ", ".join(f"{many} {name}" for name, many in sorted(self.kills.items()))
        rests = sorted(self.rests)
        median = rests[len(rests) // 2]
        unattended = sorted(self.unattended)
        return (
            f"{self.kills.total()} kills ({kills}); {self.messages} messages, {self.cancels} cancels, "
            f"{self.approvals} approvals acknowledged, {self.breaks} requests and streams broken, "
            f"{self.resets} resets; {self.events} events; {self.refused} writes refused by the fence; "
            f"at rest after a median of {median:.1f} s, at most {rests[-1]:.1f} s; "
            f"no session with work left was without a call of the model for more than a median of "
            f"{unattended[len(unattended) // 2]:.1f} s, at most {unattended[-1]:.1f} s; "
            f"{self.billed.again:,} of {self.billed.all:,} tokens billed twice ({self.billed.share:.1%})"
        )


async def storm(machines: Cluster, seed: str, kills: int, tally: Tally) -> None:
    """One round: people use the cluster, ``kills`` parts die and come back, and all is judged at rest."""
    dying = _kill(machines, random.Random(seed), kills, tally)
    await used(machines, dying, seed, tally)


async def used(
    machines: Cluster, meanwhile: Coroutine[Any, Any, None], seed: str, tally: Tally
) -> None:
    """People use the cluster until ``meanwhile`` has ended, and all is judged at rest."""
    people = [
        Person(f"{seed}-{number}", machines.servers, f"{seed} {number}")
        for number in range(PEOPLE)
    ]
    try:
        await asyncio.gather(*(person.begin() for person in people))
        async with background(_all(person.follow() for person in people)):
            over = asyncio.Event()
            living = asyncio.gather(*(person.live(over) for person in people))
            await meanwhile
            log.info("all are back")
            over.set()
            began = time.time()
            async with asyncio.timeout(REST_S):
                await living
            tally.rests.append(time.time() - began)
            names = [person.session for person in people]
            ledgers = await machines.ledgers(names)
            async with asyncio.timeout(REST_S):
                for person in people:
                    await person.until_seen(len(ledgers[person.session]))
    finally:
        for person in people:
            await person.close()
    unattended = [unattended_s(ledger, began) for ledger in ledgers.values()]
    tally.unattended.append(max(unattended))
    for person in people:
        judge_session(person, ledgers[person.session])
        tally.messages += len(person.said)
        tally.cancels += person.cancels
        tally.approvals += len(person.approved)
        tally.resets += person.resets
        tally.breaks += person.breaks
        tally.events += len(ledgers[person.session])
    tally.billed += billed(machines.simulator.exchanges, ledgers)
    tally.refused += await asyncio.to_thread(machines.judge_writers, names)


def unattended_s(ledger: Sequence[Event], since: float) -> float:
    """Seconds from a time to the ledger's last event in which no call of the model was under way."""
    idle, free_from = 0.0, since
    for event in ledger:
        if isinstance(event, CallStarted):
            idle += max(event.at - free_from, 0.0)
        elif isinstance(event, CallEnded):
            free_from = max(event.at, since)
    return idle + max(ledger[-1].at - free_from, 0.0)


async def _all(tasks: Iterator[Any]) -> None:
    await asyncio.gather(*tasks)


async def _kill(machines: Cluster, dice: random.Random, kills: int, tally: Tally) -> None:
    """Kill parts at random moments. Each comes back after a while; meanwhile others may be killed, up to a half."""
    most_away = len(machines.parts) // 2
    coming: dict[str, asyncio.Task[None]] = {}
    for _ in range(kills):
        await asyncio.sleep(dice.uniform(0.1, 2.0))
        while sum(not task.done() for task in coming.values()) >= most_away:
            await asyncio.sleep(0.05)
        for name, task in list(coming.items()):
            if task.done():
                coming.pop(name).result()
        up = [name for name in machines.parts if name not in coming]
        weights = [machines.parts[name].weight for name in up]
        (victim,) = dice.choices(up, weights)
        log.info("killing %s", victim)
        await asyncio.to_thread(machines.parts[victim].kill)
        tally.kills[victim] += 1
        coming[victim] = asyncio.create_task(
            _come_back(machines, victim, dice.uniform(0.0, 1.5))
        )
    await asyncio.gather(*coming.values())


async def _come_back(machines: Cluster, victim: str, pause_s: float) -> None:
    await asyncio.sleep(pause_s)
    while True:
        try:
            await asyncio.to_thread(machines.parts[victim].start)
            log.info("%s is back", victim)
            return
        except AssertionError as problem:
            log.info("%s did not come back: %s", victim, problem)
            # It needs the database, which may be away as well: an operator's supervisor starts it again.
            if "postgres" not in machines.parts:
                raise
            await asyncio.sleep(0.2)


@contextmanager
def in_use(
    kind: Kind, folder: Path, model: str = MODEL, **variables: str
) -> Iterator[Cluster]:
    """A cluster with a model behind it, whose programs have these environment variables too."""
    with (
        running(scenario()) as simulator,
        cluster(kind, simulator, folder, model, **variables) as machines,
    ):
        yield machines


def run(
    kind: Kind,
    folder: Path,
    seed: str,
    rounds: int,
    kills: int,
    *,
    model: str = MODEL,
    **variables: str,
) -> Iterator[Tally]:
    """So many rounds of so many kills; gives the sums after each round."""
    tally = Tally()
    with in_use(kind, folder, model, **variables) as machines:
        for number in range(rounds):
            asyncio.run(storm(machines, f"{seed}{number}", kills, tally))
            yield tally
