"""Pages of others over HTTP: what streams, what is stored, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.served import Api, Local, frames_of, script, serving
from ullage.hooks import Refusal
from ullage.store.records import FileRecords
from ullage_agent.tools.functions import tool
from ullage_server.tokens import NamedTokens
from ullage_simulators import running

ASKS = {
    "when": {"contains": "press", "after": "user"},
    "calls": [{"name": "press", "arguments": {"what": "grapes"}}],
}
PRESSED = {"when": {"contains": "grapes pressed"}, "text": "It is must now."}
REFUSED = {"when": {"contains": "did not allow"}, "text": "Then not."}
LONG = {"when": {"contains": "ripen", "after": "user"}, "calls": [{"name": "ripen"}]}
PLAIN = {"text": "A hand's breadth of air stands over the wine."}

pressed: list[str] = []


@tool(needs_approval=True)
async def press(what: str) -> str:
    """Press something.

    Args:
        what: what to press
    """
    pressed.append(what)
    return f"{what} pressed"


async def ripen() -> str:
    """Wait for something to ripen."""
    await asyncio.sleep(60)
    return "ripe"


@pytest.fixture(scope="module")
def cellar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server whose agent has tools."""
    answers = script(ASKS, PRESSED, REFUSED, LONG, PLAIN, delay_s=0.001)
    folder = tmp_path_factory.mktemp("cellar")
    with (
        running(answers) as simulator,
        serving(
            simulator.url("anthropic"), folder / "s.db", tools=[press, ripen]
        ) as server,
    ):
        yield server


@pytest.fixture
def api(cellar: Local) -> Api:
    """A client of it."""
    return cellar.api


def user(text: str, name: str = "u1") -> dict[str, Any]:
    return {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}


def streamed(answer: Any) -> list[dict[str, Any]]:
    """The objects of a stream."""
    assert answer.status_code == 200, answer.text
    lines = answer.text.replace("data: [DONE]\n\n", "").split("\n")
    return [frame.data for frame in frames_of(lines)]


def chat(api: Api, session: str, *messages: Any, **more: Any) -> list[dict[str, Any]]:
    body = {"id": session, "messages": messages, **more}
    return streamed(api.post("/v1/ai-sdk", json=body))


def run(api: Api, session: str, *messages: Any, **more: Any) -> list[dict[str, Any]]:
    body = {"threadId": session, "runId": "r", "messages": messages, **more}
    return streamed(api.post("/v1/ag-ui", json=body))


def said(text: str, name: str = "u1") -> dict[str, Any]:
    return {"id": name, "role": "user", "content": text}


def text_of(objects: list[dict[str, Any]]) -> str:
    kinds = ("text-delta", "TEXT_MESSAGE_CONTENT")
    return "".join(each["delta"] for each in objects if each["type"] in kinds)


def approvals(chunks: list[dict[str, Any]]) -> list[str]:
    return [
        each["approvalId"] for each in chunks if each["type"] == "tool-approval-request"
    ]


def test_a_session_begins_with_its_first_message(api: Api) -> None:
    answer = api.post("/v1/ai-sdk", json={"id": "first", "messages": [user("Hello")]})
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("data: [DONE]\n\n")
    assert text_of(streamed(answer)) == PLAIN["text"]
    assert [each["role"] for each in api.messages("first")] == ["user", "assistant"]


def test_the_same_message_again_sends_nothing_and_streams_its_answer(api: Api) -> None:
    chat(api, "again", user("Hello"))
    chat(api, "again", user("And now?", "u2"))
    repeated = chat(api, "again", user("Hello"))
    assert repeated[0]["messageId"] == "u1-answer"
    assert text_of(repeated) == PLAIN["text"]
    assert len(api.messages("again")) == 4


def test_a_call_is_allowed_in_the_page(api: Api) -> None:
    pressed.clear()
    (name,) = approvals(chat(api, "allowed", user("press it")))
    history = api.get("/v1/ai-sdk/allowed/messages").json()
    part = next(each for each in history[-1]["parts"] if each["type"] == "tool-press")
    assert (part["state"], part["approval"]) == ("approval-requested", {"id": name})
    assert not pressed
    part |= {"state": "approval-responded", "approval": {"id": name, "approved": True}}
    chunks = chat(api, "allowed", *history)
    assert chunks[0] == {"type": "start"}
    outputs = [each["output"] for each in chunks if "output" in each]
    assert (outputs, pressed) == (["grapes pressed"], ["grapes"])
    assert text_of(chunks) == PRESSED["text"]
    answered = api.post("/v1/ai-sdk", json={"id": "allowed", "messages": history})
    assert answered.status_code == 409, "a page that sends it for ever is told to stop"


def test_another_digest_than_that_of_the_call_is_refused(api: Api) -> None:
    pressed.clear()
    (name,) = approvals(chat(api, "digest", user("press it")))
    shown = f"{'0' * 64}.{name.partition('.')[2]}"
    approval = {"id": shown, "approved": True}
    part = {"type": "tool-press", "state": "approval-responded", "approval": approval}
    body = {
        "id": "digest",
        "message": {"id": "a", "role": "assistant", "parts": [part]},
    }
    assert api.post("/v1/ai-sdk", json=body).status_code == 409
    assert not pressed


def test_a_message_while_a_call_waits_is_refused_and_not_stored(api: Api) -> None:
    chat(api, "busy", user("press it"))
    body = {"id": "busy", "messages": [user("And?", "u2")]}
    answer = api.post("/v1/ai-sdk", json=body)
    assert (answer.status_code, answer.json()["type"]) == (
        409,
        "urn:ullage:problem:refused",
    )
    assert api.get("/v1/sessions/busy/queue").json()["queue"] == []
    (error,) = run(api, "busy", said("And?", "u2"))
    assert (error["type"], error["code"]) == ("RUN_ERROR", "refused")


def test_an_interrupt_is_answered_on_the_next_run(api: Api) -> None:
    pressed.clear()
    *_, snapshot, finished = run(api, "interrupt", said("press it"))
    (interrupt,) = finished["outcome"]["interrupts"]
    assert snapshot["messages"][0]["content"] == "press it"
    answer = {"interruptId": interrupt["id"], "status": "resolved"}
    denied = {"approved": False, "reason": "Not yet."}
    events = run(api, "interrupt", resume=[answer | {"payload": denied}])
    assert events[-1]["outcome"] == {"type": "success"}
    assert text_of(events) == REFUSED["text"]
    assert not pressed
    (again,) = run(api, "interrupt", resume=[answer | {"payload": {"approved": True}}])
    assert again["type"] == "RUN_ERROR"
    assert not pressed


def test_a_run_without_a_message_is_what_the_session_holds(api: Api) -> None:
    run(api, "held", said("press it"))
    events = run(api, "held")
    kinds = [each["type"] for each in events]
    assert kinds[:3] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "CUSTOM"]
    assert events[-1]["outcome"]["type"] == "interrupt"
    assert [each["type"] for each in run(api, "nothing")] == [
        "RUN_STARTED",
        "RUN_FINISHED",
    ]


def test_a_page_that_comes_back_gets_the_answer_from_its_beginning(
    cellar: Local, api: Api
) -> None:
    body = {"id": "back", "messages": [user("let it ripen")]}
    with api.stream("POST", "/v1/ai-sdk", json=body) as answer:
        next(line for line in answer.iter_lines() if "tool-input-available" in line)
    history = api.get("/v1/ai-sdk/back/messages").json()
    assert [each["id"] for each in history] == ["u1"], "the answer still streams"
    with api.stream("GET", "/v1/ai-sdk/back/stream") as answer:
        assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
        chunks = (frame.data for frame in frames_of(answer.iter_lines()))
        assert next(chunks) == {"type": "start", "messageId": "u1-answer"}
        next(each for each in chunks if each["type"] == "tool-input-available")
        with Api(base_url=cellar.url, timeout=60) as other:
            assert other.post("/v1/sessions/back/cancel").status_code == 200
        assert [*chunks_until_end(chunks)][-1] == {"type": "abort"}
    assert api.get("/v1/ai-sdk/back/stream").status_code == 204


def chunks_until_end(chunks: Iterator[Any]) -> Iterator[Any]:
    """The chunks before the last line, which is no JSON."""
    with pytest.raises(json.JSONDecodeError):
        yield from chunks


def test_a_message_is_sent_again_in_the_place_of_its_answer(api: Api) -> None:
    chat(api, "twice", user("Hello"))
    for _ in range(2):
        chunks = chat(api, "twice", user("Hello"), trigger="regenerate-message")
        assert text_of(chunks) == PLAIN["text"]
        assert len(api.messages("twice")) == 2
    edited = chat(api, "twice", user("press it"), messageId="u1")
    assert len(approvals(edited)) == 1
    assert api.messages("twice")[0]["parts"][0]["text"] == "press it"
    history = api.get("/v1/ai-sdk/twice/messages").json()
    assert history[1]["id"] == edited[0]["messageId"]


def test_a_session_that_has_not_begun_is_empty(api: Api) -> None:
    assert api.get("/v1/ai-sdk/unheard/messages").json() == []
    assert api.get("/v1/ai-sdk/unheard/stream").status_code == 204
    assert api.get("/v1/sessions/unheard").status_code == 404, "a look begins nothing"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("ai-sdk", {"id": "a/b", "messages": []}, 400),
        ("ai-sdk", {"id": "import", "messages": [user("Hi")]}, 400),
        ("ai-sdk", {"id": "odd", "messages": []}, 422),
        ("ai-sdk", {"id": "odd", "messages": [user("")]}, 422),
        ("ai-sdk", {"id": "odd", "messages": [user("Hi", "a b")]}, 422),
        ("ag-ui", {"threadId": "odd", "messages": []}, 400),
        ("ag-ui", {"threadId": "odd", "runId": "r", "messages": [said("")]}, 422),
    ],
)
def test_what_can_not_be_used_is_a_problem(
    api: Api, path: str, body: dict[str, Any], status: int
) -> None:
    answer = api.post(f"/v1/{path}", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["next"]


def test_answers_need_their_scope_and_sessions_are_their_tenants(
    tmp_path: Path,
) -> None:
    tokens = NamedTokens(FileRecords(tmp_path))
    writes = tokens.add("w", ("write",), expires=None, now=0, tenant="acme")
    answers = script(ASKS, PLAIN)
    with (
        running(answers) as simulator,
        serving(
            simulator.url("anthropic"), tmp_path / "s.db", tokens=tokens, tools=[press]
        ) as server,
    ):
        server.api.headers["authorization"] = f"Bearer {writes}"
        (name,) = approvals(chat(server.api, "plans", user("press it")))
        rows = server.api.get("/v1/sessions").json()["sessions"]
        assert [row["id"] for row in rows] == ["acme:plans"]
        assert len(server.api.get("/v1/ai-sdk/plans/messages").json()) == 2
        resume = [{"interruptId": name, "status": "cancelled"}]
        body = {"threadId": "plans", "runId": "r", "resume": resume}
        refused = server.api.post("/v1/ag-ui", json=body)
        assert (refused.status_code, refused.json()["type"]) == (
            403,
            "urn:ullage:problem:scope",
        )


def test_a_refused_message_takes_the_place_of_none(tmp_path: Path) -> None:
    def guard(text: str) -> Refusal | None:
        return Refusal("Not that.") if "bad" in text else None

    with (
        running(script(PLAIN)) as simulator,
        serving(
            simulator.url("anthropic"), tmp_path / "s.db", input_guardrails=[guard]
        ) as server,
    ):
        chat(server.api, "kept", user("Hello"))
        before = server.api.messages("kept")
        body = {"id": "kept", "messages": [user("bad")], "messageId": "u1"}
        assert server.api.post("/v1/ai-sdk", json=body).status_code == 422
        assert server.api.messages("kept") == before


def test_a_message_takes_the_place_of_a_persons_alone(api: Api) -> None:
    chat(api, "alone", user("Hello"))
    answer = api.messages("alone")[1]["id"]
    name = f"{answer}~1"
    chat(api, "alone", user("And now?", name), messageId=name)
    assert [each["id"] for each in api.messages("alone")][:2] == ["u1", answer]
