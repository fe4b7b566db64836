"""Kills a writing process at random moments and looks what is left. Run by test_crash.py as a process of its own.

    python -m tests.store.sqlite.crashing DIRECTORY ROUNDS SEED

Writers are forked, so that a round takes milliseconds; this process has no threads and reads the database itself.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.store.sessions import said, source_code
from ullage.encoding import encode
from ullage.errors import UllageError
from ullage.events import (
    CallEnded,
    CancelAsked,
    DraftPiece,
    Event,
    MessageAdded,
    Queued,
    QueueEdited,
    QueueLeft,
    TurnStarted,
)
from ullage.store.leases import new_owner
from ullage.store.sqlite.drafts import read_drafts
from ullage.store.sqlite.ledger import read
from ullage.store.sqlite.opening import open_for_writing
from ullage.store.sqlite.queue import pending
from ullage.store.sqlite.store import SqliteStore
from ullage.store.sqlite.transaction import session_head
from ullage.store.waiting import edit, withdraw
from ullage_agent.tools.launcher import readable

ROUNDS_A_FILE = 25
BATCH = 3


def main() -> None:
    directory, rounds, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    acknowledged: list[list[Any]] = []
    total = 0
    for number in range(rounds):
        path = directory / f"{number // ROUNDS_A_FILE}.db"
        if number % ROUNDS_A_FILE == 0:
            acknowledged = []
        received = _killed_writer(path, number, chance)
        acknowledged += received
        total += len(received)
        _examine(path, acknowledged)
    sys.stdout.write(json.dumps({"rounds": rounds, "acknowledgements": total}))


def _killed_writer(path: Path, number: int, chance: random.Random) -> list[list[Any]]:
    """What a writer had been told is stored when it was killed."""
    from_writer, to_us = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(from_writer)
        try:
            asyncio.run(_write_until_killed(path, number, to_us, random.Random(number)))
        finally:
            os._exit(1)
    os.close(to_us)
    received = b""
    wanted = chance.choice([0, 0, 1, 2, 5, 10, 30, 60])
    end = time.monotonic() + 60
    while received.count(b"\n") < wanted and time.monotonic() < end:
        if readable([from_writer], 0.1):
            more = os.read(from_writer, 65_536)
            if not more:
                raise AssertionError(f"the writer of round {number} ended by itself")
            received += more
    time.sleep(chance.random() * 0.012)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while more := os.read(from_writer, 65_536):
        received += more
    os.close(from_writer)
    return [
        json.loads(line)
        for line in received.splitlines(keepends=True)
        if line.endswith(b"\n")
    ]


async def _write_until_killed(
    path: Path, number: int, out: int, chance: random.Random
) -> None:
    store = SqliteStore(path)

    def acknowledge(*what: object) -> None:
        os.write(out, json.dumps(what).encode() + b"\n")

    with suppress(UllageError):  # an earlier round made it
        await store.create("s", [TurnStarted(turn="first")])
    # The driver before was killed: its lease must be free at once, however long it was for.
    lease = await store.acquire("s", new_owner(), ttl_s=3_600)

    async def drive() -> None:
        seq, step = (await store.about("s")).seq, 0
        while True:
            step += 1
            name = f"{number}-{step}"
            batch: list[Event] = [
                TurnStarted(turn=f"{name}-{part}") for part in range(BATCH)
            ]
            seq = (
                await store.append(lease, batch, after=seq, durable=chance.random() < 0.3)
            )[-1].seq
            acknowledge("append", name)
            for offset in range(chance.randrange(4)):
                text = source_code(chance, chance.randrange(2_000))
                await store.draft(lease, [DraftPiece(name, offset, "text", "p", text)])
                acknowledge("draft", name, offset, text)
            if chance.random() < 0.7:
                ended: list[Event] = [
                    CallEnded(call=name),
                    MessageAdded(message=said(f"answer-{name}")),
                ]
                seq = (await store.append(lease, ended, after=seq, ends_draft=name))[
                    -1
                ].seq
                acknowledge("ended", name)

    async def deliver() -> None:
        while True:
            for receipt, message, _ in await store.pending("s"):
                if chance.random() < 0.5:
                    gone: list[Event] = [
                        QueueLeft(message_id=receipt.id, how="delivered"),
                        MessageAdded(message=message),
                    ]
                    try:
                        await store.append(lease, gone, after=0, exact=False)
                    except UllageError:
                        continue
                    acknowledge("left", receipt.id)
            await asyncio.sleep(0.001)

    async def send() -> None:
        step = 0
        while True:
            step += 1
            name = f"m-{number}-{step}"
            await store.send("s", said(name), chance.choice(["steer", "follow_up"]))
            acknowledge("sent", name)
            await store.command("s", [CancelAsked()])
            with suppress(UllageError):  # it was delivered in the meantime
                if chance.random() < 0.3:
                    await edit(store, "s", said(name, "edited"))
                    acknowledge("edited", name)
                if chance.random() < 0.3:
                    await withdraw(store, "s", name)
                    acknowledge("left", name)

    await asyncio.gather(drive(), deliver(), send())


def _examine(path: Path, acknowledged: list[list[Any]]) -> None:
    if not path.exists():
        assert not acknowledged, "acknowledged, and there is no file"
        return
    with closing(open_for_writing(path)) as database:
        assert database.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        try:
            where = session_head(database, "s")
        except UllageError:
            assert not acknowledged, "acknowledged, and there is no session"
            return
        events = list(read(database, where, after=0))
        drafts = {
            (piece.call, piece.offset): piece.text
            for row in read_drafts(database, where)
            for piece in row.pieces
        }
        waiting = {
            receipt.id: message for receipt, message, _ in pending(database, where)
        }
    assert [event.seq for event in events] == list(range(1, where.seq + 1)), (
        "a gap in the ledger"
    )
    assert all(encode(event) for event in events)
    _examine_batches(events, drafts, acknowledged)
    _examine_queue(events, waiting, acknowledged)


def _examine_batches(
    events: list[Event], drafts: dict[tuple[str, int], str], acknowledged: list[list[Any]]
) -> None:
    batches: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, TurnStarted) and event.turn != "first":
            batches.setdefault(event.turn.rpartition("-")[0], []).append(event.seq)
    for name, seqs in batches.items():
        assert seqs == list(range(seqs[0], seqs[0] + BATCH)), (
            f"append {name} is half done"
        )
    calls = {event.call for event in events if isinstance(event, CallEnded)}
    answers = {event.message.id for event in events if isinstance(event, MessageAdded)}
    found = {f"answer-{call}" for call in calls}
    assert found == {each for each in answers if each.startswith("answer-")}
    assert not {call for call, _ in drafts} & calls, "a draft outlived its answer"
    for kind, name, *more in acknowledged:
        match kind:
            case "append":
                assert name in batches, f"acknowledged append {name} is lost"
            case "ended":
                assert name in calls, f"acknowledged answer {name} is lost"
            case "draft":
                assert name in calls or drafts.get((name, more[0])) == more[1], (
                    f"acknowledged piece of {name} is lost"
                )
            case _:
                pass


def _examine_queue(
    events: list[Event], waiting: dict[str, Any], acknowledged: list[list[Any]]
) -> None:
    expected: dict[str, Any] = {}
    left: set[str] = set()
    edited: set[str] = set()
    for event in events:
        match event:
            case Queued(message=message):
                expected[message.id] = message
            case QueueEdited(message=message):
                expected[message.id] = message
                edited.add(message.id)
            case QueueLeft(message_id=message_id, how=how):
                del expected[message_id]
                left.add(message_id)
                added = [
                    each
                    for each in events
                    if isinstance(each, MessageAdded) and each.message.id == message_id
                ]
                assert len(added) == (how == "delivered"), (
                    f"{message_id} was {how} and added {len(added)} times"
                )
            case _:
                pass
    assert waiting == expected, "the queue is not what the ledger says"
    for kind, name, *_ in acknowledged:
        if kind == "sent":
            assert name in expected or name in left, (
                f"acknowledged message {name} is lost"
            )
        if kind == "left":
            assert name in left
        if kind == "edited":
            assert name in edited


if __name__ == "__main__":
    main()
