"""The address at which a worker is looked at."""

from __future__ import annotations

from pathlib import Path

from tests.server.test_health import looked_at


async def test_nothing_of_a_session_is_served_there(tmp_path: Path) -> None:
    async with looked_at(tmp_path / "s.db") as (client, host):
        await host.store.create("s")
        for path in ("/", "/v1/sessions", "/v1/sessions/s", "/schema/openapi.json"):
            assert (await client.get(path)).status_code == 404
