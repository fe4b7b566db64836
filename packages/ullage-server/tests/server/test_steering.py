"""Steering the loop over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.served import Api, Local, script, serving
from ullage_agent.tools.functions import tool
from ullage_simulators import running

ASKS = {
    "when": {"contains": "press", "after": "user"},
    "calls": [{"name": "press", "arguments": {"what": "grapes"}}],
}
WAITS = {
    "when": {"contains": "ripen", "after": "user"},
    "calls": [{"name": "ripen", "arguments": {"what": "wine"}}],
}
SUMMARY = {
    "when": {"contains": "summar"},
    "text": "The cask was looked at, again and again, and found to be whole.",
}
PLAIN = {"text": "It is done, and here is what was done, at some length. " * 8}

pressed: list[str] = []


@tool(needs_approval=True)
async def press(what: str) -> str:
    """Press something.

    Args:
        what: what to press
    """
    pressed.append(what)
    return f"{what} pressed"


async def ripen(what: str) -> str:
    """Wait for something to ripen.

    Args:
        what: what to wait for
    """
    await asyncio.sleep(60)
    return what


@pytest.fixture(scope="module")
def cellar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server whose agent has tools."""
    with (
        running(script(ASKS, WAITS, SUMMARY, PLAIN)) as simulator,
        serving(
            simulator.url("anthropic"),
            tmp_path_factory.mktemp("cellar") / "s.db",
            tools=[press, ripen],
        ) as server,
    ):
        yield server


def test_a_cancel_at_rest_answers_that_nothing_was_kept(cellar: Local) -> None:
    session = cellar.api.session("resting")
    answer = cellar.api.post(f"/v1/sessions/{session}/cancel")
    assert answer.json() == {"cancelled": True, "persisted": None, "returned": []}


def test_a_cancel_while_tools_run_says_so(cellar: Local) -> None:
    session = cellar.api.session("ripening")
    cellar.api.say(session, "let it ripen")
    cellar.api.until_event(session, "tool_started")
    assert cellar.api.state(session)["state"] == "executing_tools"
    answer = cellar.api.post(
        f"/v1/sessions/{session}/cancel", json={"tools": "stop"}
    ).json()
    assert answer["persisted"] == "tools_in_progress"
    assert cellar.api.until(session)["ended"] == "cancelled"


def test_a_call_that_needs_approval_runs_once_it_is_given(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("approved")
    api.say(session, "press the grapes")
    state = api.until(session, "waiting")
    assert state["paused"] == "approval"
    (call,) = state["open"]
    assert (call["name"], call["state"]) == ("press", "asked")
    found = api.post(
        f"/v1/sessions/{session}/approvals/other", json={"approved": True}
    ).status_code
    assert found == 409
    pressed.clear()
    path = f"/v1/sessions/{session}/approvals/{call['call_id']}"
    assert api.post(path, json={"approved": True}).status_code == 202
    assert api.until(session, "idle")["ended"] == "finished"
    assert pressed == ["grapes"]
    assert api.post(path, json={"approved": False}).status_code == 409


def test_an_answer_counts_for_the_call_that_was_shown_alone(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("digest")
    pressed.clear()
    api.say(session, "press the grapes")
    (call,) = api.until(session, "waiting")["open"]
    (question,) = api.get(f"/v1/sessions/{session}/approvals").json()["approvals"]
    assert question["digest"] == call["digest"]
    shown = ["".join(piece["text"] for piece in line) for line in question["lines"]]
    assert (shown, question["offer"]) == (["press", "what: grapes"], "every press call")
    path = f"/v1/sessions/{session}/approvals/{call['call_id']}"
    for wrong in (
        {"digest": "0" * 64},
        {"digest": "0" * 64, "always": "session"},
        {"always": "session"},
    ):
        refused = api.post(path, json={"approved": True, **wrong})
        assert refused.status_code == 409
    assert pressed == []
    found = api.post(path, json={"approved": True, "digest": call["digest"]}).status_code
    assert found == 202
    api.until(session, "idle")
    assert pressed == ["grapes"]
    assert api.get(f"/v1/sessions/{session}/approvals").json() == {"approvals": []}


def test_settings_change_while_running_and_the_reading_shows_it(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("settings")
    changed = api.patch(
        f"/v1/sessions/{session}/settings", json={"trigger": 0.5, "window": "100k"}
    )
    assert changed.status_code == 200, changed.text
    assert changed.json()["own"] == {"trigger": 0.5, "window": "100k"}
    assert changed.json()["effective"]["window"] == 100_000
    api.until(session)
    reading = _reading_with(api, session, 100_000)
    point = reading["compaction_point"]
    assert isinstance(point, dict)
    assert point["tokens"] == 50_000
    back = api.patch(f"/v1/sessions/{session}/settings", json={"window": None})
    assert back.json()["own"] == {"trigger": 0.5}


def _reading_with(api: Api, session: str, window: int) -> dict[str, object]:
    for _ in range(2_000):
        reading = dict(api.get(f"/v1/sessions/{session}/context").json())
        if reading["window"] == {"tokens": window, "source": "user"}:
            return reading
    raise AssertionError(reading)


@pytest.mark.parametrize(
    "body", [{"triger": 1}, {"trigger": -1}, {"self": 1}, {"root": 3}]
)
def test_a_wrong_setting_changes_nothing(cellar: Local, body: dict[str, object]) -> None:
    session = str(cellar.api.post("/v1/sessions", json={}).json()["id"])
    before = cellar.api.until(session)["seq"]
    answer = cellar.api.patch(
        f"/v1/sessions/{session}/settings", json={"reserve": 5_000, **body}
    )
    assert answer.status_code == 422, answer.text
    assert cellar.api.state(session)["seq"] == before


BEYOND: list[dict[str, object]] = [
    {"base_url": "http://127.0.0.1:9/v1"},
    {"tools": ["shell"]},
    {"root": "/"},
    {"sandbox": "off"},
    {"mcp": {"a": {"command": "sh"}}},
    {"params": {"mcp_servers": [{"type": "url", "url": "https://evil.example"}]}},
    {"instruction_files": [".env"]},
    {"models": {"m": {"window": 5}}},
]


@pytest.mark.parametrize("beyond", BEYOND, ids=lambda one: next(iter(one)))
def test_a_caller_gets_no_more_than_the_server_was_started_with(
    cellar: Local, beyond: dict[str, object]
) -> None:
    refused = cellar.api.post("/v1/sessions", json={"id": "greedy", "settings": beyond})
    assert refused.status_code == 422, refused.text
    assert (
        "more than this program was started with" in refused.text
        and "ullage.toml" in refused.text
    )
    assert cellar.api.get("/v1/sessions/greedy").status_code == 404
    session = str(cellar.api.post("/v1/sessions", json={}).json()["id"])
    before = cellar.api.until(session)["seq"]
    found = cellar.api.patch(f"/v1/sessions/{session}/settings", json=beyond).status_code
    assert found == 422
    assert cellar.api.state(session)["seq"] == before


def test_settings_tell_no_secrets(cellar: Local) -> None:
    session = cellar.api.session("secrets")
    told = cellar.api.get(f"/v1/sessions/{session}/settings").json()
    assert not {"mcp", "models", "params"} & told["effective"].keys()


def test_a_compaction_of_a_part_names_one_message_that_is_in_view(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("part")
    path = f"/v1/sessions/{session}/compact"
    for order, why in (
        ({"from": "gone"}, "There is no message 'gone' in view."),
        ({"up_to": "gone"}, "There is no message 'gone' in view."),
        ({"up_to": "a", "from": "b"}, "not both"),
    ):
        refused = api.post(path, json=order)
        assert refused.status_code == 409
        assert why in refused.json()["detail"]
    assert api.post(path, json={"from_": "gone"}).status_code == 400
    schema = api.get("/schema/openapi.json").json()["components"]["schemas"]
    assert schema["CompactOrder"]["properties"].keys() == {
        "instructions",
        "up_to",
        "from",
    }


def test_a_compaction_is_asked_for_explained_and_undone(cellar: Local) -> None:
    api, session = (
        cellar.api,
        cellar.api.session("compacted", settings={"window": 20_000, "reserve": 2_000}),
    )
    for number in range(6):
        api.say(session, f"number {number}: " + "tell me of the cask. " * 200)
        api.until(session)
    before = api.get(f"/v1/sessions/{session}/context").json()
    messages = api.messages(session)
    newest = api.state(session)["seq"]
    found = api.post(
        f"/v1/sessions/{session}/compact", json={"instructions": "keep the cask"}
    ).status_code
    assert found == 202
    committed = api.until_event(session, "compaction_committed", after=newest)
    api.until(session)
    after = api.get(f"/v1/sessions/{session}/context").json()
    assert after["used"]["tokens"] < before["used"]["tokens"]
    gone = committed.data["summarised"][0]
    where = api.get(f"/v1/sessions/{session}/explain/{gone}").json()
    assert where["status"] == "summarised"
    assert where["holder"] == committed.data["summary"]["id"]
    undone = api.post(
        f"/v1/sessions/{session}/uncompact",
        json={"compaction": committed.data["compaction"]},
    )
    assert undone.status_code == 202
    api.until(session)
    assert api.messages(session) == messages


def test_a_compaction_is_seen_before_it_is_made_and_a_part_is_dropped(
    cellar: Local,
) -> None:
    api, session = (
        cellar.api,
        cellar.api.session("previewed", settings={"window": 20_000, "reserve": 2_000}),
    )
    for number in range(6):
        api.say(session, f"number {number}: " + "tell me of the cask. " * 200)
        api.until(session)
    at = f"/v1/sessions/{session}"
    messages = api.messages(session)
    preview = api.post(f"{at}/preview", json={"instructions": "short"}).json()
    assert api.messages(session) == messages
    assert preview["freed"] == preview["before"] - preview["after"] > 0
    assert {"id", "tokens", "line", "why"} == preview["leaves"][0].keys()
    found = api.post(f"{at}/preview/nothing/accept")
    assert (found.status_code, "is no preview" in found.json()["detail"]) == (409, True)
    accept = f"{at}/preview/{preview['id']}/accept"
    assert api.post(accept, json={"summary": "Casks."}).status_code == 202
    api.until(session)
    assert "Casks." in str(api.messages(session)[0])
    api.post(f"{at}/uncompact", json={"compaction": preview["id"]})
    api.until(session)
    assert api.messages(session) == messages
    largest = api.get(f"{at}/droppable").json()["droppable"][0]
    order = {"places": largest["places"], "dry_run": True}
    priced = api.post(f"{at}/drop", json=order).json()
    assert (priced["freed"], priced["id"]) == (largest["freed"], "")
    dropped = api.post(f"{at}/drop", json={"places": largest["places"]}).json()
    assert dropped["freed"] == largest["freed"] > 0
    api.until(session)
    api.post(f"{at}/uncompact", json={"compaction": dropped["id"]})
    api.until(session)
    assert api.messages(session) == messages
    refused = api.post(f"{at}/drop", json={"places": ["gone"]}).json()["refused"]
    assert "There is no message or part 'gone'" in refused


def test_pins_are_told_by_explain(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("pinned")
    name = api.say(session, "keep this")["id"]
    api.until(session)
    assert (
        api.post(f"/v1/sessions/{session}/pins", json={"messages": [name]}).status_code
        == 202
    )
    assert api.get(f"/v1/sessions/{session}/explain/{name}").json()["pinned"] is True
    api.post(f"/v1/sessions/{session}/pins", json={"messages": [name], "pinned": False})
    assert api.get(f"/v1/sessions/{session}/explain/{name}").json()["pinned"] is False


def test_going_back_to_a_message_leaves_what_came_after_it(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("rewound")
    for number in range(2):
        api.say(session, f"number {number}")
        api.until(session)
    second = api.messages(session)[1]["id"]
    found = api.post(f"/v1/sessions/{session}/rewind", json={"to": second}).status_code
    assert found == 202
    assert [message["id"] for message in api.messages(session)][-1] == second


def test_a_rewind_over_http_shows_and_restores_files(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("files")
    root = place / "root"
    root.mkdir()
    wrote = {
        "when": {"contains": "write", "after": "user"},
        "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one"}}],
    }
    with (
        running(script(wrote, PLAIN)) as simulator,
        serving(
            simulator.url("anthropic"), place / "s.db", tools=["write"], root=root
        ) as local,
    ):
        api, session = local.api, local.api.session("files")
        api.say(session, "write it")
        api.until(session)
        at = f"/v1/sessions/{session}"
        (shown,) = api.get(f"{at}/files").json()["files"]
        assert (shown["path"], shown["change"]) == ("a.txt", "added")
        assert api.get(f"{at}/files?since=nothing").status_code == 409
        done = api.post(f"{at}/rewind", json={"to": "", "files": True})
        assert done.status_code == 202 and not (root / "a.txt").exists()
        undone = {"compaction": done.json()["rewind"]}
        assert api.post(f"{at}/uncompact", json=undone).status_code == 202
        assert (root / "a.txt").read_text() == "one"


def test_going_back_in_the_middle_of_a_turn_is_refused(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("in-the-middle")
    api.say(session, "let it ripen")
    api.until_event(session, "tool_started")
    assert api.post(f"/v1/sessions/{session}/rewind", json={"to": ""}).status_code == 409
    found = api.post(
        f"/v1/sessions/{session}/uncompact", json={"compaction": "x"}
    ).status_code
    assert found == 409
    api.post(f"/v1/sessions/{session}/cancel")


def test_a_provider_that_fails_makes_the_session_wait_and_say_why(tmp_path: Path) -> None:
    fault = {"kind": "status", "status": 401, "request": 1}
    with (
        running(script(PLAIN, faults=[fault])) as simulator,
        serving(simulator.url("anthropic"), tmp_path / "s.db") as server,
    ):
        session = server.api.session("failing")
        server.api.say(session, "hello")
        state = server.api.until(session, "waiting")
        assert (state["paused"], bool(state["note"])) == ("failed", True)
        assert server.api.post(f"/v1/sessions/{session}/resume").status_code == 202
        assert server.api.until(session, "idle")["ended"] == "finished"
