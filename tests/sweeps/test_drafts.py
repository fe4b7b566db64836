"""An answer whose bytes stop coming at one place after the other, and the process killed while it waits for more."""

import asyncio
import os
import signal
import sqlite3
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from tests.promises.stage import of_kind
from tests.sweeps.forks import Process, fork_server
from tests.sweeps.judging import judge, texts_of
from tests.sweeps.points import IS_THOROUGH
from tests.sweeps.sweep import Runs, error_of
from tests.sweeps.wires import EASY, STORY, THOUGHT, WIRES, Wire, script
from ullage.events import MessageAdded
from ullage.messages import TextPart
from ullage_simulators import Server, running

OFFSETS = (
    range(150, 16_000, 150)
    if IS_THOROUGH
    else (400, 900, 1_600, 2_500, 3_600, 5_000, 7_000, 9_500, 12_500)
)
"""Bytes of the answer's body. Its stream is 3,000 to 16,000 bytes long, by the wire, with the reasoning first."""

STREAMING = 2
"""Which model call is cut: the first is an answer with three calls, the second the story."""


WHOLE = (
    STORY,
    THOUGHT,
    EASY,
    "All three at once.",
    '{"what": "bungs"}',
    '{"what":"bungs"}',
)
"""All that the model says until the cut."""


LOOK_S = 0.3
"""What came is stored where nothing more has been for so long."""

LOOKS = 20
"""Some answers stop before their first text, of which nothing is ever stored."""


async def until_stored(database: Path, process: Process) -> None:
    """Wait until what came of the answer is stored."""
    before = 0
    for _ in range(LOOKS):
        await asyncio.sleep(LOOK_S)
        now = stored_bytes(database)
        if process.over.done() or 0 < now == before:
            return
        before = now


def stored_bytes(database: Path) -> int:
    with closing(sqlite3.connect(database)) as file:
        (found,) = file.execute("SELECT sum(length(body)) FROM drafts").fetchone()
    return found or 0


async def killed_at(call: int, process: Process, server: Server) -> int:
    """The status of a process that is killed while it waits for the rest of this call's answer, if it has to wait."""
    while (
        sum(each.number > 0 for each in server.exchanges) < call
        and not process.over.done()
    ):
        await asyncio.sleep(0.02)
    await until_stored(process.order.database, process)
    if not process.over.done():
        with suppress(ProcessLookupError):  # it has ended by itself at this moment
            os.kill(await process.begun, signal.SIGKILL)
    return await process.status()


@pytest.mark.parametrize("call", [1, STREAMING])
@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
async def test_what_had_streamed_at_a_kill_is_the_answer_that_stays_and_the_model_is_told_that_it_was_cut(
    wire: Wire, call: int, tmp_path: Path
) -> None:
    problems: list[str] = []
    lengths: set[int] = set()
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                running(
                    script(0.0, faults=[{"kind": "hang", "request": call, "at": offset}])
                )
            )
            for offset in OFFSETS
        ]
        async with fork_server() as forks:
            with running(script()) as server:
                await Runs(forks, server, wire, tmp_path).warm()
            at_once = asyncio.Semaphore(3)

            async def cut(number: int) -> None:
                runs = Runs(forks, servers[number], wire, tmp_path)
                run = f"cut-{number}"
                first, second = runs.order(run, "first"), runs.order(run, "second")
                async with at_once:
                    statuses = [
                        await killed_at(call, forks.start(first), servers[number]),
                        await forks.run(second),
                    ]
                try:
                    assert statuses[0] in (-9, 0), error_of(first)
                    assert statuses[1] == 0, error_of(second)
                    trace = await runs.trace(run, first, second)
                    judge(trace)
                    cut = [message for message in trace.messages() if message.interrupted]
                    stored = texts_of(trace.found.drafts)
                    lengths.add(sum(map(len, stored.values())))
                    for text in stored.values():
                        assert any(whole.startswith(text) for whole in WHOLE), text
                    assert len(cut) == bool(stored)
                    later = [
                        event.message for event in of_kind(trace.ledger, MessageAdded)
                    ]
                    assert any(
                        STORY in part.text
                        for message in later
                        for part in message.of_type(TextPart)
                    )
                except AssertionError as problem:
                    problems.append(f"cut at {OFFSETS[number]}: {problem}")

            await asyncio.gather(*map(cut, range(len(OFFSETS))))
    assert not problems, "\n".join(problems[:6])
    assert len(lengths) >= 4, f"all were cut at the same place: {lengths}"
