"""Fallback models: which failures another model continues behind, and what ledger and reading say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.promises.stage import of_kind
from ullage.errors import BadKey, ProviderError, SettingError
from ullage.events import CallEnded, CallStarted, Event, FellBack, ModelChanged
from ullage_agent.runtime.agent import Agent
from ullage_simulators import Scenario, Server, running
from ullage_simulators.scenario import read

CLAUDE = "anthropic:claude-haiku-4-5"
GPT = "openai:gpt-5-mini"
GEMINI = "google:gemini-3-flash-preview"


def script(*answers: Mapping[str, Any], **more: Any) -> Scenario:
    return read({"answers": [dict(answer) for answer in answers], **more})


def failing(status: int, request: int = 0) -> dict[str, Any]:
    """A fault of Claude alone."""
    path = "/anthropic/v1/messages"
    return {"kind": "status", "status": status, "path": path, "request": request}


def agent_at(server: Server, store: Path, *fallback: str, **settings: Any) -> Agent:
    environment = {
        "ANTHROPIC_API_KEY": "x",
        "OPENAI_API_KEY": "x",
        "GEMINI_API_KEY": "x",
        "ANTHROPIC_BASE_URL": server.url("anthropic"),
        "OPENAI_BASE_URL": server.url("openai"),
        "GOOGLE_GEMINI_BASE_URL": server.url("gemini"),
    }
    given = {"environment": environment, "config": False, "tries": 1, **settings}
    return Agent(CLAUDE, fallback=fallback, store=store, **given)


def models_called(events: list[Event]) -> list[str]:
    """The model of each main call, in order."""
    model, called = "claude-haiku-4-5", []
    for event in events:
        if isinstance(event, ModelChanged):
            model = event.model
        if isinstance(event, CallStarted) and event.purpose == "main":
            called.append(model)
    return called


def fell_back(events: list[Event]) -> list[FellBack]:
    return of_kind(events, FellBack)


KINDS = {
    401: "BadKey",
    403: "PermissionDenied",
    404: "NotFound",
    429: "RateLimited",
    500: "ServerError",
    529: "Overloaded",
}


@pytest.mark.parametrize("status", KINDS)
async def test_another_model_continues_behind_a_failure_of_the_provider(
    status: int, tmp_path: Path
) -> None:
    with running(script({"text": "Yes."}, faults=[failing(status)])) as server:
        async with agent_at(server, tmp_path / "s.db", GPT).session("s") as session:
            result = await session.ask("Hello.")
            events = await session.history()
            reading = await session.context()
    assert (result.text, result.reason, result.error) == ("Yes.", "finished", None)
    (event,) = fell_back(events)
    assert (event.model, event.error_kind) == (GPT, KINDS[status])
    assert event.error.startswith(f"{CLAUDE}: ")
    assert models_called(events) == ["claude-haiku-4-5", "gpt-5-mini"]
    assert result.reading.model == reading.model == "gpt-5-mini"
    last = of_kind(events, CallEnded)[-1]
    assert last.usage is not None and last.usage.output is not None
    assert reading.used.low <= (last.usage.input or 0) + last.usage.output
    assert reading.used.high >= (last.usage.input or 0)


async def test_a_bad_request_is_not_sent_to_another_model(tmp_path: Path) -> None:
    with running(script({"text": "Yes."}, faults=[failing(400)])) as server:
        async with agent_at(server, tmp_path / "s.db", GPT).session("s") as session:
            result = await session.ask("Hello.", check=False)
            assert not fell_back(await session.history())
    assert (result.reason, result.is_paused) == ("failed", True)


async def test_the_next_turn_begins_with_the_first_model_again(tmp_path: Path) -> None:
    look = {"name": "look", "arguments": {}}
    scenario = script(
        {"when": {"contains": "Look"}, "calls": [look]},
        {"text": "Yes."},
        faults=[failing(529, request=1)],
    )

    def look_up() -> str:
        """Look."""
        return "It is there."

    look_up.__name__ = "look"
    with running(scenario) as server:
        agent = agent_at(server, tmp_path / "s.db", GPT, tools=[look_up])
        async with agent.session("s") as session:
            await session.ask("Look.")
            first = models_called(await session.history())
            second = await session.ask("Again.")
            events = await session.history()
    assert first == ["claude-haiku-4-5", "gpt-5-mini", "gpt-5-mini"]
    assert models_called(events)[3:] == ["claude-haiku-4-5"]
    assert second.reading.model == "claude-haiku-4-5"
    assert all(exchange.status in (200, 529) for exchange in server.exchanges)


async def test_all_models_failed_pauses_with_the_error_of_each_and_a_retry_begins_anew(
    tmp_path: Path,
) -> None:
    faults = [
        {"kind": "status", "status": 529, "request": request} for request in (1, 2, 3)
    ]
    with running(script({"text": "Yes."}, faults=faults)) as server:
        agent = agent_at(server, tmp_path / "s.db", GPT, GEMINI)
        async with agent.session("s") as session:
            result = await session.ask("Hello.", check=False)
            assert (result.reason, result.is_paused) == ("failed", True)
            assert isinstance(result.error, ProviderError)
            assert f"{CLAUDE}: " in result.note and f"{GPT}: " in result.note
            await session.resume()
            result = await session.wait()
            assert (result.text, result.reading.model) == ("Yes.", "claude-haiku-4-5")
            called = models_called(await session.history())
    assert called == [
        "claude-haiku-4-5",
        "gpt-5-mini",
        "gemini-3-flash-preview",
        "claude-haiku-4-5",
    ]


async def test_an_answer_that_breaks_off_after_text_is_given_whole_by_the_next_model(
    tmp_path: Path,
) -> None:
    long = "It is a long story. " * 40
    cut = {"kind": "cut", "at": 900, "path": "/anthropic/v1/messages"}
    scenario = script(
        {"when": {"model": "claude-haiku-4-5"}, "text": long},
        {"text": "The short one."},
        faults=[cut],
    )
    with running(scenario) as server:
        agent = agent_at(server, tmp_path / "s.db", GPT, tries=2)
        async with agent.session("s") as session:
            result = await session.ask("Tell me.")
            messages = (await session._look()).ledger.meter.messages
            events = await session.history()
    assert models_called(events) == ["claude-haiku-4-5"] * 2 + ["gpt-5-mini"]
    assert result.text == "The short one."
    assert [message.role for message in messages] == ["user", "assistant"]
    assert "broke off" in fell_back(events)[0].error


async def test_what_does_not_fit_goes_to_a_larger_model_only_behind_a_compaction(
    tmp_path: Path,
) -> None:
    small = {"name": "small", "like": "claude-haiku-4-5", "window": 3_000}
    scenario = script({"text": "Yes."}, models=[small])
    with running(scenario) as server:
        agent = Agent(
            "anthropic:small",
            fallback=[GPT],
            models={"small": {"window": 3_000, "max_output": 500, "reserve": 500}},
            strategy=["clear"],
            store=tmp_path / "s.db",
            config=False,
            environment={
                "ANTHROPIC_API_KEY": "x",
                "OPENAI_API_KEY": "x",
                "ANTHROPIC_BASE_URL": server.url("anthropic"),
                "OPENAI_BASE_URL": server.url("openai"),
            },
        )
        async with agent.session("s") as session:
            result = await session.ask("Read this. " + "wine and water, " * 2_000)
            events = await session.history()
    assert result.reading.model == "gpt-5-mini"
    assert (result.reading.window.tokens or 0) > 3_000
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("CompactionStarted") < kinds.index("FellBack")


async def test_a_model_that_a_person_sets_takes_the_place_of_the_fallback(
    tmp_path: Path,
) -> None:
    with running(script({"text": "Yes."}, faults=[failing(529)])) as server:
        agent = agent_at(server, tmp_path / "s.db", GPT)
        async with agent.session("s") as session:
            await session.ask("Hello.")
            await session.set(model=GEMINI)
            assert (await session.ask("And?")).reading.model == "gemini-3-flash-preview"


async def test_mistakes_in_the_list_are_told_at_once_and_a_missing_key_in_the_turn(
    tmp_path: Path,
) -> None:
    with pytest.raises(SettingError, match="nobody-knows-this"):
        Agent(CLAUDE, fallback=["nobody-knows-this"], config=False, environment={})
    with running(script({"text": "Yes."}, faults=[failing(529)])) as server:
        environment = {
            "ANTHROPIC_API_KEY": "x",
            "ANTHROPIC_BASE_URL": server.url("anthropic"),
        }
        agent = agent_at(server, tmp_path / "s.db", GPT, environment=environment)
        async with agent.session("s") as session:
            result = await session.ask("Hello.", check=False)
    assert isinstance(result.error, BadKey)
    assert "OPENAI_API_KEY" in result.note and f"{CLAUDE}: " in result.note
