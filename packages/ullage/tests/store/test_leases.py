import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_python
from ullage.errors import SessionBusy
from ullage.store.leases import is_dead, new_owner, process_of, this_process
from ullage.store.places import store_at
from ullage.store.store import SessionStore

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="nothing says when a process began"
)

OWNER_OF_ANOTHER_PROCESS = "from ullage.store.leases import new_owner; print(new_owner())"

RACER = """
import asyncio, json, sys
from ullage.errors import SessionBusy
from ullage.store.leases import new_owner
from ullage.store.places import store_at
async def main():
    store = store_at(sys.argv[1])
    owner = new_owner()
    won = []
    await store.sessions()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(100):
        try:
            won.append((number, (await store.acquire(f"s{number}", owner, ttl_s=600)).generation))
        except SessionBusy:
            pass
    print(json.dumps(won), flush=True)
    sys.stdin.readline()
    await store.close()
asyncio.run(main())
"""


@needs_proc
def test_an_owner_whose_process_was_killed_and_not_waited_for_is_dead() -> None:
    program = OWNER_OF_ANOTHER_PROCESS.replace(
        "print(new_owner())", "print(new_owner(), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=-1, stdout=-1, text=True
    ) as process:
        assert process.stdout is not None
        owner = process.stdout.readline().strip()
        assert not is_dead(owner)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(owner)


@needs_proc
def test_an_owner_whose_number_another_process_has_now_is_dead() -> None:
    machine, pid, start, rest = new_owner().split(":")
    assert is_dead(f"{machine}:{pid}:{int(start) + 1}:{rest}")


def test_an_owner_that_lives_is_elsewhere_or_of_another_form_is_not_dead() -> None:
    machine, _, _, rest = new_owner().split(":")
    elsewhere = "elsewhere-1234abcd:99999999:1:ff"
    others = ["", "driver", "a:b", "a:1:2:3", ":::", elsewhere]
    for owner in (new_owner(), *others, f"{machine}:99999999::{rest}"):
        assert not is_dead(owner), owner


def test_an_owner_names_its_process_if_it_has_one() -> None:
    assert process_of(new_owner()) == this_process() == process_of(new_owner())
    assert process_of("away-12:7::ff") == "away-12:7:"
    for owner in ("", "driver", "a:b", "a:b:c:d", ":::", "a:1:ff"):
        assert process_of(owner) == "", owner


@needs_proc
async def test_the_session_of_a_dead_process_is_taken_at_once(
    store: SessionStore,
) -> None:
    done = run_python("-c", OWNER_OF_ANOTHER_PROCESS, check=True)
    await store.create("s")
    await store.acquire("s", done.stdout.strip(), ttl_s=3_600)
    assert (await store.acquire("s", new_owner(), ttl_s=60)).generation == 2


async def test_of_many_who_ask_at_once_exactly_one_holds(store: SessionStore) -> None:
    await store.create("s")
    asked = (store.acquire("s", new_owner(), ttl_s=60) for _ in range(50))
    given = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, SessionBusy) for each in given) == 49


async def test_of_two_racing_processes_one_holds_each_session(
    processes_place: str,
) -> None:
    store = store_at(processes_place)
    for number in range(100):
        await store.create(f"s{number}")
    command = [sys.executable, "-c", RACER, processes_place]
    racers = [
        subprocess.Popen(command, stdin=-1, stdout=-1, text=True, bufsize=1)
        for _ in range(2)
    ]
    for line in ("ready", "won"):
        said = []
        for racer in racers:
            assert racer.stdout is not None
            said.append(racer.stdout.readline())
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
        assert line == "won" or said == ["ready\n"] * 2
    for racer in racers:
        assert racer.wait() == 0
        assert racer.stdin is not None and racer.stdout is not None
        racer.stdin.close()
        racer.stdout.close()
    first, second = ({session for session, _ in json.loads(each)} for each in said)
    assert first | second == set(range(100))
    assert not first & second
    await store.close()
