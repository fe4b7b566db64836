"""A Restate server is reached at a URL or at a Unix socket."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from ullage_cluster.restate.client import PUBLIC_KEY, answers, restate_client

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(ANSWER)
    writer.close()


async def test_a_socket_is_reached_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    async with await asyncio.start_unix_server(answer, path):
        async with restate_client(f"unix:{path}", 30) as client:
            assert (await client.get("/health")).text == "ok"
        assert await asyncio.to_thread(answers, f"unix:{path}", "/health")
    assert not answers(f"unix:{tmp_path / 'none'}", "/health")


async def test_a_url_is_reached_directly_whatever_proxy_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with restate_client(f"{url}/", 30) as client:
            assert (await client.get("/health")).text == "ok"
        assert await asyncio.to_thread(answers, url, "/health")


async def test_an_address_that_is_none_is_an_error_of_the_client() -> None:
    with pytest.raises(httpx2.HTTPError):
        async with restate_client("nowhere", 1) as client:
            await client.get("/health")
    assert not answers("nowhere", "/health")
    assert PUBLIC_KEY.startswith("publickeyv1_")
