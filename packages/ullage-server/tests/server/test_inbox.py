"""What needs a person: every state of the list over HTTP, and the approvals of all sessions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from tests.server.served import Api, Local, patiently, script, serving
from tests.server.test_quota import set_quota, wait_for_the_next_day
from tests.server.test_steering import PLAIN, press, pressed, ripen
from ullage.events import ApprovalAsked, Event, TurnStarted
from ullage.store.records import FileRecords
from ullage_agent.runtime.subagent import subagent
from ullage_server.policy import SHOWN_ARGUMENTS
from ullage_server.tokens import NamedTokens
from ullage_simulators import running

GRAPES = {"name": "press", "arguments": {"what": "grapes"}}
SAID = (
    {"when": {"contains": "press both", "after": "user"}, "calls": [GRAPES, GRAPES]},
    {"when": {"contains": "press", "after": "user"}, "calls": [GRAPES]},
    {
        "when": {"contains": "much", "after": "user"},
        "calls": [{"name": "press", "arguments": {"what": "grapes " * 4_000}}],
    },
    {
        "when": {"contains": "ripen", "after": "user"},
        "calls": [{"name": "ripen", "arguments": {"what": "wine"}}],
    },
    {
        "when": {"contains": "delegate", "after": "user"},
        "calls": [{"name": "presser", "arguments": {"task": "press the grapes"}}],
    },
    PLAIN,
)


@pytest.fixture(scope="module")
def cellar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    place = tmp_path_factory.mktemp("inbox") / "s.db"
    with running(script(*SAID)) as provider:
        url = provider.url("anthropic")
        child = haiku(place, base_url=url, tools=[press])
        presser = subagent(child, name="presser", description="Presses grapes.")
        with serving(url, place, tools=[press, ripen, presser]) as server:
            yield server


def stands(api: Api, session: str, state: str, kind: str | None = None) -> dict[str, Any]:
    """How a listed session stands, once it is in this state."""
    found: dict[str, Any] = {}
    for _ in patiently():
        for line in api.get("/v1/sessions").json()["sessions"]:
            if line["id"] == session:
                found = line["standing"]
        is_listed = found.get("state") == state and kind in (None, found["kind"])
        if is_listed and api.state(session)["standing"]["state"] == state:
            return found
    raise AssertionError(f"{session} is never {state}: {found}")


def approvals(api: Api, **params: Any) -> list[dict[str, Any]]:
    return list(api.get("/v1/approvals", params=params).json()["approvals"])


def needed(api: Api) -> list[str]:
    listed = api.get("/v1/sessions", params={"needs": "person"}).json()
    return [line["id"] for line in listed["sessions"]]


def test_a_session_works_and_rests(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("works")
    assert stands(api, session, "at_rest")["approvals"] == []
    api.say(session, "let it ripen")
    begun = stands(api, session, "works")
    assert 0 <= time.time() - begun["since"] < 600
    api.post(f"/v1/sessions/{session}/cancel")
    stands(api, session, "at_rest")
    assert session not in needed(api)


def test_a_call_that_needs_approval_is_listed_with_its_arguments(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("asks")
    api.post(f"/v1/sessions/{session}/rename", json={"title": "The harvest"})
    before = api.get("/v1/sessions").json()["needs"]["needs_approval"]
    api.say(session, "press the grapes")
    standing = stands(api, session, "needs_approval")
    (asked,) = standing["approvals"]
    assert (asked["tool"], asked["at"]) == ("press", standing["since"])
    inner = {"turn", "paused", "used", "window"}  # of the fold; the session has its own
    assert not inner & set(standing)
    assert session in needed(api)
    assert api.get("/v1/sessions").json()["needs"]["needs_approval"] == before + 1
    (found,) = (each for each in approvals(api) if each["session"] == session)
    assert found == {
        "session": session,
        "root": session,
        "title": "The harvest",
        "model": "claude-haiku-4-5",
        "place": "",
        "call_id": asked["call_id"],
        "tool": "press",
        "arguments": '{"what": "grapes"}',
        "size": 18,
        "digest": asked["digest"],
        "at": asked["at"],
    }
    path = f"/v1/sessions/{session}/approvals/{found['call_id']}"
    answer = {"approved": True, "digest": found["digest"]}
    assert api.post(path, json=answer).status_code == 202
    stands(api, session, "at_rest")
    assert session not in [each["session"] for each in approvals(api)]
    late = api.post(path, json=answer)
    assert late.status_code == 409 and "needs approval" in late.json()["detail"]


def test_of_two_answers_at_once_the_first_counts_and_the_other_is_told(
    cellar: Local,
) -> None:
    api, session = cellar.api, cellar.api.session("twice")
    pressed.clear()
    api.say(session, "press the grapes")
    stands(api, session, "needs_approval")
    (found,) = (each for each in approvals(api) if each["session"] == session)

    async def both() -> list[int]:
        import httpx2

        path = f"{cellar.url}/v1/sessions/{session}/approvals/{found['call_id']}"
        async with httpx2.AsyncClient(timeout=60) as client:
            answers = await asyncio.gather(
                client.post(path, json={"approved": True}),
                client.post(path, json={"approved": False}),
            )
        return sorted(each.status_code for each in answers)

    assert asyncio.run(both()) == [202, 409]
    api.until(session, "idle")


def test_long_arguments_are_cut_and_their_size_is_told(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("long")
    api.say(session, "so much")
    stands(api, session, "needs_approval")
    (found,) = (each for each in approvals(api) if each["session"] == session)
    assert len(found["arguments"]) == SHOWN_ARGUMENTS < found["size"]
    api.post(f"/v1/sessions/{session}/cancel")
    stands(api, session, "at_rest")


def test_a_subagent_s_call_is_listed_with_its_root_and_approved(cellar: Local) -> None:
    api, session = cellar.api, cellar.api.session("root")
    pressed.clear()
    api.say(session, "delegate it")
    for _ in patiently():
        if found := [each for each in approvals(api) if each["root"] == session]:
            break
    (asked,) = found
    assert asked["session"].startswith(f"{session}/") and asked["tool"] == "press"
    child = asked["session"].replace("/", "%2F")
    path = f"/v1/sessions/{child}/approvals/{asked['call_id']}"
    answer = {"approved": True, "digest": asked["digest"]}
    assert api.post(path, json=answer).status_code == 202
    assert api.until(session, "idle")["ended"] == "finished"
    assert pressed == ["grapes"]
    assert asked["session"] not in needed(api)


def test_a_list_has_pages_and_a_session_that_can_t_be_read_does_not_hide_others(
    cellar: Local, tmp_path: Path
) -> None:
    asks = ApprovalAsked(call_id="c", tool="press", digest="0" * 64)
    with serving("http://127.0.0.1:9", tmp_path / "s.db") as server:

        async def ask() -> None:
            for number in range(5):
                events: list[Event] = [TurnStarted(turn="t"), asks]
                await server.store.create(f"s{number}", events)

        asyncio.run(ask())
        seen: list[str] = []
        before = None
        for _ in range(5):
            params = {"limit": 2} | ({"before": before} if before else {})
            page = server.api.get("/v1/approvals", params=params).json()
            seen += [each["session"] for each in page["approvals"]]
            assert [each["arguments"] for each in page["approvals"]] == [None] * len(
                page["approvals"]
            )
            before = page["before"]
            if before is None:
                break
        assert sorted(seen) == [f"s{number}" for number in range(5)]
        refused = server.api.get("/v1/approvals", params={"before": "x"})
        assert refused.status_code == 400


def test_a_failed_turn_says_which_error_and_how_often(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        running(
            script(PLAIN, faults=[{"kind": "status", "status": 529}] * 9)
        ) as provider,
        serving(provider.url("anthropic"), tmp_path / "s.db", tries=2) as server,
    ):
        sessions = [server.api.session(f"s{number}") for number in range(3)]
        for session in sessions:
            server.api.say(session, "hello")
        for session in sessions:
            failed = stands(server.api, session, "failed")
            assert failed["attempts"] == 2
            assert failed["kind"] and failed["reason"]
        assert sorted(needed(server.api)) == sessions
        counts = server.api.get("/v1/sessions").json()["needs"]
        assert counts == {"needs_approval": 0, "failed": 3, "paused": 0}
    lines = [each for each in caplog.records if hasattr(each, "session")]
    assert sorted(each.session for each in lines) == sessions
    assert all("after 2 attempts" in each.getMessage() for each in lines)


def test_a_provider_that_says_when_to_come_back_is_waited_for(tmp_path: Path) -> None:
    fault = {"kind": "status", "status": 429, "retry_after_s": 30}
    with (
        running(script(PLAIN, faults=[fault] * 9)) as provider,
        serving(provider.url("anthropic"), tmp_path / "s.db") as server,
    ):
        server.api.say(server.api.session("s"), "hello")
        waits = stands(server.api, "s", "waits", "provider")
        assert waits["attempts"] == 1
        assert 0 < waits["until"] - time.time() <= 60
        assert needed(server.api) == []
        server.api.post("/v1/sessions/s/cancel")


def test_a_shared_rate_limit_is_waited_for(tmp_path: Path) -> None:
    with (
        running(script(PLAIN)) as provider,
        serving(
            provider.url("anthropic"), tmp_path / "s.db", rates={"requests": 1}
        ) as server,
    ):
        for session in ("first", "second"):
            server.api.say(server.api.session(session), "hello")
        names = ("first", "second")
        for _ in patiently():
            found = [server.api.state(name)["standing"] for name in names]
            waits = [each for each in found if each["kind"] == "rate_limit"]
            if waits:
                break
        assert waits[0]["state"] == "waits" and waits[0]["until"] > time.time()
        for name in names:
            server.api.post(f"/v1/sessions/{name}/cancel")


def test_a_budget_pauses_and_a_resume_goes_on(tmp_path: Path) -> None:
    with (
        running(script(*SAID)) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path / "s.db",
            tools=[ripen, press],
            budget={"calls": 1},
        ) as server,
    ):
        server.api.say(server.api.session("s"), "press the grapes")
        (asked,) = stands(server.api, "s", "needs_approval")["approvals"]
        path = f"/v1/sessions/s/approvals/{asked['call_id']}"
        server.api.post(path, json={"approved": True})
        paused = stands(server.api, "s", "paused")
        assert paused["kind"] == "budget" and paused["reason"]
        assert needed(server.api) == ["s"]
        assert server.api.post("/v1/sessions/s/resume").status_code == 202
        stands(server.api, "s", "at_rest")


def test_a_tenant_s_quota_is_waited_for(tmp_path: Path) -> None:
    wait_for_the_next_day()
    tokens = NamedTokens(FileRecords(tmp_path))
    token = tokens.add("acme", ("admin",), expires=None, now=0, tenant="acme")
    path = tmp_path / "s.db"
    set_quota(path, tokens=1)
    with (
        running(script(*SAID)) as provider,
        serving(
            provider.url("anthropic"),
            path,
            tokens=tokens,
            tools=[press],
            headers={"Authorization": f"Bearer {token}"},
        ) as server,
    ):
        server.api.session("s")
        server.api.say("acme:s", "press the grapes")
        (asked,) = stands(server.api, "acme:s", "needs_approval")["approvals"]
        path_of = f"/v1/sessions/acme:s/approvals/{asked['call_id']}"
        server.api.post(path_of, json={"approved": True})
        waits = stands(server.api, "acme:s", "waits", "quota")
        assert waits["until"] > time.time()
