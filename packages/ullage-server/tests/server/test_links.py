"""Links: tokens that read one session alone, until they expire or are revoked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.server.served import WAIT_S, Api, Local, serving
from ullage.cli import main
from ullage.errors import CommandRefused
from ullage.store.records import FileRecords
from ullage_server.app import HANDLERS
from ullage_server.policy import MOST_LINKS
from ullage_server.scopes import NEEDED, name_of
from ullage_server.tokens import LINKS, Bearer, NamedTokens, Tokens


class Linked(NamedTuple):
    server: Local
    links: NamedTokens
    owner: Api
    made: dict[str, Any]
    reader: Api


def client(server: Local, token: str) -> Api:
    headers = {"Authorization": f"Bearer {token}"}
    return Api(base_url=server.url, timeout=60, headers=headers)


@pytest.fixture(scope="module")
def linked(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    records = FileRecords(tmp_path_factory.mktemp("links"))
    kept = NamedTokens(records)
    with ExitStack() as stack:
        place = Path(records.shown) / "s.db"
        server = stack.enter_context(serving(provider, place, tokens=kept))
        token = kept.add("anna", ("admin",), expires=None, now=0)
        owner = stack.enter_context(client(server, token))
        for name in ("shown", "shown2", "other"):
            owner.session(name)
            owner.say(name, "hello")
            owner.until(name)
        made = owner.post("/v1/sessions/shown/links", json={"hours": 2}).json()
        reader = stack.enter_context(client(server, made["token"]))
        yield Linked(server, NamedTokens(records, LINKS), owner, made, reader)


def test_a_link_reads_its_session_and_nothing_else(linked: Linked) -> None:
    asked = 0
    for handler in HANDLERS:
        name, (path,) = name_of(handler), handler.paths
        if NEEDED[name] is None or name == "get_access":
            continue
        for part in ("message", "call", "grant", "live", "handle"):
            path = path.replace(f"{{{part}:str}}", "m")
        has_session = "{session:str}" in path
        for session in ("other", "shown2", "none") if has_session else ("",):
            for method in handler.http_methods:
                if str(method) in ("OPTIONS", "HEAD"):
                    continue
                found = linked.reader.request(
                    str(method), path.replace("{session:str}", session), json={}
                )
                is_read = NEEDED[name] == "read" and has_session
                assert found.status_code == (404 if is_read else 403), (name, session)
                asked += 1
    assert asked > 60
    assert linked.reader.get("/v1/access").json() == {
        "name": linked.made["name"],
        "scopes": ["read"],
        "tenant": "default",
        "expires": linked.made["expires"],
        "session": "shown",
        "live": False,
    }
    assert linked.made["name"].startswith("anna-link-")


def test_a_link_shows_the_whole_session_without_its_driver(linked: Linked) -> None:
    reader = linked.reader
    assert reader.state("shown")["held_by"] == ""
    assert len(reader.messages("shown")) == 2
    assert reader.until_event("shown", "message_added").data["message"]["role"] == "user"
    for path in ("export", "context", "queue", "approvals", "spend"):
        assert reader.get(f"/v1/sessions/shown/{path}").status_code == 200, path


def test_a_link_shows_no_files_of_the_session(linked: Linked) -> None:
    assert linked.reader.get("/v1/sessions/shown/files").status_code == 403


def test_a_revoked_link_ends_what_follows_it(linked: Linked) -> None:
    made = linked.owner.post("/v1/sessions/shown/links", json={}).json()
    ended: list[float] = []
    is_there = threading.Event()

    def follow() -> None:
        with client(linked.server, made["token"]) as api:
            for _ in api.events("shown", params={"after": "0"}):
                is_there.set()
        ended.append(time.monotonic())

    thread = threading.Thread(target=follow)
    thread.start()
    assert is_there.wait(WAIT_S)
    linked.links.revoke(made["name"])
    thread.join(WAIT_S)
    assert ended
    with client(linked.server, made["token"]) as api:
        assert api.get("/v1/sessions/shown").status_code == 401


def test_a_link_does_not_outlive_the_token_that_made_it(tmp_path: Path) -> None:
    now = [1_000.0]
    source = NamedTokens(FileRecords(tmp_path))
    tokens = Tokens(
        "launched-with-a-long-and-random-word-8c1f", source, clock=lambda: now[0]
    )
    maker = Bearer("anna", frozenset(("write",)), expires=1_500.0)
    link = tokens.add_link("s", maker, 3_600)
    assert link.expires == 1_500.0
    found = tokens.bearer(link.token)
    assert isinstance(found, Bearer) and tokens.is_valid(found)
    now[0] = 1_501.0
    assert not tokens.is_valid(found)
    assert not isinstance(tokens.bearer(link.token), Bearer)
    tokens.add_link("s", Bearer("", frozenset()), 60)
    assert [
        each.name[:4] for each in NamedTokens(source.records, LINKS).read() or ()
    ] == ["link"]


def test_a_link_is_revoked_with_the_token_that_made_it(tmp_path: Path) -> None:
    source = NamedTokens(FileRecords(tmp_path))
    given = source.add("anna", ("write",), expires=None, now=0)
    source.add("bert", ("write",), expires=None, now=0)
    tokens = Tokens("", source)
    maker = tokens.bearer(given)
    assert isinstance(maker, Bearer)
    link = tokens.add_link("s", maker, 3_600)
    reader = tokens.bearer(link.token)
    assert isinstance(reader, Bearer) and tokens.is_valid(reader)
    source.revoke("anna")
    source.add("anna", ("write",), expires=None, now=0)  # another person of the name
    assert tokens.bearer(link.token) is None
    assert not tokens.is_valid(reader)


def test_a_link_reads_no_later_session_of_the_same_id(linked: Linked) -> None:
    linked.owner.session("again")
    made = linked.owner.post("/v1/sessions/again/links", json={}).json()
    with client(linked.server, made["token"]) as api:
        assert api.get("/v1/sessions/again").status_code == 200
        assert linked.owner.delete("/v1/sessions/again").status_code == 204
        assert api.get("/v1/sessions/again").status_code == 404
        linked.owner.session("again")
        for path in ("", "/messages", "/export", "/events"):
            assert api.get(f"/v1/sessions/again{path}").status_code == 404


def test_links_make_no_server_require_tokens_and_are_few(tmp_path: Path) -> None:
    source = NamedTokens(FileRecords(tmp_path))
    links = NamedTokens(source.records, LINKS)
    launched = Tokens("launched-with-a-long-and-random-word-8c1f", source)
    launched.add_link("s", Bearer("", frozenset()), 60)
    bare = Tokens("", source)
    assert not bare.are_required()
    with pytest.raises(CommandRefused, match="keeps no tokens"):
        bare.add_link("s", Bearer("", frozenset()), 60)
    for number in range(MOST_LINKS - 1):
        links.add(f"l{number}", ("read",), expires=None, now=0, session="s")
    with pytest.raises(CommandRefused, match="200 links"):
        launched.add_link("s", Bearer("", frozenset()), 60)
    launched.add_link("s", Bearer("", frozenset(), tenant="acme"), 60)


def test_the_operator_sees_links_and_revokes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    source = NamedTokens(FileRecords(tmp_path))
    tokens = Tokens("launched-with-a-long-and-random-word-8c1f", source)
    link = tokens.add_link("notes", Bearer("", frozenset()), 60)
    assert main(["admin", "token", "list"]) == 0
    assert "the session notes alone" in capsys.readouterr().out
    assert main(["admin", "token", "revoke", link.name]) == 0
    assert "No token is left" not in capsys.readouterr().out
    assert tokens.bearer(link.token) is None
