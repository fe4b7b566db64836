"""What McpServer makes of servers over HTTP that do harm."""

from __future__ import annotations

import pytest

from tests.hostile.mcp.http_server import serving_harm
from tests.tools.mcp_places import call
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.mcp_connection import ServerUnavailable

KEY = "Bearer sk-secret-key-of-the-user"


async def test_a_key_goes_to_no_other_origin_than_the_configured_one() -> None:
    async with (
        serving_harm("honest") as other,
        serving_harm("redirects", other.url) as server,
    ):
        with pytest.raises(ServerUnavailable):
            async with McpServer(
                "t", url=server.url, headers={"Authorization": KEY}, connect_s=10
            ):
                pass
        assert any("authorization: bearer" in heard.head for heard in server.heard)
        assert other.heard == []


@pytest.mark.parametrize(
    ("behaviour", "outcomes"),
    [
        ("huge_body", {"failed", "unknown", "timed_out"}),
        ("gzip_bomb", {"failed", "unknown", "timed_out"}),
        ("wrong_type", {"failed"}),
        ("huge_headers", {"failed", "unknown", "timed_out"}),
        ("one_long_event", {"failed", "unknown", "timed_out"}),
        ("events_without_end", {"timed_out"}),
        ("silent", {"timed_out"}),
    ],
)
async def test_an_answer_that_does_harm_ends_as_an_error(
    behaviour: str, outcomes: set[str]
) -> None:
    timeout_s = 5 if "timed_out" in outcomes else 60
    async with serving_harm(behaviour) as server:
        async with McpServer("t", url=server.url, timeout_s=timeout_s) as client:
            ran = await call(client, "work")
            assert ran.outcome in outcomes
            assert ran.output.is_error
            assert len(ran.output.text) < 2_000
        assert all("accept-encoding: identity" in heard.head for heard in server.heard)
