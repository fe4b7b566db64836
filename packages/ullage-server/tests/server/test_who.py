"""Who said and approved what: the names of tokens, which the server alone gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from tests.server.served import Api, Local, script, serving
from tests.server.test_steering import ASKS, PLAIN, WAITS, press, ripen
from ullage.store.records import FileRecords
from ullage_server.tokens import SCOPES, NamedTokens
from ullage_simulators import running
from ullage_simulators.server import Server


class Persons(NamedTuple):
    server: Local
    provider: Server
    anna: Api
    ben: Api
    launch: Api


@pytest.fixture(scope="module")
def persons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Persons]:
    folder = tmp_path_factory.mktemp("who")
    kept = NamedTokens(FileRecords(folder))
    launch = "launched-with-a-long-and-random-word-8c1f"
    with ExitStack() as stack:
        provider = stack.enter_context(running(script(ASKS, WAITS, PLAIN)))
        server = stack.enter_context(
            serving(
                provider.url("anthropic"),
                folder / "s.db",
                token=launch,
                tokens=kept,
                tools=[press, ripen],
            )
        )
        anna, ben, unnamed = (
            stack.enter_context(client(server, token))
            for token in (
                kept.add("anna", SCOPES, expires=None, now=0),
                kept.add("ben", SCOPES, expires=None, now=0),
                launch,
            )
        )
        yield Persons(server, provider, anna, ben, unnamed)


def client(server: Local, token: str) -> Api:
    headers = {"Authorization": f"Bearer {token}"}
    return Api(base_url=server.url, timeout=60, headers=headers)


def named(api: Api, session: str) -> dict[str, str]:
    """Who each event that has a name is of, by the event's type."""
    exported = api.get(f"/v1/sessions/{session}/export").text.splitlines()
    events = [json.loads(line) for line in exported[1:]]
    return {each["type"]: each["who"] for each in events if each.get("who")}


def test_messages_and_approvals_bear_the_names_of_their_tokens(persons: Persons) -> None:
    anna, ben = persons.anna, persons.ben
    session = anna.session("both")
    anna.say(session, "press the grapes")
    (call,) = anna.until(session, "waiting")["open"]
    path = f"/v1/sessions/{session}/approvals/{call['call_id']}"
    assert ben.post(path, json={"approved": True, "who": "anna"}).status_code == 400
    assert ben.post(path, json={"approved": True}).status_code == 202
    anna.until(session, "idle")
    first, *others = anna.messages(session)
    assert first["who"] == "anna"
    assert [each.get("who") for each in others] == [None] * len(others)
    assert named(anna, session) == {"approval_given": "ben"}
    given = ben.until_event(session, "approval_given")
    assert given.data["who"] == "ben"
    assert "anna" not in str(persons.provider.exchanges)


def test_what_a_person_changes_bears_the_name_too(persons: Persons) -> None:
    anna, ben = persons.anna, persons.ben
    session = anna.session("steered")
    anna.say(session, "let it ripen")
    anna.until_event(session, "tool_started")
    for text in ("edited", "withdrawn"):
        anna.say(session, text, id=text, kind="follow_up")
    queue = f"/v1/sessions/{session}/queue"
    assert ben.put(f"{queue}/edited", json={"text": "better"}).status_code == 200
    (edited, _) = ben.get(queue).json()["queue"]
    assert edited["message"]["who"] == "ben"
    assert ben.delete(f"{queue}/withdrawn").json()["message"]["who"] == "anna"
    ben.post(f"/v1/sessions/{session}/cancel")
    ben.until(session)
    ben.post(f"/v1/sessions/{session}/rename", json={"title": "Ripening"})
    ben.patch(f"/v1/sessions/{session}/settings", json={"max_steps": 9})
    ben.post(f"/v1/sessions/{session}/rewind", json={"to": ""})
    assert named(ben, session) == {
        "queue_left": "ben",
        "cancel_asked": "ben",
        "renamed": "ben",
        "settings_changed": "ben",
        "rewound": "ben",
    }


def test_the_launch_token_has_no_name(persons: Persons) -> None:
    session = persons.launch.session("unnamed")
    persons.launch.say(session, "hello")
    persons.launch.until(session)
    assert "who" not in persons.launch.messages(session)[0]


def test_the_other_protocols_name_their_sender(persons: Persons) -> None:
    said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hello"}]}
    answer = persons.ben.post("/v1/ai-sdk", json={"id": "ui", "messages": [said]})
    assert answer.status_code == 200
    assert persons.ben.messages("ui")[0]["who"] == "ben"


def test_a_file_that_is_imported_names_nobody(persons: Persons) -> None:
    session = persons.anna.session("exported")
    persons.anna.say(session, "hello")
    persons.anna.until(session)
    persons.anna.post(f"/v1/sessions/{session}/rename", json={"title": "Mine"})
    whole = persons.anna.get(f"/v1/sessions/{session}/export").content
    made: Any = persons.ben.post(
        "/v1/sessions/import", content=whole, params={"id": "copy"}
    )
    assert made.status_code == 201
    assert b"anna" in whole
    assert "anna" not in persons.ben.get("/v1/sessions/copy/export").text
