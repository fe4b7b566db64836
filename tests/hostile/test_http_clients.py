"""Raw requests to a running server: each is refused or harmless, and the next client is served."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.hostile.http_clients import RAW_REQUESTS, RawRequest
from tests.server.served import Local, script, serving
from ullage_simulators import running

LONGEST_S = 60.0


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    store = tmp_path_factory.mktemp("server") / "sessions.db"
    with (
        running(script({"text": "Calm."})) as provider,
        serving(provider.url("anthropic"), store) as server,
    ):
        server.api.session("canary")
        yield server


def answered(url: str, data: bytes) -> bytes:
    """What the server sends until it closes. The client says that it has nothing more to say."""
    host, _, port = url.removeprefix("http://").rstrip("/").partition(":")
    got = b""
    with (
        socket.create_connection((host, int(port)), timeout=LONGEST_S) as connection,
        suppress(ConnectionError),
    ):
        with suppress(
            OSError
        ):  # the server may have closed before it has read everything
            connection.sendall(data.replace(b"HOST", f"{host}:{port}".encode()))
            connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65_536):
            got += piece
    return got


@pytest.mark.parametrize("each", RAW_REQUESTS, ids=[each.name for each in RAW_REQUESTS])
def test_a_hostile_request_is_refused_and_the_next_client_is_served(
    each: RawRequest, local: Local
) -> None:
    got = answered(local.url, each.data)
    words = got.split(b"\r\n", 1)[0].split()
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    assert status in each.may, got[:500]
    assert b"Traceback" not in got and b"root:" not in got
    if status >= 400 and b"application/problem+json" in got:
        problem, _ = json.JSONDecoder().raw_decode(
            got.decode("latin-1").partition("\r\n\r\n")[2]
        )
        assert problem.get("detail") or problem.get("title"), problem
    local.api.say("canary", f"Still there after {each.name}?")
    assert local.api.until("canary")["state"] == "idle"


def test_no_raw_request_made_a_session(local: Local, tmp_path: Path) -> None:
    names = {line["id"] for line in local.api.get("/v1/sessions").json()["sessions"]}
    assert not names & {"lured", "armed", "served"}, (
        "a session was made with more than the launch allows"
    )
