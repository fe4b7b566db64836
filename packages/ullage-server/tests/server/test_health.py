"""Health, readiness, drain and metrics, of a server and at a worker's own address."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.disks import fill, small_disk
from tests.server.served import MODEL, Api, serving
from ullage.errors import StoreUnavailable
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage.tasks import background
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.dispatch import Embedded
from ullage_agent.runtime.hosting import Host
from ullage_server.metrics import Metrics, measured
from ullage_server.monitoring import serve_monitoring
from ullage_server.serving import listener, url_of
from ullage_server.tokens import Tokens

TOKEN = "the-token-of-the-worker"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}


PREFIXES = ("ullage_", "gen_ai_", "http_server_", "process_", "python_")


class FakeLost(Embedded):
    """A dispatch that reaches nobody."""

    async def problem(self) -> str:
        return "The engine does not answer."


@asynccontextmanager
async def looked_at(
    path: Path, **given: object
) -> AsyncIterator[tuple[httpx2.AsyncClient, Host]]:
    """A client of a worker's own address, and the worker's host."""
    metrics, store = Metrics(), SqliteStore(path)
    agent = Agent(
        MODEL,
        store=measured(store, metrics),
        hooks=[metrics],
        environment={"ANTHROPIC_API_KEY": "x"},
        config=False,
    )
    with listener("127.0.0.1", 0) as listening:
        url = url_of(listening)
        async with (
            Host(agent, attends=True, **given) as host,  # type: ignore[arg-type]
            background(serve_monitoring(host, metrics, listening, Tokens(TOKEN))),
            httpx2.AsyncClient(base_url=url, timeout=60, headers=KNOWN) as client,
        ):
            yield client, host
    await store.close()


async def test_a_worker_is_ready_until_it_drains(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db") as (client, host):
        assert (await client.get("/healthz")).json()["status"] == "ok"
        assert (await client.get("/readyz")).json() == {"ready": True, "lacks": []}
        assert (await client.get("/drainz")).status_code == 200
        await host.drain()
        draining = await client.get("/readyz")
        assert (draining.status_code, draining.json()["lacks"]) == (503, ["draining"])
        assert (await client.get("/drainz")).status_code == 404
        assert (await client.get("/healthz")).status_code == 200


async def test_a_process_whose_dispatch_reaches_nobody_says_so_and_is_ready(
    tmp_path: Path,
) -> None:
    async with looked_at(tmp_path / "s.db", dispatch=FakeLost()) as (client, _):
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["lacks"]) == (200, ["dispatch"])
        told = (await client.get("/metrics")).text
        assert 'ullage_lacks{what="dispatch"} 1.0' in told
        assert 'ullage_lacks{what="store"} 0.0' in told


async def test_a_session_without_a_driver_shows_how_long_it_waits(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db", drives=0) as (client, host):
        await host.store.create("s")
        message = Message(id="m", role="user", parts=(TextPart(id="m.1", text="Hi"),))
        await host.store.send("s", message, "steer")
        waits = 0.0
        while waits == 0.0:
            told = (await client.get("/metrics")).text
            waits = next(
                sample.value
                for family in text_string_to_metric_families(told)
                for sample in family.samples
                if sample.name == "ullage_longest_wait_seconds"
                and sample.labels == {"place": ""}
            )
        assert 0 < waits < 60


def test_an_unreadable_store_is_not_ready(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        assert server.api.get("/readyz").status_code == 200
        asyncio.run(server.store.close())
        answer = server.api.get("/readyz")
        assert (answer.status_code, answer.json()["lacks"]) == (503, ["store"])
        assert server.api.get("/healthz").status_code == 200
        shown = server.api.get("/metrics").text
        assert 'ullage_sessions{state="failed"} NaN' in shown
        assert 'ullage_sessions_oldest_seconds{state="failed"} NaN' in shown


async def test_an_unwritable_store_is_not_ready_until_it_is(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 2) as disk:
        async with looked_at(disk / "s.db", drives=0) as (client, host):
            await host.store.create("s")
            filler = fill(disk)
            assert (await client.get("/readyz")).status_code == 200
            with pytest.raises(StoreUnavailable, match="disk is full"):
                await host.store.keep("s", random.Random(1).randbytes(500_000))
            full = await client.get("/readyz")
            assert (full.status_code, full.json()["lacks"]) == (503, ["store"])
            filler.unlink()
            assert (await client.get("/readyz")).status_code == 200


def test_names_and_units_follow_the_rules_of_prometheus(api: Api) -> None:
    families = list(text_string_to_metric_families(api.get("/metrics").text))
    assert len(families) > 15
    for family in families:
        assert family.name.startswith(PREFIXES)
        assert family.documentation
        assert not family.name.endswith(("_percent", "_ms", "_milliseconds"))
        if family.type == "histogram":
            assert family.name.endswith(("_seconds", "_ratio"))
        samples = {sample.name for sample in family.samples}
        assert not [each for each in samples if each.endswith("_created")]
        if family.type == "counter":
            assert samples <= {f"{family.name}_total"}


def test_it_says_what_runs_and_what_that_takes(api: Api) -> None:
    told = api.get("/metrics").text
    assert f'ullage_build_info{{version="{version("ullage-agent")}"}} 1.0' in told
    assert "python_info{" in told
    for name in ("resident_memory_bytes", "cpu_seconds_total", "start_time_seconds"):
        assert f"\nprocess_{name} " in told
