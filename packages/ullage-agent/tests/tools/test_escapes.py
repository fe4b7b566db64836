"""No command gets out of its sandbox, but where ATTACKS.md says so. Half of the attempts run in each run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest

from tests.tools.escapes import (
    ATTEMPTS,
    NETWORK,
    PYTHON,
    SOCKETS,
    Attempt,
    outcome,
    world_in,
)
from ullage_agent.tools.processes import ProcessEnd, ProcessSpec, run_command
from ullage_agent.tools.sandbox import CommandLimits, Sandbox
from ullage_agent.tools.tool import ToolError


def named(attempt: Attempt) -> str:
    return attempt.name


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=named)
async def test_an_attempt_gets_out_only_where_that_is_known(attempt: Attempt) -> None:
    tried = await outcome(attempt)
    assert tried.escaped is attempt.gets_out, tried


@pytest.mark.parametrize("attempt", SOCKETS, ids=named)
async def test_an_open_network_opens_no_other_sockets(attempt: Attempt) -> None:
    tried = await outcome(attempt, "workspace+network")
    assert not tried.escaped, tried


@pytest.mark.parametrize("attempt", NETWORK, ids=named)
async def test_an_open_network_is_open(attempt: Attempt) -> None:
    tried = await outcome(attempt, "workspace+network")
    assert tried.escaped, tried


async def test_without_a_sandbox_the_attempts_are_what_they_say(tmp_path: Path) -> None:
    """An attempt that could not succeed anywhere would prove nothing."""
    names = {
        "read a key in the home directory",
        "write beside the workspace",
        "read the environment of another process",
        "read memory by process_vm_readv",
        "trace a process",
        "take a descriptor of another process",
        "send a signal to a process outside",
        "limit a process outside",
        "a socket file outside, as Docker's",
        "one by the end of a socket pair",
        "an abstract socket",
        "UDP, as name resolution uses it",
    }
    attempts = [attempt for attempt in ATTEMPTS if attempt.name in names]
    assert len(attempts) == len(names)
    for attempt in attempts:
        assert (await outcome(attempt, "off")).escaped, attempt.name


async def test_sixty_daemons_end_with_their_command(tmp_path: Path) -> None:
    await all_end(Sandbox(), tmp_path, "91781")


async def test_sixty_daemons_end_with_it_without_a_sandbox(tmp_path: Path) -> None:
    await all_end(Sandbox(mode="off"), tmp_path, "91782")


async def all_end(sandbox: Sandbox, root: Path, seconds: str) -> None:
    forms = (
        f"setsid sleep {seconds}",
        f"(setsid nohup sleep {seconds} &)",
        f"env -i setsid sleep {seconds}",
    )
    line = f"for each in $(seq 20); do {' & '.join(forms)} & done; wait -n; sleep 0.3; echo begun"
    _, printed = await run(sandbox, root, line, timeout_s=60)
    assert "begun" in printed
    assert not sleeping(seconds)


def sleeping(seconds: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (
                Path(f"/proc/{name}/cmdline").read_bytes()
                == f"sleep\0{seconds}\0".encode()
            ):
                found.append(int(name))
        except OSError:
            continue
    return found


async def run(
    sandbox: Sandbox, root: Path, line: str, *, timeout_s: float = 60.0
) -> tuple[ProcessEnd, str]:
    printed = bytearray()
    command = sandbox.confined(
        ProcessSpec(("/bin/bash", "-c", line), root, {"PATH": "/usr/bin:/bin"})
    )
    ended = await run_command(command, printed.extend, timeout_s=timeout_s)
    return ended, printed.decode("utf-8", "replace")


def limited(**limits: int) -> Sandbox:
    return Sandbox(limits=CommandLimits(**limits))


async def test_a_fork_bomb_is_ended(tmp_path: Path) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; sleep 300"
    ended, _ = await run(limited(processes=100), tmp_path, bomb, timeout_s=300)
    assert ended.exceeded == "processes"
    assert not ended.timed_out


async def test_one_process_can_not_take_all_memory(tmp_path: Path) -> None:
    line = "head -c 900000000 /dev/zero | tail -c 900000000 > /dev/null; echo ${PIPESTATUS[1]}"
    ended, printed = await run(limited(memory_bytes=100_000_000), tmp_path, line)
    assert ended.exceeded == "memory" or printed.splitlines()[-1] != "0"


async def test_many_processes_keep_no_command_from_its_end(tmp_path: Path) -> None:
    """The launcher has to end daemons without environment within ten seconds."""
    (tmp_path / "fork.py").write_text(
        "import os, time\nfor _ in range(900):\n    if os.fork() == 0:\n"
        "        os.setsid()\n        time.sleep(91783)\nprint('begun', flush=True)\ntime.sleep(91783)\n"
    )
    sandbox = Sandbox(readable=(Path(sys.base_prefix),))
    line = f"env -i {PYTHON} -I -S {tmp_path}/fork.py"
    printed = bytearray()
    spec = ProcessSpec(("/bin/sh", "-c", line), tmp_path, {"PATH": "/usr/bin:/bin"})
    command = asyncio.create_task(
        run_command(sandbox.confined(spec), printed.extend, timeout_s=300)
    )
    while b"begun" not in printed and not command.done():
        await asyncio.sleep(0.05)
    command.cancel()
    with pytest.raises(asyncio.CancelledError):
        await command
    assert not running_of(f"{tmp_path}/fork.py")


def running_of(argument: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if argument.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                found.append(int(name))
    return found


async def test_temporary_directories_together_have_a_limit(tmp_path: Path) -> None:
    line = "for each in /tmp /var/tmp /dev/shm $HOME /dev /; do head -c 30000000 /dev/zero > $each/large; done; "
    count = "cat /tmp/large /dev/shm/large $HOME/large | wc -c"
    _, printed = await run(limited(temp_bytes=20_000_000), tmp_path, line + count)
    assert (
        0 < int(printed.splitlines()[-1]) <= 20_000_000 + 3 * 4_096
    )  # of each the last page


async def test_a_file_has_a_largest_size(tmp_path: Path) -> None:
    ended, _ = await run(
        limited(file_bytes=1_000_000), tmp_path, "head -c 9000000 /dev/zero > large"
    )
    assert ended.code != 0
    assert (tmp_path / "large").stat().st_size <= 1_000_000


@pytest.mark.parametrize("linked", ["nested/.git", "nested"])
async def test_a_link_put_in_the_place_of_a_protected_path_shows_nothing(
    linked: str, tmp_path: Path
) -> None:
    """What is mounted is what was opened, although another command exchanges the paths meanwhile."""
    with world_in(tmp_path) as world:
        sandbox = world.sandbox()
        place, target = world.root / linked, world.home / ".ssh"
        over = asyncio.Event()

        async def exchange() -> None:
            spare = world.root / "spare"
            while not over.is_set():
                place.rename(spare)
                with contextlib.suppress(
                    FileExistsError
                ):  # a sandbox that starts now holds the missing place itself
                    place.symlink_to(target)
                await asyncio.sleep(0.001)
                if place.is_symlink() or place.is_file():
                    place.unlink()
                spare.rename(place)
                await asyncio.sleep(0.001)

        exchanging = asyncio.ensure_future(exchange())
        for _ in range(15):
            assert not exchanging.done()
            try:
                _, printed = await run(
                    sandbox,
                    world.root,
                    f"cat {linked}/id_ed25519 {linked}/.git/id_ed25519",
                )
            except (OSError, ToolError):
                continue  # the exchange was noticed, and nothing was run
            assert "canary" not in printed
        over.set()
        await exchanging


async def test_a_command_ends_when_its_program_is_killed(tmp_path: Path) -> None:
    await dies_with_its_program("Sandbox()", tmp_path, "91783")


async def test_a_command_without_a_sandbox_ends_when_its_program_is_killed(
    tmp_path: Path,
) -> None:
    await dies_with_its_program("Sandbox(mode='off')", tmp_path, "91784")


async def dies_with_its_program(sandbox: str, root: Path, seconds: str) -> None:
    program = (
        "import asyncio, pathlib\n"
        "from ullage_agent.tools.sandbox import Sandbox\n"
        "from ullage_agent.tools.shell import shell\n"
        f"line = 'setsid sleep {seconds} & env -i setsid sleep {seconds} & sleep {seconds}'\n"
        f"asyncio.run(shell(pathlib.Path({str(root)!r}), line, 60, sandbox={sandbox}))\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    while len(sleeping(seconds)) < 3:
        await asyncio.sleep(0.02)
    process.kill()
    await process.wait()
    while sleeping(seconds):
        await asyncio.sleep(0.02)
