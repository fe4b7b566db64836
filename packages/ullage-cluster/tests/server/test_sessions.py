"""Sessions over HTTP as a whole."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.postgres import database
from tests.server.served import Api, Local, patiently, script, serving
from ullage.events import CompactAsked, Event, MessageAdded, SessionStarted, TurnStarted
from ullage.messages import Message, TextPart
from ullage.store.forking import fork
from ullage.store.store import SessionRow
from ullage.turns.loop import Loop, OpenCall, QueuedMessage
from ullage_agent.runtime.dispatch import Embedded
from ullage_server.sessions import shown, state_of
from ullage_simulators import running


def test_a_session_begins_with_the_model_and_settings_that_were_said(api: Api) -> None:
    session = api.session(
        "begun", model="anthropic:claude-sonnet-4-6", settings={"trigger": 0.5}
    )
    assert api.state(session)["model"] == "anthropic:claude-sonnet-4-6"
    settings = api.get(f"/v1/sessions/{session}/settings").json()
    assert settings["own"] == {"model": "anthropic:claude-sonnet-4-6", "trigger": 0.5}
    assert settings["effective"]["trigger"] == 0.5


def test_a_taken_id_is_refused_and_the_session_is_as_it_was(api: Api) -> None:
    session = api.session("taken")
    before = api.until(session)["seq"]
    answer = api.post(
        "/v1/sessions", json={"id": session, "model": "anthropic:claude-sonnet-4-6"}
    )
    assert answer.status_code == 409
    assert api.state(session)["seq"] == before


def test_a_session_says_for_how_long_it_waits_for_its_provider(tmp_path: Path) -> None:
    fault = {"kind": "status", "request": 1, "status": 429, "retry_after_s": 60}
    with (
        running(script({"text": "Done."}, faults=[fault])) as simulator,
        serving(simulator.url("anthropic"), tmp_path / "s.db") as server,
    ):
        server.api.session("s")
        server.api.say("s", "Hello")
        for _ in patiently():
            state = server.api.state("s")
            if state["note"]:
                break
        assert re.fullmatch(r".*asked too often.* Waiting \d+ s", state["note"])
        assert (state["state"], state["paused"]) == ("streaming", "")


@pytest.mark.parametrize(
    "name", ["", "a b", "../x", "import", "x" * 129, "-x", "a\n", "ä", "a/b"]
)
def test_an_id_that_can_t_stand_in_a_path_is_refused(api: Api, name: str) -> None:
    assert api.post("/v1/sessions", json={"id": name}).status_code == 400


def test_an_unknown_setting_is_named_with_the_nearest_one(api: Api) -> None:
    answer = api.post("/v1/sessions", json={"id": "wrong", "settings": {"triger": 0.5}})
    assert answer.status_code == 422
    assert "trigger" in answer.json()["detail"]
    assert api.get("/v1/sessions/wrong").status_code == 404


def test_a_list_is_newest_first_and_goes_on(provider: str, tmp_path: Path) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        for number in range(5):
            server.api.until(server.api.session(f"s{number}"))
        names: list[str] = []
        before: str | None = None
        while True:
            params = {"limit": 2} | ({} if before is None else {"before": before})
            page = server.api.get("/v1/sessions", params=params).json()
            names += [one["id"] for one in page["sessions"]]
            before = page["before"]
            if before is None:
                break
        assert names == [f"s{number}" for number in (4, 3, 2, 1, 0)]


def test_a_deleted_session_is_gone_and_its_id_free_again(api: Api) -> None:
    session = api.session("gone")
    api.say(session, "hello")
    assert api.delete(f"/v1/sessions/{session}").status_code == 204
    assert api.get(f"/v1/sessions/{session}").status_code == 404
    assert api.delete(f"/v1/sessions/{session}").status_code == 404
    api.session("gone")
    assert api.messages("gone") == []


def test_a_fork_goes_its_own_way_from_the_event_that_was_named(api: Api) -> None:
    origin = api.session("origin")
    api.say(origin, "one")
    through = api.until(origin)["seq"]
    api.say(origin, "two")
    api.until(origin)
    answer = api.post(
        f"/v1/sessions/{origin}/fork", json={"id": "fork", "through": through}
    )
    assert (answer.status_code, answer.json()) == (201, {"id": "fork", "dropped": []})
    assert len(api.messages("fork")) == 2
    assert len(api.messages(origin)) == 4
    assert api.state("fork")["origin"] == origin
    assert (
        len(api.messages(api.post(f"/v1/sessions/{origin}/fork", json={}).json()["id"]))
        == 4
    )


def test_a_fork_through_an_event_that_there_is_not_is_refused(api: Api) -> None:
    origin = api.session("short")
    far = api.post(f"/v1/sessions/{origin}/fork", json={"through": 2**63})
    assert far.status_code == 400
    answer = api.post(f"/v1/sessions/{origin}/fork", json={"through": 10_000})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:ullage:problem:no-such-event"


def test_what_was_exported_comes_in_again_as_it_was(api: Api) -> None:
    session = api.session("carried")
    api.say(session, "hello")
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export")
    assert exported.headers["content-type"].startswith("application/x-ndjson")
    assert 'filename="carried.jsonl"' in exported.headers["content-disposition"]
    taken = api.post(
        "/v1/sessions/import", params={"id": "again"}, content=exported.content
    )
    assert taken.status_code == 201
    assert taken.json() | {"skipped": []} == {
        "id": "again",
        "events": len(exported.content.splitlines()) - 1,
        "kept": 0,
        "skipped": [],
        "dropped": [],
    }
    assert api.messages("again") == api.messages(session)


def test_lines_that_can_t_be_used_are_named(api: Api) -> None:
    session = api.session("damaged")
    api.until(session)
    lines = api.get(f"/v1/sessions/{session}/export").content.splitlines()
    assert len(lines) > 3
    torn = b"\n".join([lines[0], lines[1], b'{"type": '])
    taken = api.post("/v1/sessions/import", params={"id": "mended"}, content=torn).json()
    assert taken["events"] == 1
    assert [one["line"] for one in taken["skipped"]] == [3, 0]


@pytest.mark.parametrize(
    "named", ["a\nb", "\x1b[31mred", "a/b", "../../b", "..", "import", "", " ", "x" * 129]
)
def test_an_import_with_an_id_never_driven_needs_another(api: Api, named: str) -> None:
    header = {"format": "ullage-session", "version": 1, "session": named}
    content = json.dumps(header).encode() + b"\n"
    answer = api.post("/v1/sessions/import", content=content)
    assert answer.status_code in (409, 422)
    assert "id" in answer.json()["detail"]
    given = f"another-{named.encode().hex()[:40]}"
    again = api.post("/v1/sessions/import", params={"id": given}, content=content)
    assert (again.status_code, again.json()["id"]) == (201, given)


def test_an_import_of_a_taken_id_is_refused(api: Api) -> None:
    session = api.session("double")
    api.until(session)
    content = api.get(f"/v1/sessions/{session}/export").content
    assert api.post("/v1/sessions/import", content=content).status_code == 409


def test_a_session_with_a_slash_is_reached_by_escaped_name(local: Local) -> None:
    api = local.api
    session = api.session("parent")
    api.until(session)
    asyncio.run(fork(local.store, session, "parent/call-1", through=1))
    assert api.get("/v1/sessions/parent%2Fcall-1").json()["id"] == "parent/call-1"
    assert api.get("/v1/sessions/parent%2fcall-1/context").status_code == 200
    assert api.get("/v1/sessions/parent/call-1").status_code == 404


CALL = OpenCall(call_id="c", name="look", arguments="{}", part="p", state="started")
WAITING = QueuedMessage(message=Message(id="m", role="user"), kind="steer")


@pytest.mark.parametrize(
    ("loop", "state"),
    [
        (Loop(), "idle"),
        (Loop(queue=(WAITING,)), "streaming"),
        (Loop(turn="t"), "streaming"),
        (Loop(turn="t", call="c"), "streaming"),
        (Loop(turn="t", open=(CALL,)), "executing_tools"),
        (Loop(turn="t", paused="approval", open=(CALL,)), "waiting"),
        (Loop(turn="t", paused="failed"), "waiting"),
        (Loop(turn="t", compaction="k"), "compacting"),
        (Loop(compact_asked=CompactAsked()), "compacting"),
    ],
)
def test_each_state_has_its_word(loop: Loop, state: str) -> None:
    assert state_of(loop) == state


def test_tenants_see_that_a_session_is_driven_and_not_by_which_process() -> None:
    row = SessionRow("s", "title", "model", 1.0, 2.0, 3, "host:17", "", 2)
    line = shown(row._replace(tenant="acme"))
    assert (line["held_by"], line["standing"].state) == ("", "works")


def test_who_asks_for_no_session_is_told_a_path_and_no_command(api: Api) -> None:
    told = api.get("/v1/sessions/none").json()
    assert "ullage " not in told["detail"]
    assert "GET /v1/sessions" in told["next"]


def test_an_import_that_the_database_can_t_hold_is_told(provider: str) -> None:
    with database() as url, serving(provider, url) as server:
        server.api.session("s")
        whole = server.api.get("/v1/sessions/s/export").content
        header, first, *_ = whole.splitlines()
        queued = {"type": "queued", "message": {"id": "m\0", "role": "user", "parts": []}}
        line = {**json.loads(first), **queued, "kind": "steer", "position": 1, "seq": 2}
        content = b"\n".join([header, first, json.dumps(line).encode(), b""])
        answer = server.api.post(
            "/v1/sessions/import", params={"id": "t"}, content=content
        )
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "urn:ullage:problem:unusable-input"
    assert "NUL" in answer.json()["detail"]
    assert "postgresql:" not in answer.text


def test_a_turn_that_lost_its_driver_is_shown_as_interrupted_until_it_is_resumed(
    provider: str, tmp_path: Path
) -> None:
    with serving(provider, tmp_path / "s.db") as server:
        message = Message(id="m", role="user", parts=(TextPart(id="m.0", text="Hello."),))
        started = SessionStarted(
            model="claude-haiku-4-5", wire="messages", provider="anthropic"
        )
        left: list[Event] = [
            started,
            TurnStarted(turn="turn-1"),
            MessageAdded(message=message),
        ]
        asyncio.run(server.store.create("left", left))
        before = server.api.state("left")
        assert (before["state"], before["held_by"]) == ("interrupted", "")
        assert before["standing"]["state"] == "paused"
        assert "Resume" in before["note"]
        assert server.api.post("/v1/sessions/left/resume").status_code == 202
        assert server.api.until("left")["state"] == "idle"
        assert server.api.post("/v1/sessions/left/resume").status_code == 409


def test_a_session_is_at_the_place_that_is_named_or_at_the_server_s(
    provider: str, tmp_path: Path
) -> None:
    with serving(provider, tmp_path / "s.db", dispatch=Embedded("cellar")) as server:
        api = server.api
        api.session("own")
        api.session("other", place="attic")
        api.say("other", "Hello.")
        assert api.state("own")["place"] == "cellar"
        for _ in patiently():
            listed = api.get("/v1/sessions").json()["sessions"]
            if any(line["standing"]["kind"] == "worker" for line in listed):
                break
        shown = {line["id"]: line["standing"]["state"] for line in listed}
        assert shown == {"own": "at_rest", "other": "waits"}
        waits = api.state("other")
        assert (waits["state"], waits["place"]) == ("waiting", "attic")
        assert waits["note"] == "No worker of the place attic has taken it."
        file = api.get("/v1/sessions/other/export").content
        taken = api.post("/v1/sessions/import", params={"id": "taken"}, content=file)
        assert taken.status_code == 201
        assert api.state("taken")["place"] == "cellar"


def test_a_cancel_where_no_worker_drives_the_session_is_carried_out_at_once(
    provider: str, tmp_path: Path
) -> None:
    left: list[Event] = [
        SessionStarted(model="claude-haiku-4-5", wire="messages", provider="anthropic"),
        TurnStarted(turn="turn-1"),
        MessageAdded(
            message=Message(id="m", role="user", parts=(TextPart(id="m.0", text="Hi."),))
        ),
    ]
    with serving(provider, tmp_path / "s.db", dispatch=Embedded("cellar")) as server:
        asyncio.run(server.store.create("left", left, place="attic"))
        api = server.api
        api.session("new", place="attic")
        for session in ("new", "left"):
            api.say(session, "Hello.", id="hello")
            done = api.post(f"/v1/sessions/{session}/cancel", json={}).json()
            assert done["cancelled"]
            assert [each["id"] for each in done["returned"]] == ["hello"]
            state = api.state(session)
            assert (state["state"], state["queued"], state["note"]) == ("idle", 0, "")
            assert not asyncio.run(server.store.about(session)).is_due
        assert api.state("left")["ended"] == "cancelled"


@pytest.mark.parametrize("place", ["", "The Attic", "-a", "a" * 41, "a\n", 3])
def test_what_is_no_name_of_a_place_is_refused(api: Api, place: object) -> None:
    refused = api.post("/v1/sessions", json={"id": "unplaced", "place": place})
    assert refused.status_code == 400
    assert api.get("/v1/sessions/unplaced").status_code == 404
