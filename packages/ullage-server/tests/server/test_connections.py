"""Clients that are slow, silent, many or malformed."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.raw import connected, exchange, read_to_end, request
from tests.server.served import Api, Local, patiently, process, serving
from ullage_server.admission import HEAD_BYTES
from ullage_server.connections import (
    PENDING_ROUNDS,
    StreamSlots,
    TimeLimits,
    connection_limits,
)

JSON = "Content-Type: application/json"
HASTY = TimeLimits(head_s=0.4, body_s=0.4, unread_s=0.6)


@pytest.fixture(scope="module")
def hasty(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server that waits for nobody."""
    with serving(
        provider, tmp_path_factory.mktemp("hasty") / "s.db", limits=HASTY
    ) as server:
        yield server


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"G",
        b"GET /v1/sessions HTTP/1.1\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
    ],
)
def test_a_head_that_never_ends_is_ended(hasty: Local, begun: bytes) -> None:
    answer = exchange(hasty.url, begun)
    assert answer.status == 408
    assert "application/problem+json" in answer.text


def test_a_head_that_comes_drop_by_drop_is_ended_all_the_same(hasty: Local) -> None:
    with closing(connected(hasty.url)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for _ in patiently():
            try:
                connection.sendall(b"X-Drop: 1\r\n")
            except OSError:
                break


@pytest.mark.parametrize("framing", ["Content-Length: 500", "Transfer-Encoding: chunked"])
def test_a_body_that_never_ends_is_ended(
    local: Local,
    framing: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    head = request(JSON, framing, method="POST")
    with monkeypatch.context() as patched:
        patched.setattr(local.server.config.http, "time_limits", HASTY)
        answer = exchange(local.url, head + b"5\r\n{")
    assert answer.status in (400, 408)
    assert local.api.get("/healthz").status_code == 200
    assert "Traceback" not in caplog.text


def test_a_body_behind_an_answer_is_not_waited_for_either(hasty: Local) -> None:
    with closing(connected(hasty.url)) as connection:
        connection.sendall(
            request("Content-Length: 500", method="POST", host="evil.example").replace(
                b"close", b"keep-alive"
            )
        )
        for _ in patiently():
            try:
                connection.sendall(b"x")
            except OSError:
                break


def test_the_second_request_of_a_connection_has_a_limit_too(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(connected(local.url)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(65_536)
        monkeypatch.setattr(local.server.config.http, "time_limits", HASTY)
        connection.sendall(b"GET /healthz HT")
        assert read_to_end(connection).status == 408


@pytest.mark.sweep
def test_a_client_that_reads_nothing_is_let_go(provider: str, tmp_path: Path) -> None:
    limits = TimeLimits(unread_s=0.6)
    with serving(provider, tmp_path / "s.db", limits=limits) as server:
        settings = {"auto": False, "window": 100_000_000}
        name = server.api.session("unread", settings=settings)
        for number in range(4):
            server.api.say(name, "x" * 900_000, id=f"m{number}")
        server.api.until(name)
        with closing(connected(server.url)) as connection:
            connection.sendall(request(target=f"/v1/sessions/{name}/export"))
            connection.recv(1, socket.MSG_PEEK)
            for _ in (
                patiently()
            ):  # the answer is larger than what the system holds for a reader
                if len(server.server.server_state.connections) == 1:
                    break
            text = read_to_end(connection).text
        whole = server.api.get(f"/v1/sessions/{name}/export").content
    assert len(text) < len(whole)


def test_a_head_that_is_too_large_is_refused(local: Local) -> None:
    for sent in (
        request(target="/" + "x" * HEAD_BYTES),
        request("X-Long: " + "x" * HEAD_BYTES),
        request(*[f"X-{number}: {'y' * 100}" for number in range(1_000)]),
        request(*["X: y"] * 150),
    ):
        assert exchange(local.url, sent).status == 431


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX\x00Y: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"G\xffT / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"GET http://localhost/v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_400_and_no_traceback(
    local: Local, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = exchange(local.url, sent)
    assert 400 <= answer.status < 500 or answer.status in (501, 505), answer
    assert "Traceback" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


@given(st.binary(max_size=300))
def test_no_bytes_at_all_are_a_mistake_of_the_server(local: Local, sent: bytes) -> None:
    answer = exchange(local.url, sent, ends=True)
    assert answer.status == 0 or 400 <= answer.status < 500, answer


SMUGGLED = b"DELETE /v1/sessions/victim HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "framing",
    [
        f"Content-Length: {len(SMUGGLED)}\r\nContent-Length: 0",
        f"Content-Length: 4\r\nContent-Length: 4, {len(SMUGGLED)}",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: xchunked\r\nContent-Length: 5",
        "Transfer-Encoding : chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\nConnection: keep-alive",
    ],
)
def test_a_request_inside_a_body_is_never_carried_out(local: Local, framing: str) -> None:
    local.api.delete("/v1/sessions/victim")
    local.api.session("victim")
    head = f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n{framing}\r\n\r\n"
    answer = exchange(local.url, head.encode() + b"0\r\n\r\n" + SMUGGLED)
    assert answer.status in (400, 501), answer
    assert len(re.findall(r"HTTP/1\.1 \d{3}", answer.text)) == 1
    assert local.api.get("/v1/sessions/victim").status_code == 200


def test_pipelined_requests_are_answered_in_order(local: Local) -> None:
    two = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + request(
        target="/v1/nothing"
    )
    text = exchange(local.url, two).text
    assert re.findall(r"HTTP/1\.1 (\d{3})", text) == ["200"] * 3 + ["404"]


def test_head_options_and_trace(local: Local) -> None:
    for path in ("/", "/healthz", "/assets/main.js", "/schema/openapi.json"):
        answer = local.api.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    for path in ("/v1/sessions", "/v1/sessions/x/events", "/metrics"):
        assert local.api.head(path).status_code == 405
    options = local.api.options("/v1/sessions")
    assert "allow" in options.headers and not [
        name for name in options.headers if name.startswith("access-control")
    ]
    for method in ("TRACE", "TRACK", "PROPFIND", "FOO"):
        answer = local.api.request(
            method, "/v1/sessions", headers={"X-Secret": "echo-me"}
        )
        assert answer.status_code in (400, 405, 501)
        assert "echo-me" not in answer.text


@given(st.integers(16, 100_000), st.integers(0, 200))
def test_streams_never_take_all_the_room(descriptors: int, used: int) -> None:
    found = connection_limits(descriptors, used)
    assert 0 < found.streams_of_one <= found.streams < found.connections
    if descriptors >= used + 16:
        assert found.connections + PENDING_ROUNDS * found.at_once + used <= descriptors


def test_places_for_streams_are_given_back() -> None:
    streams = StreamSlots(total=3, of_one=2)
    first, second = streams.take("a"), streams.take("a")
    assert streams.take("a") == "client"
    assert not isinstance(streams.take("b"), str)
    assert streams.take("c") == "server"
    assert not isinstance(first, str) and not isinstance(second, str)
    first()
    assert not isinstance(streams.take("c"), str)
    second()
    assert not isinstance(streams.take("a"), str)


@pytest.mark.sweep
def test_with_64_file_descriptors_and_100_streams_a_request_is_answered(
    provider: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(process(provider, tmp_path / "s.db", descriptors=64))
        with server.api() as api:
            api.session("followed")
        streams = []
        with server.stopped():  # so that all of them come at once
            for _ in range(100):
                connection = stack.enter_context(closing(connected(server.url)))
                connection.sendall(request(target="/v1/sessions/followed/events?after=0"))
                streams.append(connection)
        for _ in patiently():
            answer = httpx2.get(f"{server.url}/healthz", timeout=60)
            if answer.status_code != 503:
                break
            # it came while the refused streams were being answered
            time.sleep(float(answer.headers["retry-after"]))
        for _ in range(5):
            answer = httpx2.get(f"{server.url}/healthz", timeout=60)
            assert answer.status_code == 200, answer.text
        with server.api() as api:
            api.say("followed", "hello")
            assert api.until("followed")["ended"] == "finished"
        code, _, errors = server.end()
    assert code == 0
    assert "Too many open files" not in errors and "Traceback" not in errors


@pytest.mark.sweep
def test_connections_that_rest_make_room_for_new_requests(
    provider: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(process(provider, tmp_path / "s.db", descriptors=64))
        for _ in range(60):
            resting = stack.enter_context(closing(connected(server.url)))
            resting.sendall(request(JSON, "Content-Length: 100", method="POST"))
        with server.api() as api:
            for _ in patiently():
                if api.get("/v1/sessions").status_code == 200:
                    break
            answers = [api.get("/v1/sessions").status_code for _ in range(5)]
        assert answers == [200] * 5


def test_a_client_can_t_take_the_places_of_others(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        streams = server.streams
        session = server.api.session("s")
        for _ in range(streams.of_one):
            streams.take("127.0.0.1")
        refused = server.api.get(f"/v1/sessions/{session}/events")
        assert refused.status_code == 429
        assert "follows" in refused.json()["detail"]
        for number in range(streams.total):
            streams.take(f"client {number}")
        assert server.api.get(f"/v1/sessions/{session}/events").status_code in (429, 503)
        assert server.api.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"text": "\xff"}', 400),
        (b"\xff\xfe{\x00", 400),
        (b'{"text": "\\ud800"}', 400),
        (b"[" * 200_000, 400),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
        (b'{"settings": {"params": ' + b'{"a":' * 900 + b"1" + b"}" * 902, 400),
        (b"[" + b"[]," * 300_000 + b"[]]", 400),
        (b'{"text": NaN}', 400),
        (b'{"id": 1e999}', 400),
        (b'{"id": ' + b"9" * 10_000 + b"}", 400),
        (b"", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"{", 400),
        (b"\x00" * 100, 400),
        (b'{"text": "x", "text2": "y"}', 400),
    ],
)
def test_a_body_that_can_t_be_read_is_the_client_s_mistake(
    api: Api, body: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    api.post("/v1/sessions", json={"id": "odd"})
    for method, path in (
        ("POST", "/v1/sessions"),
        ("POST", "/v1/sessions/odd/messages"),
        ("POST", "/v1/sessions/odd/rewind"),
        ("POST", "/v1/sessions/odd/pins"),
    ):
        answer = api.request(
            method, path, content=body, headers={"Content-Type": "application/json"}
        )
        if not body and path.endswith("/sessions"):
            continue
        assert answer.status_code == status, (path, answer.text)
        assert answer.json()["next"]
    assert "Traceback" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/sessions?limit=99999999999999999999999",
        "/v1/sessions?before=nan",
        "/v1/sessions?before=inf",
        "/v1/sessions?limit=%ff",
        "/v1/sessions?limit=1&limit=2",
        "/v1/sessions/%00",
        "/v1/sessions/%ff%fe",
        "/v1/sessions/..%2f..%2fetc%2fpasswd",
        "/v1/sessions/odd/events?after=99999999999999999",
        "/v1/sessions/odd/events?after=-1",
        "/v1/sessions/odd/kept/%2e%2e%2f%2e%2e",
        "/v1/sessions/odd/messages?before=%00",
        "/v1/sessions/odd/kept/x?start=9007199254740993",
        "/assets/%00",
        "/assets/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/%c0%ae%c0%ae/passwd",
        "/%",
        "/%zz",
        "//",
        "/v1/sessions/" + "a" * 5_000,
        "/assets/" + "a" * 5_000,
    ],
)
def test_no_odd_target_is_a_mistake_of_the_server(
    local: Local, api: Api, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    api.post("/v1/sessions", json={"id": "odd"})
    answer = exchange(local.url, request(target=target))
    assert 200 <= answer.status < 500, answer
    assert "root:" not in answer.text
    assert all(record.exc_info is None for record in caplog.records)
