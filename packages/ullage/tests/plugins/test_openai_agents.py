"""The OpenAI Agents SDK with each model call measured, over a simulator with a window of 9,000 tokens."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Span,
    SQLiteSession,
    Trace,
    TracingProcessor,
    function_tool,
    set_trace_processors,
)
from openai import APIError, AsyncOpenAI

from tests.plugins.agent_session import (
    MODEL,
    OTHER_MODEL,
    SYSTEM,
    WINDOW,
    billed,
    refused,
    result,
    said,
    simulator,
    summaries,
)
from ullage.errors import ContextUnfixable, WrongType
from ullage.events import CallEnded, Event
from ullage.plugins.openai_agents import instrument
from ullage_simulators.server import Server

NO_LIMIT = 1_000
APIS = {"responses": True, "chat": False}


@function_tool
def look(number: int) -> str:
    """Look at a valve."""
    return result(number)


def provider_of(server: Server, api: str = "responses") -> OpenAIProvider:
    return OpenAIProvider(openai_client=client_of(server), use_responses=APIS[api])


def client_of(server: Server) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.url("openai"), api_key="any-key", max_retries=0)


def config_of(server: Server, api: str = "responses", **how: Any) -> RunConfig:
    config = RunConfig(model_provider=provider_of(server, api), tracing_disabled=True)
    return instrument(config, window=WINDOW, **how)


def agent_of(name: str = "keeper", **how: Any) -> Agent[None]:
    how = {"model": MODEL, "instructions": SYSTEM, "tools": [look], **how}
    settings = ModelSettings(include_usage=True)
    return Agent(name, model_settings=settings, **how)


async def talk(
    agent: Agent[None],
    config: RunConfig,
    turns: range,
    history: list[Any] | None = None,
    *,
    streams: bool = False,
) -> list[Any]:
    """The history after these turns."""
    items = list(history or ())
    for turn in turns:
        items.append({"role": "user", "content": said(turn)})
        if streams:
            stream = Runner.run_streamed(
                agent, items, run_config=config, max_turns=NO_LIMIT
            )
            async for _ in stream.stream_events():
                pass
            items = stream.to_input_list()
        else:
            run = await Runner.run(agent, items, run_config=config, max_turns=NO_LIMIT)
            items = run.to_input_list()
    return items


def reported(events: list[Event]) -> list[int | None]:
    """The reported input of each call."""
    found: list[int | None] = []
    for event in events:
        if isinstance(event, CallEnded):
            found.append(None if event.usage is None else event.usage.input)
    return found


def spent(events: list[Event]) -> int:
    """Input and output of all calls as they were reported."""
    total = 0
    for event in events:
        if isinstance(event, CallEnded) and event.usage is not None:
            total += (event.usage.input or 0) + (event.usage.output or 0)
    return total


def prompts(items: list[Any]) -> list[str]:
    """What the user has said in a history."""
    return [item["content"] for item in items if item.get("role") == "user"]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", APIS)
async def test_a_long_session_fits_and_adds_up(api: str, streams: bool) -> None:
    events: list[Event] = []
    with simulator() as server:
        config = config_of(server, api, on_event=events.append)
        history = await talk(agent_of(), config, range(14), streams=streams)
        assert refused(server) == []
        assert summaries(server) >= 1
        assert reported(events) == [bill.input for bill in server.truth().bills]
        assert spent(events) == billed(server)
    assert prompts(history) == [said(turn) for turn in range(14)]  # all of it is kept


def test_a_session_of_the_sdk_keeps_the_whole_history_without_an_event_loop() -> None:
    with simulator() as server:
        config = config_of(server)
        kept = SQLiteSession("keeper")
        for turn in range(12):
            Runner.run_sync(agent_of(), said(turn), run_config=config, session=kept)
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_items_that_stay_go_out_as_the_same_objects() -> None:
    seen: list[list[Any]] = []

    class Seeing(OpenAIResponsesModel):
        async def get_response(self, *given: Any, **how: Any) -> Any:
            seen.append(how["input"])
            return await super().get_response(*given, **how)

    with simulator(first=[{"text": "It is fine."}]) as server:
        model = instrument(Seeing(MODEL, client_of(server)), window=WINDOW)
        items: list[Any] = []
        for turn in range(40):
            items.append({"role": "user", "content": said(turn)})
            items.append({"role": "assistant", "content": f"Valve {turn} is fine."})
        items.append({"role": "user", "content": "And now?"})
        config = RunConfig(tracing_disabled=True)
        agent = agent_of(model=model, tools=[])
        await Runner.run(agent, items, run_config=config)
        assert refused(server) == []
    own = [str(item) for item in items]
    sent = seen[-1]
    assert 2 < len(sent) < 40
    assert sum(str(item) not in own for item in sent) == 1, "the summary alone is new"


async def test_a_stream_that_is_left_ends_its_call_and_the_conversation_goes_on() -> None:
    with simulator() as server:
        config = config_of(server)
        history = await talk(agent_of(), config, range(3))
        asked = [*history, {"role": "user", "content": said(3)}]
        stream = Runner.run_streamed(agent_of(), asked, run_config=config)
        async for event in stream.stream_events():
            if event.type == "raw_response_event":
                stream.cancel()
        history = await talk(agent_of(), config, range(4, 14), asked)
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_a_call_without_its_result_does_not_stop_the_conversation() -> None:
    with simulator() as server:
        config = config_of(server)
        history = await talk(agent_of(), config, range(4))
        history.append({"role": "user", "content": "Open valve 9, which takes hours."})
        lost = {"type": "function_call", "call_id": "call_lost1", "name": "look"}
        history.append({**lost, "arguments": '{"number": 9}'})
        await talk(agent_of(), config, range(4, 14), history)
        assert refused(server) == []
        assert summaries(server) >= 1


async def test_a_hand_off_stays_in_its_conversation_and_its_tools_are_counted() -> None:
    events: list[Event] = []
    answers: list[dict[str, Any]] = [
        {
            "when": {"contains": "the specialist"},
            "calls": [{"name": "transfer_to_specialist", "arguments": "{}"}],
            "times": 1,
        }
    ]
    with simulator(first=answers) as server:
        config = config_of(server, on_event=events.append)
        specialist = agent_of("specialist", instructions="You know all about valves.")
        keeper = agent_of(handoffs=[specialist])
        history = await talk(keeper, config, range(4))
        history.append({"role": "user", "content": "Ask the specialist."})
        run = await Runner.run(keeper, history, run_config=config)
        assert run.last_agent is specialist
        await talk(specialist, config, range(4, 12), run.to_input_list())
        assert refused(server) == []
        assert summaries(server) >= 1
        bills = [bill.input for bill in server.truth().bills]
        assert reported(events) == bills
        declared = server.exchanges[0].body["tools"]
        assert [tool["name"] for tool in declared] == ["look", "transfer_to_specialist"]
    conversations = {event.call for event in events if isinstance(event, CallEnded)}
    assert len(conversations) == len(reported(events))  # no name is given twice in one


async def test_an_agent_that_is_used_as_a_tool_has_a_conversation_of_its_own() -> None:
    answers: list[dict[str, Any]] = [
        {
            "when": {"contains": "Turn "},
            "calls": [{"name": "helper", "arguments": '{"input": "Look."}'}],
        },
        {"when": {"contains": "Look."}, "text": "I have looked. " * 60},
    ]
    with simulator(first=answers) as server:
        config = config_of(server)
        helper = agent_of("helper", tools=[])
        tool = helper.as_tool("helper", "Helps.", run_config=config)
        await talk(agent_of(tools=[tool]), config, range(14))
        assert refused(server) == []
        asked = summaries(server)
        assert (
            1 <= asked <= 4
        )  # one that begins anew after each use would ask at every turn


async def test_a_conversation_goes_on_with_another_model() -> None:
    events: list[Event] = []
    with simulator() as server:
        config = config_of(server, on_event=events.append)
        history = await talk(agent_of(), config, range(7))
        await talk(agent_of(model=OTHER_MODEL), config, range(7, 14), history)
        assert refused(server) == []
        assert reported(events) == [bill.input for bill in server.truth().bills]


async def test_compaction_goes_on_after_a_restart(tmp_path: Path) -> None:
    store = tmp_path / "sessions.db"
    with simulator() as server:
        first = config_of(server, store=store)
        history = await talk(agent_of(), first, range(8))
        await first.model_provider.aclose()
        before = summaries(server)
        assert before >= 1
        second = config_of(server, store=store)
        await talk(agent_of(), second, range(8, 9), history)
        await second.model_provider.aclose()
        assert refused(server) == []
        assert summaries(server) == before  # what was compacted is not compacted again


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_an_unknown_window_is_learnt_and_the_call_sent_again(streams: bool) -> None:
    with simulator() as server:
        config = RunConfig(model_provider=provider_of(server), tracing_disabled=True)
        config = instrument(config, window=200_000)
        await talk(agent_of(), config, range(12), streams=streams)
        assert len(refused(server)) >= 1  # the provider said so, and no turn failed


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_an_overflow_that_stays_is_the_providers_error(streams: bool) -> None:
    events: list[Event] = []
    with simulator() as server:
        config = RunConfig(model_provider=provider_of(server), tracing_disabled=True)
        config = instrument(config, window=200_000, on_event=events.append)
        history = await talk(agent_of(), config, range(1))
        huge = [*history, {"role": "user", "content": "Look. " * 20_000}]
        with pytest.raises(APIError, match="exceeds the context window"):
            if streams:
                stream = Runner.run_streamed(agent_of(), huge, run_config=config)
                async for _ in stream.stream_events():
                    pass
            else:
                await Runner.run(agent_of(), huge, run_config=config)
        await talk(agent_of(), config, range(1, 3), history, streams=streams)
        bills = server.truth().bills
        assert spent(events) == sum(bill.input + bill.output for bill in bills)


class OverflowInStream(httpx2.AsyncHTTPTransport):
    """Answers the first streamed request after ``armed`` with an overflow that comes inside the stream."""

    armed = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self.armed or not json.loads(request.content).get("stream"):
            return await super().handle_async_request(request)
        self.armed = False
        response = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": MODEL,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "status": "in_progress",
        }
        error = {
            "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model.",
        }
        told = [
            {"type": "response.created", "response": response},
            {
                "type": "response.failed",
                "response": {**response, "status": "failed", "error": error},
            },
        ]
        lines: list[str] = []
        for number, event in enumerate(told):
            data = json.dumps({**event, "sequence_number": number})
            lines.append(f"event: {event['type']}\ndata: {data}\n\n")
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, text="".join(lines), request=request)


async def test_an_overflow_inside_a_stream_is_compacted_and_sent_again() -> None:
    transport = OverflowInStream()
    with simulator() as server:
        client = AsyncOpenAI(
            base_url=server.url("openai"),
            api_key="any-key",
            max_retries=0,
            http_client=httpx2.AsyncClient(transport=transport),
        )
        provider = OpenAIProvider(openai_client=client, use_responses=True)
        config = instrument(
            RunConfig(model_provider=provider, tracing_disabled=True), window=WINDOW
        )
        history = await talk(agent_of(), config, range(4))
        before = server.exchanges[-1].bill
        transport.armed = True
        types: list[str] = []
        asked = [*history, {"role": "user", "content": "And valve 9?"}]
        stream = Runner.run_streamed(agent_of(), asked, run_config=config)
        async for event in stream.stream_events():
            if event.type == "raw_response_event":
                types.append(event.data.type)
        after = server.exchanges[-1].bill
        assert not transport.armed, "the overflow came"
        assert "response.failed" not in types
        assert types.count("response.created") == types.count("response.completed") == 2
        assert before is not None
        assert after is not None
        assert after.input < before.input


async def test_what_no_compaction_makes_fit_is_an_error_before_the_call() -> None:
    with simulator() as server:
        agent = agent_of(instructions="Look. " * 20_000)
        with pytest.raises(ContextUnfixable):
            await Runner.run(agent, "Look.", run_config=config_of(server))
        assert list(server.exchanges) == []


async def test_models_that_are_objects_share_their_conversations_with_like() -> None:
    with simulator() as server:
        config = config_of(server)
        other = instrument(
            OpenAIResponsesModel(OTHER_MODEL, client_of(server)), like=config
        )
        history = await talk(agent_of(), config, range(8))
        before = summaries(server)
        assert before >= 1
        await talk(agent_of(model=other), config, range(8, 9), history)
        assert refused(server) == []
        assert summaries(server) == before


class Spans(TracingProcessor):
    """Keeps the type of each span that has ended."""

    def __init__(self) -> None:
        self.types: list[str] = []

    def on_span_end(self, span: Span[Any]) -> None:
        self.types.append(span.span_data.type)

    def on_span_start(self, span: Span[Any]) -> None: ...
    def on_trace_start(self, trace: Trace) -> None: ...
    def on_trace_end(self, trace: Trace) -> None: ...
    def force_flush(self) -> None: ...
    def shutdown(self) -> None: ...


@contextmanager
def recorded() -> Iterator[Spans]:
    spans = Spans()
    set_trace_processors([spans])
    try:
        yield spans
    finally:
        set_trace_processors([])


async def test_spans_of_the_calls_and_of_summaries_are_kept() -> None:
    with simulator() as server, recorded() as spans:
        config = RunConfig(model_provider=provider_of(server))
        await talk(agent_of(), instrument(config, window=WINDOW), range(12))
        assert summaries(server) >= 1
        assert spans.types.count("response") == len(server.exchanges)


def test_what_can_not_be_instrumented_is_named() -> None:
    agent: Any = Agent("keeper")
    with pytest.raises(WrongType, match=r"instrument takes a RunConfig.*not Agent"):
        instrument(agent)
