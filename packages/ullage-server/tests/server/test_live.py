"""The sessions of other programs over HTTP: who sees them, that they are followed, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.running_logs import GrowingSession, live_in, metered
from tests.server.served import Local, serving
from ullage.errors import InputError
from ullage.importers import read
from ullage.store.records import FileRecords
from ullage.watching.running import log_meter
from ullage_server.live import REST
from ullage_server.problems import NoLiveSession
from ullage_server.tokens import NamedTokens


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def session(home: Path) -> GrowingSession:
    """A session with a turn."""
    begun = GrowingSession(home, "11111111-aaaa")
    begun.turn("Which price?")
    return begun


@pytest.fixture
def live(provider: str, tmp_path: Path, home: Path) -> Iterator[Local]:
    """A server that shows what runs for this home directory."""
    with serving(provider, tmp_path / "s.db", shows=live_in(home)) as server:
        yield server


def only(local: Local) -> dict[str, Any]:
    """The one session of the list."""
    (line,) = local.api.get("/v1/live").json()["sessions"]
    found: dict[str, Any] = line
    return found


def test_a_running_session_of_another_program_is_listed_with_its_gauge(
    live: Local, session: GrowingSession
) -> None:
    line = only(live)
    assert line["program"].startswith("claude-code")
    assert (line["project"], line["calls"], line["problem"]) == ("shop", 1, "")
    assert line["low"] <= line["tokens"] <= line["high"]
    assert line["window"] == 200_000


def test_the_list_names_no_path(live: Local, session: GrowingSession) -> None:
    answer = live.api.get("/v1/live").text
    assert str(session.path) not in answer
    assert session.cwd not in answer


def test_its_view_is_its_log_s_reading(live: Local, session: GrowingSession) -> None:
    view = live.api.get(f"/v1/live/{only(live)['id']}").json()
    imported = read(session.path)
    meter = log_meter(imported)
    for event in imported.events:
        meter.apply(event)
    assert view["reading"]["used"]["tokens"] == meter.reading().used.tokens
    assert view["is_running"] and view["is_whole"]
    assert view["advice"]["suggestions"] == []
    assert len(view["steps"]) == view["log"]["calls"] == 1


def test_only_a_log_with_lines_counts_them(home: Path, session: GrowingSession) -> None:
    metered(home, "proxied")
    sessions = live_in(home)
    lines: dict[bool, int | None] = {}
    for line in sessions.list().sessions:
        lines[line.is_proxied] = sessions.view(line.id)[1].log.lines
    assert lines == {True: None, False: 2}


def test_an_unchanged_log_is_304_and_empty(live: Local, session: GrowingSession) -> None:
    for path in ("/v1/live", f"/v1/live/{only(live)['id']}"):
        first = live.api.get(path)
        tag = first.headers["etag"]
        again = live.api.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        session.turn("And now?")
        later = live.api.get(path, headers={"If-None-Match": tag})
        assert later.status_code == 200
        assert later.headers["etag"] != tag


class SlowClock:
    """Each look at it takes ten seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.step = 10.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_slow_view_is_not_computed_at_once(home: Path, session: GrowingSession) -> None:
    clock = SlowClock()
    sessions = live_in(home, rest=REST)
    sessions._clock = clock
    name = sessions.list().sessions[0].id
    first = sessions.view(name)
    clock.step = 0.0
    session.turn("More.")
    assert sessions.view(name) == first
    clock.now += 1_000
    assert sessions.view(name)[1].log.calls == 2


def test_an_ended_session_stays_on_show(home: Path, session: GrowingSession) -> None:
    sessions = live_in(home)
    name = sessions.list().sessions[0].id
    number, view = sessions.view(name)
    assert view.is_running
    sessions._running._find = live_in(home / "empty")._running._find
    sessions._running._next_search = float("-inf")
    later, gone = sessions.view(name)
    assert later > number
    assert not gone.is_running
    assert sessions.view(name) == (later, gone)


def test_sessions_of_the_servers_own_store_are_not_listed_twice(
    home: Path, session: GrowingSession
) -> None:
    assert live_in(home, own=session.path).list().sessions == ()


def test_a_session_that_is_not_there_is_404(live: Local) -> None:
    answer = live.api.get("/v1/live/none")
    assert answer.status_code == 404
    assert "GET /v1/live" in answer.json()["next"]


def test_a_log_that_holds_nothing_yet_says_so(home: Path) -> None:
    begun = GrowingSession(home, "22222222-aaaa")
    begun.path.write_text('{"type":"summary","summary":"x","leafUuid":"y"}\n')
    sessions = live_in(home)
    (line,) = sessions.list().sessions
    assert line.problem
    assert line.tokens is None
    with pytest.raises(InputError):
        sessions.view(line.id)


def test_hostile_names_are_cut(home: Path) -> None:
    hostile = GrowingSession(home, "33333333-aaaa")
    hostile.cwd = "/" + "<b>" * 100_000
    hostile.turn("<script>" + "A" * 1_000_000)
    (line,) = live_in(home).list().sessions
    assert len(line.title) <= 200
    assert len(line.project) <= 200


def test_a_vanished_log_is_an_input_error(home: Path, session: GrowingSession) -> None:
    sessions = live_in(home)
    name = sessions.list().sessions[0].id
    session.path.unlink()
    with pytest.raises((InputError, NoLiveSession)):
        sessions.view(name)


# -- who sees them --


def test_a_server_that_shows_nothing_says_how(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        answer = server.api.get("/v1/live")
        assert answer.status_code == 404
        assert "ullage serve --live" in answer.json()["next"]
        assert server.api.get("/v1/access").json()["live"] is False


def test_only_tokens_that_allow_everything_see_them(
    provider: str, tmp_path: Path, home: Path, session: GrowingSession
) -> None:
    tokens = NamedTokens(FileRecords(tmp_path))
    some = tokens.add("some", ("write", "approve"), expires=None, now=0)
    all_ = tokens.add("all", ("admin",), expires=None, now=0)
    session.path.unlink()
    metered(home, "main")
    shows = live_in(home)
    with serving(provider, tmp_path / "s.db", tokens=tokens, shows=shows) as server:

        def get(path: str, token: str) -> Any:
            return server.api.get(path, headers={"Authorization": f"Bearer {token}"})

        name = get("/v1/live", all_).json()["sessions"][0]["id"]
        for path in ("/v1/live", f"/v1/live/{name}"):
            assert get(path, all_).status_code == 200
            assert get(path, some).status_code == 403
        assert get("/v1/access", all_).json()["live"] is True
        assert get("/v1/access", some).json()["live"] is False
