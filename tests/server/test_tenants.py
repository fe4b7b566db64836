"""No route shows one tenant's caller anything of another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from litestar.handlers import HTTPRouteHandler

from tests.server.served import Api, Local, serving
from ullage.server.app import HANDLERS
from ullage.server.scopes import NEEDED, OF_THE_OPERATOR, name_of
from ullage.server.tokens import TokenStore

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

SECRETS = ("vermilion", "cinnabar", "ochre-file", "sepia-key")
"""Words that only the tenant acme said: in a title, a message, the name of a file, an idempotency key."""

OF_NO_SESSION = {"index", "asset", "health", "get_access", "look_at_log"}
"""Routes that need no session and show none: what they answer is compared to the secrets alone."""

ARGUMENTS: dict[str, Any] = {
    "fork_session": {"id": "copy"},
    "send_message": {"text": "Who are you?"},
    "edit_queued": {"text": "Another text"},
    "approve": {"approved": True},
    "change_settings": {"settings": {"trigger": 0.5}},
    "uncompact": {"compaction": "c1"},
    "pin": {"messages": ["m"]},
    "rewind": {"to": "m"},
    "compact": {},
    "rename": {"title": "Stolen"},
    "cancel": {},
}


class Tenants(NamedTuple):
    server: Local
    acme: Api
    other: Api
    default: Api
    session: str
    handle: str


@pytest.fixture(scope="module")
def tenants(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    folder = tmp_path_factory.mktemp("tenants")
    kept = TokenStore(folder / "tokens.json")
    tokens = {}
    for name in ("acme", "other", "default"):
        tokens[name] = kept.add(name, ("admin",), expires=None, now=0, tenant=name)
    with serving(provider, folder / "s.db", tokens=kept) as server:
        clients = [
            Api(
                base_url=server.url,
                timeout=60,
                headers={"Authorization": f"Bearer {tokens[name]}"},
            )
            for name in tokens
        ]
        acme, other, default = clients
        begun = acme.post("/v1/sessions", json={"id": "plans"})
        session = begun.json()["id"]
        asked = acme.post(
            f"/v1/sessions/{session}/messages",
            json={"text": "vermilion cinnabar ochre-file", "images": [PNG]},
            headers={"Idempotency-Key": "sepia-key"},
        )
        assert asked.status_code == 202, asked.text
        acme.until(session, "idle")
        image = next(
            part["source"].removeprefix("kept:")
            for message in acme.messages(session)
            for part in message["parts"]
            if part["type"] == "image"
        )
        yield Tenants(server, acme, other, default, session, image)
        for client in clients:
            client.close()


def path_of(handler: HTTPRouteHandler, tenants: Tenants) -> str:
    (path,) = handler.paths
    path = path.replace("{session:str}", tenants.session)
    path = path.replace("{handle:str}", tenants.handle)
    path = path.replace("{path:path}", "none.js")
    for part in ("message", "call", "grant", "live"):
        path = path.replace(f"{{{part}:str}}", "m")
    return path


def asked(api: Api, handler: HTTPRouteHandler, tenants: Tenants) -> Any:
    (method,) = set(handler.http_methods) - {"HEAD"}
    path, name = path_of(handler, tenants), name_of(handler)
    if method in ("POST", "PUT", "PATCH"):
        body = json.dumps(ARGUMENTS.get(name, {})).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": "sepia-key"}
        return api.request(method, path, content=body, headers=headers)
    asks = {"q": "vermilion"} if name == "search_sessions" else None
    return api.request(method, path, headers={"Last-Event-ID": "1.0.0"}, params=asks)


@pytest.mark.parametrize("handler", HANDLERS, ids=name_of)
@pytest.mark.parametrize("who", ["other", "default"])
def test_no_route_shows_another_tenant_s_session(
    who: str, handler: HTTPRouteHandler, tenants: Tenants
) -> None:
    name = name_of(handler)
    if who == "default" and name in OF_THE_OPERATOR:
        return  # the operator's own; see the test of the metrics below
    answer = asked(getattr(tenants, who), handler, tenants)
    assert not [word for word in SECRETS if word in answer.text]
    has_session = "{session:str}" in next(iter(handler.paths))
    if has_session or name in OF_THE_OPERATOR:
        assert answer.status_code == 404, answer.text
        assert "session-not-found" in answer.text or name in OF_THE_OPERATOR
    if not (has_session or name in OF_NO_SESSION):
        assert tenants.session not in answer.text
    state = tenants.acme.state(tenants.session)
    assert state["state"] == "idle"
    assert state["queued"] == 0


def test_its_own_tenant_sees_the_session_on_every_route_that_reads(
    tenants: Tenants,
) -> None:
    """The test above would pass for addresses that nobody can use."""
    seen = ""
    for handler in HANDLERS:
        name = name_of(handler)
        if handler.http_methods != {"GET"} or name == "follow_events":
            continue
        if "{session:str}" not in next(iter(handler.paths)) or name == "explain":
            continue
        answer = asked(tenants.acme, handler, tenants)
        assert answer.status_code == 200, (name, answer.text)
        seen += answer.text
    assert all(word in seen for word in ("vermilion", "cinnabar", "ochre-file"))
    found = tenants.acme.get("/v1/search", params={"q": "vermilion"}).json()
    assert [line["id"] for line in found["sessions"]] == [tenants.session]
    frame = tenants.acme.until_event(tenants.session, "queued")
    assert "vermilion" in json.dumps(frame.data)


def test_lists_hold_the_caller_s_sessions_also_with_a_cursor_of_another_tenant(
    tenants: Tenants,
) -> None:
    mine = tenants.other.post("/v1/sessions", json={"id": "mine"}).json()["id"]
    for _ in range(2):
        assert tenants.acme.post("/v1/sessions", json={}).status_code == 201
    cursor = tenants.acme.get("/v1/sessions", params={"limit": 1}).json()["before"]
    listed = tenants.other.get("/v1/sessions", params={"before": cursor}).json()
    ids = [line["id"] for line in listed["sessions"]]
    assert mine in ids
    ids += [line["id"] for line in tenants.other.get("/v1/sessions").json()["sessions"]]
    assert all(name.startswith("other:") for name in ids)
    default = tenants.default.get("/v1/sessions").json()["sessions"]
    assert not [line["id"] for line in default if ":" in line["id"]]


def test_an_id_that_another_tenant_has_is_free(tenants: Tenants) -> None:
    assert tenants.other.post("/v1/sessions", json={"id": "plans"}).json() == {
        "id": "other:plans"
    }
    again = tenants.other.post("/v1/sessions", json={"id": "plans"})
    assert again.status_code == 409
    reached = tenants.other.post("/v1/sessions", json={"id": tenants.session})
    assert reached.status_code == 400, "a colon is no part of an id that a caller gives"


def test_an_import_and_a_fork_get_ids_of_the_caller_s_tenant(tenants: Tenants) -> None:
    exported = tenants.acme.get(f"/v1/sessions/{tenants.session}/export").content
    taken = tenants.other.post("/v1/sessions/import", content=exported)
    assert taken.status_code == 201, taken.text
    assert taken.json()["id"].startswith("other:")
    child = exported.replace(tenants.session.encode(), b"acme:plans/call_1")
    stolen = tenants.other.post("/v1/sessions/import", content=child)
    assert stolen.json()["id"].startswith("other:")
    copy = tenants.acme.post(f"/v1/sessions/{tenants.session}/fork", json={"id": "copy"})
    assert copy.json()["id"] == "acme:copy"
    for name in ("acme:copy", "copy"):
        assert tenants.other.get(f"/v1/sessions/{name}").status_code == 404


def test_the_session_of_a_tool_call_is_its_tenant_s(tenants: Tenants) -> None:
    for name in (f"{tenants.session}%2Fcall", f"{tenants.session}/call"):
        assert tenants.other.get(f"/v1/sessions/{name}").status_code == 404


def test_the_metrics_and_the_machine_are_the_operator_s(tenants: Tenants) -> None:
    for path in ("/metrics", "/v1/live", "/v1/live/x"):
        refused = tenants.acme.get(path)
        assert refused.status_code == 404
        assert "operator-only" in refused.text
    counted = tenants.default.get("/metrics")
    assert counted.status_code == 200
    assert not [word for word in SECRETS if word in counted.text]
    assert tenants.acme.get("/v1/access").json()["tenant"] == "acme"


def test_each_route_of_the_table_is_tried() -> None:
    assert {name_of(handler) for handler in HANDLERS} == set(NEEDED)
