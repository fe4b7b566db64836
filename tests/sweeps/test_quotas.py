"""Two servers over one store heed one quota: `ullage quota` sets it, and what goes beyond it are calls under way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from ullage_simulators import running

from tests.postgres import database
from tests.server.served import patiently, process, script
from ullage.events import CallEnded
from ullage.store.places import store_at

SESSIONS = tuple(f"s{number}" for number in range(8))


def quota(store: str, *words: str) -> str:
    """What `ullage quota` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "ullage", "quota", *words, "--store", store],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def sizes_of_calls(place: str) -> list[int]:
    """The tokens of every model call of the sessions."""
    store = store_at(place)
    sizes = []
    try:
        for session in SESSIONS:
            for event in await store.read(session):
                if isinstance(event, CallEnded) and event.usage is not None:
                    sizes.append((event.usage.input or 0) + (event.usage.output or 0))
    finally:
        await store.close()
    return sizes


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_servers_stop_at_one_quota_and_finish_after_a_raise(
    kind: str, tmp_path: Path
) -> None:
    looks = {"calls": [{"name": "list", "arguments": {"path": "."}}]}
    steps = [{**looks, "when": {"step": step}} for step in range(1, 5)]
    story = script(*steps, {"text": "Done."}, delay_s=0.002)
    with running(story) as simulator, ExitStack() as stack:
        url = ""
        place = str(tmp_path / "s.db")
        if kind == "postgres":
            place = url = stack.enter_context(database())
        said = quota(place, "set", "default", "--tokens", "3000", "--sessions", "8")
        assert "0 of 8 sessions, 0 of 3,000 tokens" in said
        servers = [
            stack.enter_context(
                process(
                    simulator.url("anthropic"),
                    tmp_path / "s.db",
                    "--tools",
                    "list",
                    database=url,
                )
            )
            for _ in range(2)
        ]
        apis = [stack.enter_context(server.api()) for server in servers]
        for number, session in enumerate(SESSIONS):
            apis[number % 2].session(session)
            apis[number % 2].post(
                f"/v1/sessions/{session}/messages", json={"text": "Look around."}
            )
        assert apis[0].post("/v1/sessions", json={}).status_code == 429
        for _ in patiently():
            states = [apis[1].state(session) for session in SESSIONS]
            if all(each["state"] in ("waiting", "idle") for each in states):
                break
        paused = [each for each in states if each["paused"] == "budget"]
        assert paused, states
        assert all("tokens are used" in each["note"] for each in paused)
        left = apis[0].get("/v1/quota").json()["tokens"]
        sizes = asyncio.run(sizes_of_calls(place))
        assert left["used"] == sum(sizes)
        assert 3_000 <= left["used"] < 3_000 + len(SESSIONS) * max(sizes)
        quota(place, "set", "default", "--tokens", "none")
        for _ in patiently():
            states = [apis[0].state(session) for session in SESSIONS]
            if all(each["state"] == "idle" for each in states):
                break
        finished = {each["id"] for each in states if each["ended"] == "finished"}
        assert finished >= {each["id"] for each in paused}
