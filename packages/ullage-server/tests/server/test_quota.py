"""What a tenant sees of its quota over HTTP: refusals, what is left, metrics for the operator."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.server.served import Api, serving
from ullage.store.places import store_at
from ullage.store.records import FileRecords
from ullage_agent.loop.quotas import DAY_S, Quota
from ullage_agent.runtime.quotas import change_quota
from ullage_server.tokens import NamedTokens

REFUSED = "urn:ullage:problem:refused"


def set_quota(path: Path, **limits: Any) -> None:
    """As `ullage admin quota set acme` does, from another process."""

    async def change() -> None:
        store = store_at(path)
        await change_quota(store, "acme", lambda quota: Quota(**limits))
        await store.close()

    asyncio.run(change())


def check_refused(answer: Any) -> None:
    """It is a 429 that says when the day ends."""
    assert answer.status_code == 429, answer.text
    told = answer.json()
    assert told["type"] == "urn:ullage:problem:quota"
    assert "00:00 UTC" in told["detail"] and "Nothing was stored" in told["detail"]
    assert answer.headers["content-type"] == "application/problem+json"
    assert 0 < int(answer.headers["retry-after"]) <= 86_400


def wait_for_the_next_day(within_s: float = 120) -> None:
    """A quota is of one day: just before midnight (UTC) the test would see two."""
    left_s = DAY_S - time.time() % DAY_S
    if left_s < within_s:
        time.sleep(left_s + 1)


def test_a_tenant_sees_what_is_left_and_until_when(provider: str, tmp_path: Path) -> None:
    wait_for_the_next_day()
    tokens = NamedTokens(FileRecords(tmp_path))
    named = {
        tenant: tokens.add(tenant, ("admin",), expires=None, now=0, tenant=tenant)
        for tenant in ("acme", "other", "default")
    }
    path = tmp_path / "s.db"
    set_quota(path, sessions=2, tokens=1, usd=5.0)
    with serving(provider, path, tokens=tokens) as server:
        acme, other, operator = (
            Api(
                base_url=server.url,
                timeout=60,
                headers={"Authorization": f"Bearer {token}"},
            )
            for token in named.values()
        )
        before = acme.get("/v1/quota").json()
        assert before["tenant"] == "acme"
        assert before["sessions"] == {"limit": 2, "used": 0, "left": 2}
        assert before["usd"] == {"limit": 5.0, "used": 0.0, "left": 5.0}
        assert 0 < before["ends"] - time.time() <= 86_400
        assert other.get("/v1/quota").json()["tokens"] is None
        assert acme.post("/v1/sessions", json={"id": "s"}).status_code == 201
        acme.say("acme:s", "Hello", id="m1")
        stored = acme.until("acme:s", "idle")
        again = acme.say("acme:s", "Hello", id="m1")
        assert (again["new"], again["state"]) == (False, "delivered")
        assert acme.state("acme:s")["seq"] == stored["seq"]
        check_refused(
            acme.post("/v1/sessions/acme:s/messages", json={"text": "Again", "id": "m2"})
        )
        left = acme.get("/v1/quota").json()
        assert left["tokens"]["left"] == 0 and left["tokens"]["used"] > 1
        assert left["sessions"] == {"limit": 2, "used": 1, "left": 1}
        assert acme.post("/v1/sessions/acme:s/fork", json={}).status_code == 201
        check_refused(acme.post("/v1/sessions", json={}))
        check_refused(acme.post("/v1/sessions/acme:s/fork", json={}))
        taken = acme.post("/v1/sessions", json={"id": "s"})
        assert (taken.status_code, taken.json()["type"]) == (409, REFUSED)
        taken = acme.post("/v1/sessions/acme:s/fork", json={"id": "s"})
        assert (taken.status_code, taken.json()["type"]) == (409, REFUSED)
        exported = acme.get("/v1/sessions/acme:s/export").content
        check_refused(acme.post("/v1/sessions/import", content=exported))
        assert other.post("/v1/sessions", json={}).status_code == 201
        told = operator.get("/metrics").text
        assert 'ullage_quota_limit{tenant="acme",what="sessions"} 2.0' in told
        assert 'ullage_quota_used{tenant="acme",what="sessions"} 2.0' in told
        assert "ullage_quota_refusals_total 4.0" in told
        set_quota(path, sessions=9, tokens=100_000)
        acme.say("acme:s", "Again", id="m2")
        acme.until("acme:s", "idle")
        for client in (acme, other, operator):
            client.close()
