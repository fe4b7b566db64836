"""The address at which a worker is looked at."""

from __future__ import annotations

from pathlib import Path

from tests.server.test_health import looked_at


async def test_nothing_of_a_session_is_served_there(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db") as (client, host):
        await host.store.create("s")
        for path in ("/", "/v1/sessions", "/v1/sessions/s", "/schema/openapi.json"):
            assert (await client.get(path)).status_code == 404


async def test_without_a_token_only_health_is_told(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db") as (client, _):
        assert (await client.get("/metrics")).status_code == 200
        client.headers.clear()
        for path in ("/healthz", "/readyz", "/drainz"):
            assert (await client.get(path)).status_code == 200
        for path in ("/metrics", "/v1/sessions", "/healthz/../metrics"):
            assert (await client.get(path)).status_code == 401


async def test_a_page_of_another_site_is_refused(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db") as (client, _):
        for headers in (
            {"Origin": "https://evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Host": "a@b"},
        ):
            assert (await client.get("/metrics", headers=headers)).status_code == 403
