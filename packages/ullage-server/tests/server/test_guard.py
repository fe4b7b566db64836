"""Who may come in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.server.served import Api, Local, serving
from ullage_server.guard import Guard
from ullage_server.tokens import Tokens

TOKEN = "correct horse battery staple"


@pytest.fixture(scope="module")
def guarded(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server that wants a token."""
    with serving(
        provider, tmp_path_factory.mktemp("guarded") / "s.db", token=TOKEN
    ) as server:
        yield server


@pytest.mark.parametrize(
    "path",
    ["/v1/sessions", "/v1/sessions/x", "/v1/nothing", "/metrics", "/nothing", "/v1"],
)
def test_without_the_token_nothing_is_told_at_all(guarded: Local, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
    ):
        answer = guarded.api.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
        assert "--token" in answer.json()["next"] or "token" in answer.json()["next"]


def test_a_token_in_the_address_is_none(guarded: Local) -> None:
    found = guarded.api.get(
        "/v1/sessions", params={"token": TOKEN, "access_token": TOKEN}
    ).status_code
    assert found == 401


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/schema/openapi.json", "/assets/nothing.js"]
)
def test_what_holds_nothing_of_a_session_needs_none(guarded: Local, path: str) -> None:
    assert guarded.api.get(path).status_code in (200, 404)


@pytest.mark.parametrize(
    "path",
    [
        "/healthz/../v1/sessions",
        "//v1/sessions",
        "/assets/../v1/sessions",
        "/schema/%2e%2e/v1/sessions",
    ],
)
def test_no_spelling_of_a_path_goes_round_the_token(guarded: Local, path: str) -> None:
    host, port = guarded.url.removeprefix("http://").split(":")
    answer = _raw(host, int(port), path)
    assert b" 200 " not in answer.split(b"\r\n")[0], answer


def _raw(host: str, port: int, path: str) -> bytes:
    with socket.create_connection((host, port)) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_foreign_names_and_pages_are_refused_and_our_own_taken(local: Local) -> None:
    """``test_admission`` has which are."""
    for host, status in (("evil.example", 403), ("LOCALHOST:99", 200)):
        headers = {"Host": host}
        assert local.api.get("/v1/sessions", headers=headers).status_code == status
    foreign = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
    refused = local.api.post("/v1/sessions", content=b"{}", headers=foreign)
    assert refused.status_code == 403
    assert refused.json()["type"] == "urn:ullage:problem:origin"
    own = {"Origin": local.url}
    assert local.api.post("/v1/sessions", json={}, headers=own).status_code == 201


def test_no_answer_opens_a_door_to_other_sites(local: Local) -> None:
    for answer in (
        local.api.get("/v1/sessions"),
        local.api.options(
            "/v1/sessions", headers={"Access-Control-Request-Method": "POST"}
        ),
        local.api.get("/nothing"),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_answer_says_what_a_page_may_load(local: Local, api: Api) -> None:
    for path in ("/", "/healthz", "/v1/sessions", "/nothing", "/assets/main.js"):
        headers = api.get(path).headers
        policy = headers["content-security-policy"]
        assert (
            "default-src 'none'" in policy
            and "unsafe" not in policy
            and "http" not in policy
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_a_slash_inside_a_name_is_no_end_of_it(api: Api) -> None:
    assert "'a/b'" in api.get("/v1/sessions/a%2Fb").json()["detail"]
    assert "'a%2Fb'" in api.get("/v1/sessions/a%252Fb").json()["detail"]


def test_a_server_without_names_answers_to_any() -> None:
    """Behind a token the name does not matter: who was lured here does not have it."""

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(names: tuple[str, ...]) -> int:
        guard: Any = Guard(inner, tokens=Tokens("x" * 16), names=names)
        transport = httpx2.ASGITransport(app=guard)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://anything.example"
        ) as client:
            return (
                await client.get("/", headers={"Authorization": f"Bearer {'x' * 16}"})
            ).status_code

    assert asyncio.run(ask(())) == 204
    assert asyncio.run(ask(("localhost",))) == 403
