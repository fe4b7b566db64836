"""Processes over one store heed one quota, set by `ullage admin quota`; only calls under way go beyond it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.machines import machines
from tests.server.served import Api, patiently, process, script
from ullage.events import CallEnded
from ullage.store.places import store_at
from ullage.store.store import SessionRow
from ullage.store.tenants import prefix_of
from ullage_simulators import running

STEPS = 5
"""Model calls of each session that no quota stops."""


class Cluster(NamedTuple):
    """Two servers over one store, as a tenant sees them."""

    place: str
    tenant: str
    apis: list[Api]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(f"{prefix_of(self.tenant)}s{number}" for number in range(8))

    async def calls(self) -> list[int]:
        """The tokens of every model call of the sessions, by their ledgers."""
        store = store_at(self.place)
        sizes = []
        for session in self.sessions:
            for event in await store.read(session):
                if isinstance(event, CallEnded) and event.usage is not None:
                    sizes.append((event.usage.input or 0) + (event.usage.output or 0))
        await store.close()
        return sizes

    async def rows(self) -> list[SessionRow]:
        store = store_at(self.place)
        found = [await store.about(session) for session in self.sessions]
        await store.close()
        return found

    def costs(self) -> list[float]:
        """The dollars that each session has cost."""
        told = [self.apis[0].get(f"/v1/sessions/{each}/spend") for each in self.sessions]
        return [each.json()["money"]["usd"] for each in told]

    def begin(self) -> list[str]:
        """Begin all sessions, through both servers in turn; gives those whose message came before the quota's end."""
        sent = []
        for api, session in zip(cycle(self.apis), self.sessions, strict=False):
            name = session.removeprefix(prefix_of(self.tenant))
            assert api.post("/v1/sessions", json={"id": name}).status_code == 201
            asked = {"text": "Look around.", "id": "m"}
            answer = api.post(f"/v1/sessions/{session}/messages", json=asked)
            assert answer.status_code in (202, 429), answer.text
            if answer.status_code == 202:
                sent.append(session)
        return sent

    def until(self, *states: str) -> list[dict[str, Any]]:
        """Wait until every session is in one of these states, and gives all of them."""
        for _ in patiently():
            found = [self.apis[1].state(session) for session in self.sessions]
            if all(each["state"] in states for each in found):
                return found
        raise AssertionError(f"never {states}: {found}")


def command(*words: str) -> str:
    """What a command of `ullage` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "ullage", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def cluster(kind: str, tmp_path: Path) -> Iterator[Cluster]:
    """Two servers that drive, of an SQLite file; or two that don't and two workers, of PostgreSQL and a tenant."""
    looks = {"calls": [{"name": "list", "arguments": {"path": "."}}]}
    steps = [{**looks, "when": {"step": step}} for step in range(1, STEPS)]
    tools = ("--tools", "list")
    with ExitStack() as stack:
        story = script(*steps, {"text": "Done."}, delay_s=0.002)
        provider = stack.enter_context(running(story)).url("anthropic")
        if kind == "sqlite":
            path = tmp_path / "s.db"
            servers = [
                stack.enter_context(process(provider, path, *tools)) for _ in range(2)
            ]
            apis = [stack.enter_context(server.api()) for server in servers]
            yield Cluster(str(path), "default", apis)
            return
        many = machines(
            provider,
            tmp_path,
            server=("--dispatch", "lease", *tools),
            workers=[("--dispatch", "lease", *tools)] * 2,
        )
        place, processes, _ = stack.enter_context(many)
        words = ("--tenant", "acme", "--scope", "admin", "--store", place)
        added = command("admin", "token", "add", "acme", *words)
        token = re.search(r"ullage_\S+", added)
        assert token is not None, added
        apis = [stack.enter_context(server.api()) for server in processes]
        for api in apis:
            for _ in patiently():  # servers notice the first token within seconds
                if api.get("/v1/quota").status_code == 401:
                    break
            api.headers["Authorization"] = f"Bearer {token.group()}"
        yield Cluster(place, "acme", apis)


@pytest.mark.parametrize(
    ("kind", "what", "limit"),
    [
        ("sqlite", "tokens", 3_000),
        ("postgres", "tokens", 3_000),
        ("postgres", "usd", 0.004),
    ],
)
def test_all_processes_stop_at_one_quota_and_finish_after_a_raise(
    kind: str, what: str, limit: float, tmp_path: Path
) -> None:
    with cluster(kind, tmp_path) as many:

        def quota(*words: str) -> str:
            return command(
                "admin", "quota", "set", many.tenant, *words, "--store", many.place
            )

        assert "0 of 8 sessions" in quota(f"--{what}", str(limit), "--sessions", "8")
        sent = many.begin()
        one, other = many.apis
        refused = other.post("/v1/sessions", json={})
        assert refused.status_code == 429
        assert "8 of 8 sessions are begun" in refused.json()["detail"]
        paused = [each for each in many.until("waiting", "idle") if each["paused"]]
        assert paused, "no session came to the quota"
        for each in paused:
            assert each["paused"] == "budget"
            assert "used" in each["note"] or "spent" in each["note"]
            assert "The next day begins at" in each["note"]
        used = one.get("/v1/quota").json()[what]["used"]
        sizes = asyncio.run(many.calls())
        costs = many.costs()
        total = sum(sizes) if what == "tokens" else sum(costs)
        largest = max(sizes) if what == "tokens" else max(costs)
        assert used == pytest.approx(total)
        assert limit <= used < limit + len(many.sessions) * largest
        assert len(sizes) < STEPS * len(sent)
        check_nothing_spins(many)
        waiting = paused[0]["id"]
        path = f"/v1/sessions/{waiting}/messages"
        again = other.post(path, json={"text": "Look around.", "id": "m"})
        assert again.status_code == 202 and not again.json()["new"]
        new = other.post(path, json={"text": "More.", "id": "n"})
        assert new.status_code == 429
        quota(f"--{what}", "none")
        ended = {each["id"]: each["ended"] for each in many.until("idle")}
        assert {ended[session] for session in sent} == {"finished"}, ended
        assert len(asyncio.run(many.calls())) == STEPS * len(sent)


def check_nothing_spins(many: Cluster) -> None:
    """Sessions that wait for the next day are let go of, and then neither taken up nor written to."""
    for _ in patiently():
        before = asyncio.run(many.rows())
        if not any(row.held_by for row in before):
            break
    for _ in range(40):  # the search for work comes about once a second
        found = asyncio.run(many.rows())
        assert [row.drivers for row in found] == [row.drivers for row in before]
        assert [row.seq for row in found] == [row.seq for row in before]
        asyncio.run(asyncio.sleep(0.1))


def test_servers_that_begin_sessions_at_once_begin_no_more_than_the_quota(
    tmp_path: Path,
) -> None:
    with cluster("postgres", tmp_path) as many:
        command("admin", "quota", "set", "acme", "--sessions", "5", "--store", many.place)

        async def begin() -> list[int]:
            tries = [
                asyncio.to_thread(api.post, "/v1/sessions", json={})
                for api in many.apis * 10
            ]
            return [answer.status_code for answer in await asyncio.gather(*tries)]

        statuses = asyncio.run(begin())
        assert statuses.count(201) == 5
        assert statuses.count(429) == 15
        assert many.apis[0].get("/v1/quota").json()["sessions"]["left"] == 0
