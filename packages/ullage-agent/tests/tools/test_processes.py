from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.descriptors import HOLD_MANY
from ullage_agent.tools.processes import (
    MARK,
    ProcessEnd,
    ProcessSpec,
    end_marked,
    marked,
    run_command,
)

IGNORING = "trap '' TERM; "


async def run(
    line: str,
    tmp_path: Path,
    *,
    timeout_s: float = 60.0,
    taken: list[bytes] | None = None,
) -> tuple[ProcessEnd, bytes]:
    printed = [] if taken is None else taken
    ended = await run_command(
        ProcessSpec(("/bin/sh", "-c", line), tmp_path, dict(os.environ)),
        printed.append,
        timeout_s=timeout_s,
    )
    return ended, b"".join(printed)


def pids(tmp_path: Path) -> list[int]:
    return [
        int(line) for file in tmp_path.glob("pid*") for line in file.read_text().split()
    ]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def written(tmp_path: Path, count: int) -> None:
    """Wait until so many processes have said who they are."""
    while len(pids(tmp_path)) < count:
        await asyncio.sleep(0.01)


async def test_both_streams_come_in_the_order_they_were_written(tmp_path: Path) -> None:
    ended, printed = await run("echo one; echo two >&2; echo three; exit 3", tmp_path)
    assert ended == ProcessEnd(3, False)
    assert printed == b"one\ntwo\nthree\n"


async def test_a_command_has_directory_environment_and_no_input(tmp_path: Path) -> None:
    _, printed = await run(f'pwd; cat; test -n "${MARK}" && echo marked', tmp_path)
    assert printed == f"{tmp_path}\nmarked\n".encode()


async def test_a_command_that_can_not_be_started_raises(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="nothing-here"):
        await run_command(
            ProcessSpec(("/nothing-here",), tmp_path, {}), print, timeout_s=60
        )
    assert len(os.listdir("/proc/self/fd")) == before


async def test_what_is_left_in_background_ends_with_the_command(tmp_path: Path) -> None:
    ended, printed = await run("sleep 1000 & echo $! > pid; echo done", tmp_path)
    assert ended == ProcessEnd(0, False)
    assert printed == b"done\n"
    assert not any(map(is_alive, pids(tmp_path)))


TREE = (
    f"{IGNORING} echo $$ > pid1; "
    f"({IGNORING} sh -c 'echo $$ > pid2; sleep 1000; sleep 1000') & "
    "setsid sh -c 'echo $$ > pid3; sleep 1000' & "
    "sleep 1000; sleep 1000"
)
"""Three processes: two that ignore TERM with all they start, one that left the group."""


async def test_a_command_whose_time_is_up_ends_with_its_children(tmp_path: Path) -> None:
    for timeout_s in (2, 10, 50):
        ended, _ = await run(TREE, tmp_path, timeout_s=timeout_s)
        assert ended.timed_out
        if len(pids(tmp_path)) == 3:  # on a busy machine they start late
            break
    assert len(pids(tmp_path)) == 3
    assert not any(map(is_alive, pids(tmp_path)))


async def test_a_cancel_ends_grandchildren_that_ignore_term(tmp_path: Path) -> None:
    task = asyncio.ensure_future(run(TREE, tmp_path))
    await written(tmp_path, 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(map(is_alive, pids(tmp_path)))


async def test_a_second_cancel_kills_at_once(tmp_path: Path) -> None:
    line = f"{IGNORING} echo $$ > pid1; sleep 1000; sleep 1000"
    patient = ProcessSpec(
        ("/bin/sh", "-c", line), tmp_path, dict(os.environ), term_s=1000.0
    )
    task = asyncio.ensure_future(run_command(patient, print, timeout_s=1000.0))
    await written(tmp_path, 1)
    task.cancel()
    await asyncio.sleep(0.05)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    while any(map(is_alive, pids(tmp_path))):
        await asyncio.sleep(0.01)


async def test_a_stopped_process_ends_too(tmp_path: Path) -> None:
    ended, _ = await run(
        "echo $$ > pid1; kill -STOP $$; sleep 1000", tmp_path, timeout_s=3
    )
    assert ended.timed_out
    assert not any(map(is_alive, pids(tmp_path)))


async def test_100_megabytes_are_taken_while_the_loop_goes_on(tmp_path: Path) -> None:
    size = turns = 0

    def take(data: bytes) -> None:
        nonlocal size
        size += len(data)

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    turning = asyncio.ensure_future(turn())
    command = ProcessSpec(
        ("/bin/sh", "-c", "head -c 100000000 /dev/zero"), tmp_path, dict(os.environ)
    )
    await run_command(command, take, timeout_s=300)
    turning.cancel()
    assert size == 100_000_000
    assert turns > 100


async def test_descriptors_are_passed_on(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        command = ProcessSpec(
            (sys.executable, "-c", f"import os; os.write({writing}, b'x')"),
            tmp_path,
            {},
            (writing,),
        )
        await run_command(command, print, timeout_s=60)
        assert os.read(reading, 1) == b"x"
    finally:
        os.close(reading)
        os.close(writing)


async def test_a_group_without_leader_is_known_by_its_mark(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "sleep", "1000", env={MARK: "m1"}, start_new_session=True
    )
    other = await asyncio.create_subprocess_exec(
        "sleep", "1000", env={MARK: "m2"}, start_new_session=True
    )
    while not marked("m1"):
        await asyncio.sleep(0.01)
    await asyncio.to_thread(end_marked, "m1", term_s=60.0)
    assert not marked("m1")
    assert await process.wait() == -15
    assert is_alive(other.pid)
    other.kill()
    await other.wait()


RUN_ECHO = """
import asyncio, os, pathlib
from ullage_agent.tools.processes import ProcessSpec, run_command
command = ProcessSpec(("/bin/echo", "seen"), pathlib.Path.cwd(), dict(os.environ))
printed = []
ended = asyncio.run(run_command(command, printed.append, timeout_s=60))
print(b"".join(printed), ended.code)
"""


def test_a_program_that_holds_more_descriptors_than_select_takes_runs_commands() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HOLD_MANY + RUN_ECHO],
        capture_output=True,
        check=False,
        text=True,
        timeout=120,
    )
    assert ran.stdout == "b'seen\\n' 0\n", ran.stderr
