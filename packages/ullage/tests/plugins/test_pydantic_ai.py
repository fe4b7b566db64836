"""The capability for pydantic-ai, in agents over a simulator with a window of 9,000 tokens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from tests.plugins.agent_session import (
    MODEL,
    OTHER_MODEL,
    SUMMARY,
    SUMMARY_REQUEST,
    SYSTEM,
    WINDOW,
    billed,
    refused,
    result,
    said,
    simulator,
    summaries,
)
from ullage.compactor.compactor import Compactor
from ullage.errors import ContextUnfixable
from ullage.events import CallEnded, Event
from ullage.plugins.pydantic_ai import Ullage
from ullage_simulators.server import Server

NO_LIMIT = UsageLimits(request_limit=None)
WIRES = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}


def look(number: int) -> str:
    """Look at a valve."""
    return result(number)


def model_of(server: Server, wire: str = "chat", name: str = MODEL) -> Any:
    provider = OpenAIProvider(base_url=server.url("openai"), api_key="any-key")
    return WIRES[wire](name, provider=provider)


def agent_of(
    server: Server, plugin: Ullage, wire: str = "chat", **how: Any
) -> Agent[None, str]:
    return Agent(
        model_of(server, wire),
        instructions=SYSTEM,
        tools=[look],
        capabilities=[plugin],
        **how,
    )


async def talk(
    agent: Agent[None, str],
    turns: range,
    history: list[ModelMessage] | None = None,
    **how: Any,
) -> tuple[list[ModelMessage], int]:
    """The history after these turns, and the tokens that the runs have counted."""
    history, counted = list(history or ()), 0
    for turn in turns:
        run = await agent.run(
            said(turn), message_history=history, usage_limits=NO_LIMIT, **how
        )
        history = run.all_messages()
        counted += run.usage.input_tokens + run.usage.output_tokens
    return history, counted


def reported(events: list[Event]) -> list[int | None]:
    """The reported input of each call of a conversation."""
    found: list[int | None] = []
    for event in events:
        if isinstance(event, CallEnded):
            found.append(None if event.usage is None else event.usage.input)
    return found


def prompts(history: list[ModelMessage]) -> list[str]:
    """What the user has said in a history."""
    found: list[str] = []
    for message in history:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                found.append(str(part.content))
    return found


@pytest.mark.parametrize("wire", WIRES)
async def test_a_long_session_fits_and_adds_up(wire: str) -> None:
    events: list[Event] = []
    with simulator() as server:
        plugin = Ullage(window=WINDOW, on_event=events.append)
        history, counted = await talk(agent_of(server, plugin, wire), range(20))
        assert refused(server) == []
        assert summaries(server) >= 1
        assert reported(events) == [bill.input for bill in server.truth().bills]
        assert counted == billed(server)
    assert prompts(history) == [said(turn) for turn in range(20)]  # all of it is kept


@pytest.mark.parametrize("wire", WIRES)
async def test_a_streamed_session_is_counted_as_billed(wire: str) -> None:
    events: list[Event] = []

    with simulator() as server:
        plugin = Ullage(window=WINDOW, on_event=events.append)
        agent = agent_of(server, plugin, wire)
        _, counted = await talk(agent, range(14), event_stream_handler=read)
        assert any(each.body.get("stream") for each in server.exchanges)
        assert refused(server) == []
        assert summaries(server) >= 1
        assert reported(events) == [bill.input for bill in server.truth().bills]
        assert counted == billed(server)


def test_a_program_without_an_event_loop_uses_it_the_same_way() -> None:
    with simulator() as server:
        agent = agent_of(server, Ullage(window=WINDOW))
        history: list[ModelMessage] = []
        for turn in range(12):
            run = agent.run_sync(said(turn), message_history=history)
            history = run.all_messages()
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_a_stream_that_is_left_ends_its_call_and_the_conversation_goes_on() -> None:
    with simulator() as server:
        plugin = Ullage(window=WINDOW)
        agent = agent_of(server, plugin)
        history, _ = await talk(agent, range(3))
        async with agent.run_stream(said(3), message_history=history) as stream:
            async for _ in stream.stream_text(delta=True):
                break
        history = stream.all_messages()
        history, _ = await talk(agent, range(4, 14), history)
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_a_cancelled_run_ends_its_call_and_the_next_goes_on() -> None:
    outcomes: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, CallEnded):
            outcomes.append(event.outcome)

    waiting = asyncio.Event()

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            waiting.set()
            await asyncio.sleep(3_600)
        return ModelResponse(
            parts=[], usage=RequestUsage(input_tokens=5, output_tokens=1)
        )

    plugin = Ullage("gpt-4.1", compactor=lambda _: Compactor("gpt-4.1", on_event=note))
    agent = Agent(FunctionModel(answer), capabilities=[plugin])
    run = asyncio.create_task(agent.run("Wait.", conversation_id="c"))
    await waiting.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert outcomes == ["cancelled"]
    assert plugin.reading("c").used.high > 0


async def test_a_call_without_its_result_does_not_stop_the_conversation() -> None:
    with simulator() as server:
        agent = agent_of(server, Ullage(window=WINDOW))
        history, _ = await talk(agent, range(4))
        asked = UserPromptPart("Open valve 9, which takes hours.")
        lost = ToolCallPart("look", {"number": 9}, "call_lost1")
        history += [ModelRequest(parts=[asked]), ModelResponse(parts=[lost])]
        history, _ = await talk(agent, range(4, 16), repair_messages(history))
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_a_conversation_goes_on_with_another_model() -> None:
    events: list[Event] = []
    with simulator() as server:
        agent = agent_of(server, Ullage(window=WINDOW, on_event=events.append))
        history, _ = await talk(agent, range(8))
        with agent.override(model=model_of(server, "responses", OTHER_MODEL)):
            history, _ = await talk(agent, range(8, 16), history)
        assert refused(server) == []
        assert reported(events) == [bill.input for bill in server.truth().bills]
        assert {each.body["model"] for each in server.exchanges} == {MODEL, OTHER_MODEL}


async def test_conversations_at_the_same_time_are_kept_apart() -> None:
    with simulator() as server:
        plugin = Ullage(window=WINDOW)
        agent = agent_of(server, plugin)
        await asyncio.gather(
            talk(agent, range(10), conversation_id="one"),
            talk(agent, range(20, 23), conversation_id="two"),
        )
        assert refused(server) == []
        assert plugin.reading("one").used.high > plugin.reading("two").used.high


async def test_compaction_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = tmp_path / "sessions.db"
    with simulator() as server:
        first = Ullage(window=WINDOW, store=store)
        history, _ = await talk(agent_of(server, first), range(8))
        await first.aclose()
        before = summaries(server)
        assert before >= 1
        kept = ModelMessagesTypeAdapter.dump_json(history)
        second = Ullage(window=WINDOW, store=store)
        restored = ModelMessagesTypeAdapter.validate_json(kept)
        await talk(agent_of(server, second), range(8, 9), restored)
        await second.aclose()
        assert refused(server) == []
        assert summaries(server) == before  # what was compacted is not compacted again


async def test_messages_that_stay_are_the_same_objects_for_the_model() -> None:
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(list(messages))
        return ModelResponse(parts=[TextPart(SUMMARY)])

    history: list[ModelMessage] = []
    for turn in range(40):
        history.append(ModelRequest(parts=[UserPromptPart(said(turn))]))
        history.append(ModelResponse(parts=[TextPart(f"Valve {turn} is fine.")]))
    plugin = Ullage("gpt-4.1", window=WINDOW)
    run = await Agent(FunctionModel(answer), capabilities=[plugin]).run(
        "And now?", message_history=history
    )
    assert run.all_messages()[:80] == history
    *asked, sent = seen
    assert SUMMARY_REQUEST in str(asked[-1][-1])
    own = {id(message) for message in history}
    new = [message for message in sent if id(message) not in own]
    assert len(new) == 2, "the summary, and what the user has just said"
    assert 2 < len(sent) < 40


async def read(_: Any, stream: Any) -> None:
    """Makes a run's requests streamed ones."""
    async for _ in stream:
        pass


READERS = {"whole": None, "streamed": read}


@pytest.mark.parametrize("how", READERS)
async def test_an_unknown_window_is_learnt_and_the_call_sent_again(how: str) -> None:
    with simulator() as server:
        agent = agent_of(server, Ullage(window=200_000))
        await talk(agent, range(12), event_stream_handler=READERS[how])
        assert len(refused(server)) >= 1  # the provider said so, and no turn failed


@pytest.mark.parametrize("how", READERS)
async def test_an_overflow_that_stays_is_the_providers_error(how: str) -> None:
    events: list[Event] = []
    with simulator() as server:
        plugin = Ullage(window=200_000, on_event=events.append)
        agent = agent_of(server, plugin)
        history, _ = await talk(agent, range(1))
        with (
            agent.override(instructions="Look. " * 20_000),
            pytest.raises(ModelHTTPError, match="context_length_exceeded"),
        ):
            await agent.run(
                "Look.", message_history=history, event_stream_handler=READERS[how]
            )
        await talk(agent, range(1, 3), history, event_stream_handler=READERS[how])
        known = [each for each in reported(events) if each is not None]
        assert known == [bill.input for bill in server.truth().bills]


async def test_what_no_compaction_makes_fit_is_an_error_before_the_call() -> None:
    with simulator() as server:
        agent = agent_of(server, Ullage(window=WINDOW))
        with (
            agent.override(instructions="Look. " * 20_000),
            pytest.raises(ContextUnfixable),
        ):
            await agent.run("Look.")
        assert list(server.exchanges) == []


async def test_spans_of_the_calls_and_of_summaries_are_kept() -> None:
    exporter = InMemorySpanExporter()
    traces = TracerProvider()
    traces.add_span_processor(SimpleSpanProcessor(exporter))
    settings = InstrumentationSettings(tracer_provider=traces)
    with simulator() as server:
        agent = agent_of(server, Ullage(window=WINDOW))
        agent.instrument = settings
        await talk(agent, range(12))
        asked = summaries(server)
        calls = len(server.exchanges)
        bills = server.truth().bills
    assert asked >= 1
    spans = exporter.get_finished_spans()
    names = [span.name for span in spans]
    assert names.count(f"chat {MODEL}") == calls - asked
    written = [span for span in spans if span.name == "ullage summary"]
    assert len(written) == asked
    for span in written:
        used = dict(span.attributes or {})
        assert used["gen_ai.request.model"] == MODEL
        assert used["gen_ai.usage.input_tokens"] in [bill.input for bill in bills]
