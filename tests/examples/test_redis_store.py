"""The store of one's own in examples/, over a real Redis: its promises, and drivers that are killed."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.house.pages import ROOT
from tests.processes import run_python
from tests.programs import needed

EXAMPLE = ROOT / "examples" / "redis_store.py"

LIVES = 20

PROGRAM = """
import asyncio, sys
sys.path.insert(0, {folder!r})
from redis_store import RedisStore
import ullage
from ullage.events import MessageAdded
from ullage.testing import FunctionModel, tool_call

url, life = sys.argv[1:]

def work() -> str:
    "Work."
    return "worked"

def answer(request):
    return "Done." if request.messages[-1].role == "tool" else tool_call("work")

async def main():
    model = FunctionModel(answer, pause_s=0.01)
    store = RedisStore(url)
    agent = ullage.Agent(model, tools=[work], store=store, config=False, lease_ttl_s=1)
    async with agent.session("s") as session:
        number = 0
        while life != "last":
            receipt = await session.send("Work.", id=f"m{{life}}-{{number}}", kind="follow_up")
            print(receipt.id, flush=True)
            number += 1
            await asyncio.sleep(0.05)
        await session.wait()
        events = [each async for each in session.events(after=0, until_rest=True)]
    kept = [each for each in events if isinstance(each, MessageAdded)]
    print(len(events), events[-1].seq)
    print(*(each.message.id for each in kept if each.message.role == "user"))
    print(sum(each.message.text == "Done." for each in kept))
    await store.close()

asyncio.run(main())
"""


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A server that has what it acknowledges on the disk; gives its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(tmp_path)]
    lasting = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    command = [needed("redis-server"), *options, *lasting]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            while server.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.02)
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_the_example_keeps_all_promises(redis: str) -> None:
    done = run_python(EXAMPLE, redis)
    assert done.stdout.endswith("keeps all promises of ullage.Store.\n"), done.stderr
    assert len(EXAMPLE.read_text().splitlines()) <= 120


def test_what_was_acknowledged_outlives_drivers_that_are_killed(redis: str) -> None:
    program = PROGRAM.format(folder=str(EXAMPLE.parent))
    chance = random.Random(34)
    acknowledged: list[str] = []
    for life in range(LIVES):
        command = [sys.executable, "-c", program, redis, str(life)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            acknowledged.append(driver.stdout.readline().strip())
            time.sleep(chance.uniform(0.0, 0.5))
            driver.kill()
            acknowledged += driver.stdout.read().split()
    assert len(acknowledged) >= LIVES
    last = run_python("-c", program, redis, "last", check=True).stdout.splitlines()
    count, newest = last[0].split()
    assert count == newest
    delivered = last[1].split()
    assert len(delivered) == len(set(delivered)), "a message was delivered twice"
    assert set(acknowledged) <= set(delivered), "an acknowledged message is lost"
    assert int(last[2]) >= 1
