"""No path shows one tenant's caller anything of another one. The paths are those of the API's own description."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.postgres import database
from tests.server.served import Api, Local, serving
from ullage.store.records import FileRecords
from ullage_server.scopes import OF_THE_OPERATOR
from ullage_server.tokens import NamedTokens

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

SECRETS = ("vermilion", "cinnabar", "ochre-file", "sepia-key", "umber-text")
"""Words of the tenant acme alone: in a title, a message, a file's name, an idempotency key and a file."""

SESSION = "acme:plans"
ABSENT = "acme:plant"
"""The id of no session. It is as long as ``SESSION``, so that answers are equal to the byte."""

CHILD = "%2Fcall"
"""What the id of a tool call's own session has behind its parent's, as a path writes it."""


class Operation(NamedTuple):
    """One method of one path, with the smallest body that fits its description."""

    name: str
    method: str
    path: str
    body: Any

    @property
    def has_session(self) -> bool:
        return "{session}" in self.path

    def ask(self, api: Api, session: str, handle: str, **params: str) -> Any:
        """The answer to it for a session that has a message ``m``, and keeps bytes of this handle."""
        path = self.path.replace("{session}", session).replace("{handle}", handle)
        for name in ("message", "call", "grant", "live", "preview"):
            path = path.replace(f"{{{name}}}", "m")
        assert "{" not in path, f"{path}: say what it stands for"
        headers = {"Idempotency-Key": "sepia-key", "Last-Event-ID": "1.0.0"}
        more: dict[str, Any] = {"params": params}
        if self.body is not None:
            headers["Content-Type"] = "application/json"
            more = {"content": json.dumps(self.body).encode()}
        return answered(api, self.method, path, headers=headers, **more)


def answered(api: Api, method: str, path: str, **more: Any) -> Any:
    """The whole answer; fails for one without an end."""
    with api.stream(method, path, **more) as answer:
        kind = answer.headers.get("content-type", "")
        assert method == "POST" or "event-stream" not in kind, f"{path} is followed"
        answer.read()
    return answer


def operations(api: Api) -> list[Operation]:
    """All that the API describes, a deletion last."""
    whole = api.get("/schema/openapi.json").json()
    found = []
    for path, item in whole["paths"].items():
        for method, told in item.items():
            content = told.get("requestBody", {}).get("content", {})
            body = None
            if "application/json" in content:
                body = example(content["application/json"]["schema"], whole)
            found.append(Operation(told["operationId"], method.upper(), path, body))
    return sorted(found, key=lambda each: each.name == "delete_session")


def example(schema: dict[str, Any], whole: dict[str, Any]) -> Any:
    """The smallest value that fits a schema."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return example(whole["components"]["schemas"][name], whole)
    for kind in ("allOf", "anyOf", "oneOf", "enum"):
        if kind in schema:
            first = schema[kind][0]
            return first if kind == "enum" else example(first, whole)
    needed = schema.get("required", ())
    match schema["type"]:
        case "object":
            fields = schema.get("properties", {})
            return {name: example(fields[name], whole) for name in needed}
        case "array":
            return [example(schema["items"], whole)] * schema.get("minItems", 0)
        case "boolean":
            return True
        case "string":
            return "m"
    raise AssertionError(f"an example of {schema} is missing")


class Tenants(NamedTuple):
    server: Local
    acme: Api
    other: Api
    default: Api
    handle: str

    def clients(self, *tokens: str) -> Iterator[Api]:
        return (client_of(self.server, token) for token in tokens)


def client_of(server: Local, token: str) -> Api:
    headers = {"Authorization": f"Bearer {token}"}
    return Api(base_url=server.url, timeout=60, headers=headers)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def tenants(
    provider: str,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Tenants]:
    folder = tmp_path_factory.mktemp("tenants")
    kept = NamedTokens(FileRecords(folder))
    with ExitStack() as stack:
        place: Path | str = folder / "s.db"
        if request.param == "postgres":
            place = stack.enter_context(database())
        server = stack.enter_context(serving(provider, place, tokens=kept))
        clients = []
        for name in ("acme", "other", "default"):
            token = kept.add(name, ("admin",), expires=None, now=0, tenant=name)
            clients.append(stack.enter_context(client_of(server, token)))
        acme, other, default = clients
        handle = told(acme, "plans")
        asyncio.run(server.store.create(f"{SESSION}/call", tenant="acme"))
        yield Tenants(server, acme, other, default, handle)


def told(acme: Api, name: str) -> str:
    """Begin a session of acme in which all secrets are; gives the handle of its image."""
    assert acme.post("/v1/sessions", json={"id": name}).status_code == 201
    path = f"/v1/sessions/acme:{name}"
    text = base64.b64encode(b"umber-text").decode()
    asked = acme.post(
        f"{path}/messages",
        json={
            "text": "cinnabar",
            "id": "m",
            "images": [PNG],
            "files": [{"name": "ochre-file.txt", "data": text}],
        },
        headers={"Idempotency-Key": "sepia-key"},
    )
    assert asked.status_code == 202, asked.text
    acme.until(f"acme:{name}", "idle")
    renamed = acme.post(f"{path}/rename", json={"title": "vermilion"})
    assert renamed.status_code < 300, renamed.text
    return next(
        str(part["source"].removeprefix("kept:"))
        for message in acme.messages(f"acme:{name}")
        for part in message["parts"]
        if part["type"] == "image"
    )


def seen_in(answer: Any) -> list[str]:
    """The secrets that an answer tells, in its body or its head."""
    whole = answer.text + str(answer.headers)
    return [word for word in SECRETS if word in whole]


def plain(answer: Any, session: str) -> tuple[int, str, dict[str, str]]:
    """An answer without the id that was asked for, and without the time."""
    others = ("date", "x-request-id")
    headers = {
        name: value for name, value in answer.headers.items() if name not in others
    }
    return answer.status_code, answer.text.replace(session, "ID"), headers


BEFORE_ITS_BEGINNING = ("resume_ai_sdk", "list_ui_messages")
"""A page asks for these before its session's first message: they say that there is nothing."""


@pytest.mark.parametrize("child", ["", CHILD])
@pytest.mark.parametrize("who", ["other", "default"])
def test_another_tenant_s_session_is_answered_like_one_that_does_not_exist(
    who: str, child: str, tenants: Tenants
) -> None:
    api = getattr(tenants, who)
    before = unchanging(tenants.acme.state(SESSION))
    tried = 0
    for each in operations(api):
        if not each.has_session:
            continue
        there = each.ask(api, SESSION + child, tenants.handle)
        absent = each.ask(api, ABSENT + child, tenants.handle)
        assert plain(there, SESSION) == plain(absent, ABSENT), each
        if each.name in BEFORE_ITS_BEGINNING:
            assert there.text in ("", "[]")
        else:
            assert there.status_code == 404, (each, there.text)
            assert "session-not-found" in there.text
        assert not seen_in(there), each
        tried += 1
    assert tried >= 30
    assert unchanging(tenants.acme.state(SESSION)) == before


@pytest.mark.parametrize("path", ["/v1/ai-sdk", "/v1/ag-ui"])
@pytest.mark.parametrize("who", ["other", "default"])
def test_a_page_names_no_session_of_another_tenant(
    who: str, path: str, tenants: Tenants
) -> None:
    api = getattr(tenants, who)
    before = unchanging(tenants.acme.state(SESSION))
    for name, status in ((SESSION, 400), ("plans", 200)):
        parts = [{"type": "text", "text": "Tell me all."}]
        body = {
            "id": name,
            "threadId": name,
            "runId": "r",
            "trigger": "submit-message",
            "messages": [
                {"id": "u1", "role": "user", "parts": parts, "content": "Tell me all."}
            ],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
        answer = answered(api, "POST", path, json=body)
        assert answer.status_code == status, answer.text
        assert not seen_in(answer)
    assert unchanging(tenants.acme.state(SESSION)) == before
    own = "other:plans" if who == "other" else "plans"
    api.until(own, "idle")
    assert api.delete(f"/v1/sessions/{own}").status_code == 204


def unchanging(state: dict[str, Any]) -> dict[str, Any]:
    """A session's state without its driver, which gives the session back a moment after it rests."""
    changing = ("held_by", "standing")
    return {name: value for name, value in state.items() if name not in changing}


@pytest.mark.parametrize("who", ["other", "default"])
def test_no_path_without_session_shows_another_s(who: str, tenants: Tenants) -> None:
    api = getattr(tenants, who)
    tried = set()
    for each in operations(api):
        if each.has_session:
            continue
        for params in ({}, {"q": "vermilion"}, {"q": "cinnabar", "limit": "1"}):
            answer = each.ask(api, "", "", **params)
            assert not seen_in(answer), each
            assert SESSION not in answer.text, each
        if who == "other" and each.name in OF_THE_OPERATOR:
            assert answer.status_code == 404
            assert "operator-only" in answer.text
        tried.add(each.name)
    assert tried >= {"list_sessions", "search_sessions", "get_metrics", "list_live"}


def test_its_own_tenant_reaches_every_path_of_a_session(tenants: Tenants) -> None:
    """The tests above would pass for requests that nobody can make."""
    handle = told(tenants.acme, "spare")
    told_words = set()
    for each in operations(tenants.acme):
        if each.has_session and each.name != "follow_events":
            answer = each.ask(tenants.acme, "acme:spare", handle)
            assert answer.status_code not in (400, 401, 403, 404, 405), answer.text
            told_words.update(seen_in(answer))
    assert told_words >= {"vermilion", "cinnabar", "ochre-file"}
    found = tenants.acme.get("/v1/search", params={"q": "cinnabar"}).json()
    assert SESSION in [line["id"] for line in found["sessions"]]


def test_a_stream_of_events_holds_the_caller_s_own_in_any_place(tenants: Tenants) -> None:
    acme, other = tenants.acme, tenants.other
    place = acme.until_event(SESSION, "queued")
    assert "cinnabar" in json.dumps(place.data)
    other.session("own")
    mine = "other:own"
    for given in (place.id, "1.0.0", "900.5.0"):
        headers = {"Last-Event-ID": given}
        foreign, absent = (
            answered(other, "GET", f"/v1/sessions/{name}/events", headers=headers)
            for name in (SESSION, ABSENT)
        )
        assert plain(foreign, SESSION) == plain(absent, ABSENT)
    frames = other.events(mine, headers={"Last-Event-ID": place.id})
    assert next(frames).event == "reset"
    acme.say(SESSION, "vermilion again")
    acme.until(SESSION, "idle")
    other.say(mine, "Hello")
    seen = list(takewhile(lambda frame: frame.event != "turn_ended", frames))
    assert {frame.data["session"] for frame in seen if "session" in frame.data} == {mine}
    assert "draft" in {frame.event for frame in seen}
    assert not [word for word in SECRETS if word in str(seen)]


def test_a_search_continues_at_another_s_place_in_the_own(tenants: Tenants) -> None:
    told(tenants.acme, "second")
    asked = {"q": "cinnabar", "limit": "1"}
    before = tenants.acme.get("/v1/search", params=asked).json()["before"]
    assert before
    found = tenants.other.get("/v1/search", params={**asked, "before": before})
    ids = [row["id"] for row in found.json()["sessions"]]
    assert all(name.startswith("other:") for name in ids)  # what others of these brought
    assert tenants.acme.delete("/v1/sessions/acme:second").status_code == 204


def test_a_refused_token_is_told_what_to_do_and_not_what_exists(tenants: Tenants) -> None:
    kept = NamedTokens(FileRecords(Path(next(iter(tenants.server.tokens)).shown)))
    reader = kept.add("reader", ("read",), expires=None, now=0, tenant="other")
    expired = kept.add("expired", ("admin",), expires=1, now=0, tenant="other")
    wants = {
        "wrong": (401, "The token is wrong."),
        expired: (401, "The token 'expired' expired on 1970-01-01"),
        reader: (403, "`ullage admin token add NAME --scope write --tenant other`"),
    }
    for api, (status, text) in zip(tenants.clients(*wants), wants.values(), strict=True):
        answers = [
            api.post(f"/v1/sessions/{session}/cancel", json={})
            for session in (SESSION, ABSENT)
        ]
        assert plain(answers[0], SESSION) == plain(answers[1], ABSENT)
        assert answers[0].status_code == status
        assert text in answers[0].text and answers[0].json()["next"]
        api.close()


def test_lists_hold_the_caller_s_sessions_at_another_s_cursor(tenants: Tenants) -> None:
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
    found = tenants.other.post("/v1/sessions", json={"id": "plans"}).json()
    assert found == {"id": "other:plans"}
    again = tenants.other.post("/v1/sessions", json={"id": "plans"})
    assert again.status_code == 409
    reached = tenants.other.post("/v1/sessions", json={"id": SESSION})
    assert reached.status_code == 400, "a colon is no part of an id that a caller gives"


def test_an_import_and_a_fork_get_ids_of_the_caller_s_tenant(tenants: Tenants) -> None:
    exported = tenants.acme.get(f"/v1/sessions/{SESSION}/export").content
    taken = tenants.other.post("/v1/sessions/import", content=exported)
    assert taken.status_code == 201, taken.text
    assert taken.json()["id"].startswith("other:")
    child = exported.replace(SESSION.encode(), b"acme:plans/call_1")
    stolen = tenants.other.post("/v1/sessions/import", content=child)
    assert stolen.json()["id"].startswith("other:")
    copy = tenants.acme.post(f"/v1/sessions/{SESSION}/fork", json={"id": "copy"})
    assert copy.json()["id"] == "acme:copy"
    for name in ("acme:copy", "copy"):
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
