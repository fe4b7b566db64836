"""The middleware in real agents of LangChain, over the simulators."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRequest, ModelResponse, wrap_model_call
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from ullage import Compactor, UllageError
from ullage.errors import ContextUnfixable
from ullage.plugins.langchain import UllageMiddleware
from ullage_simulators import Server, read, running

MODEL = "nobody-knows-this"
OTHER = "nor-this-one"
WINDOW = 4_000
ASKED = "Write down what is needed to go on"
SUMMARY = "## Goal\nLook at the casks.\n## State\n" + "Each was full. " * 20
SYSTEM = "You look after the casks of a cellar. " * 8
TURNS = 14
CONFIG: Any = {"configurable": {"thread_id": "cellar"}}


def look(cask: int) -> str:
    """Look at a cask."""
    return f"Cask {cask} is full and was last looked at in spring. " * 12


@contextmanager
def cellar(
    *first: dict[str, Any], window: int = WINDOW, reasoning: str = "", **more: Any
) -> Iterator[Server]:
    """A model that looks at a cask and then says a little, as often as it is asked."""
    like = "gpt-5.5" if reasoning else "gpt-4.1"
    models = []
    for name in (MODEL, OTHER):
        models.append({"name": name, "like": like, "window": window, "max_output": 2_000})
    calls = [{"name": "look", "arguments": {"cask": 7}}]
    answers = [
        {"when": {"contains": ASKED}, "text": SUMMARY},
        *first,
        {"when": {"after": "user"}, "reasoning": reasoning, "calls": calls},
        {"text": "Nothing leaks, and nothing has to be done about it today."},
    ]
    scenario = read({"models": models, "answers": answers, **more})
    with running(scenario, seed=4, wires=["openai"]) as server:
        yield server


def chat(server: Server, model: str = MODEL, **more: Any) -> ChatOpenAI:
    url = server.url("openai")
    key = SecretStr("none")
    return ChatOpenAI(model=model, base_url=url, api_key=key, max_retries=0, **more)


def agent(model: ChatOpenAI, *middleware: Any, **more: Any) -> Any:
    return create_agent(
        model, [look], system_prompt=SYSTEM, middleware=middleware, **more
    )


async def turns(
    which: Any, count: int = TURNS, history: Sequence[Any] = (), config: Any = None
) -> list[Any]:
    kept = list(history)
    for number in range(count):
        kept.append(HumanMessage(f"Turn {number}: how is cask {number}? " * 3))
        done = await which.ainvoke({"messages": kept}, config or CONFIG)
        kept = done["messages"]
    return kept


def billed(server: Server) -> int:
    return sum(bill.input + bill.output for bill in server.truth().bills)


def counted(middleware: UllageMiddleware) -> int:
    spent = middleware.reading().spend.all
    return (spent.input or 0) + (spent.output or 0)


def refused(server: Server) -> list[str]:
    return [each.said for each in server.exchanges if each.number and not each.bill]


def summaries(server: Server) -> list[Any]:
    return [each for each in server.exchanges if ASKED in str(each.body)]


MODES: dict[str, dict[str, Any]] = {
    "chat": {},
    "responses": {"use_responses_api": True},
    "responses, reasoning kept": {
        "use_responses_api": True,
        "output_version": "responses/v1",
        "include": ["reasoning.encrypted_content"],
        "store": False,
    },
}


@pytest.mark.parametrize("mode", list(MODES))
async def test_a_long_session_fits_and_all_that_is_billed_is_counted(mode: str) -> None:
    reasoning = "I have to look at it first. " * 4 if "reasoning" in mode else ""
    middleware = UllageMiddleware(window=WINDOW)
    with cellar(reasoning=reasoning) as server:
        await turns(agent(chat(server, **MODES[mode]), middleware))
        assert refused(server) == []
        assert counted(middleware) == billed(server)
        assert len(summaries(server)) >= 1
        assert max(bill.input for bill in server.truth().bills) < WINDOW


async def test_what_the_graph_holds_is_not_touched() -> None:
    with cellar() as server:
        plain = await turns(agent(chat(server)), 4)
    with cellar() as server:
        kept = await turns(agent(chat(server), UllageMiddleware(window=WINDOW)))
        assert len(summaries(server)) >= 1
    assert len(kept) == 4 * TURNS
    assert [each.content for each in kept[:16]] == [each.content for each in plain]


async def test_messages_that_stay_are_the_same_objects_with_their_ids() -> None:
    seen: list[Any] = []

    @wrap_model_call
    async def watch(request: Any, handler: Any) -> Any:
        seen.append((request.state["messages"], request.messages))
        return await handler(request)

    with cellar() as server:
        await turns(agent(chat(server), UllageMiddleware(window=WINDOW), watch))
    state, sent = seen[-1]
    assert len(sent) < len(state)
    known = {id(message) for message in state}
    made = [message for message in sent if id(message) not in known]
    assert len(made) <= 2
    assert sent[-1] is state[-1]


async def test_while_nothing_is_compacted_the_request_is_the_same_object() -> None:
    seen: list[Any] = []

    @wrap_model_call
    async def before(request: Any, handler: Any) -> Any:
        seen.append(request)
        return await handler(request)

    @wrap_model_call
    async def after(request: Any, handler: Any) -> Any:
        seen.append(request)
        return await handler(request)

    with cellar() as server:
        both = before, UllageMiddleware(window=WINDOW), after
        await turns(agent(chat(server), *both), 1)
    assert seen[0] is seen[1]


def test_an_agent_without_an_event_loop_is_metered_and_compacted_as_well() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    with cellar() as server:
        which, kept = agent(chat(server), middleware), []
        for number in range(TURNS):
            kept.append(HumanMessage(f"Turn {number}: how is cask {number}? " * 3))
            kept = which.invoke({"messages": kept}, CONFIG)["messages"]
        assert refused(server) == []
        assert counted(middleware) == billed(server)
        assert len(summaries(server)) >= 1


async def test_a_stream_shows_the_answers_and_not_the_summaries() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    with cellar() as server:
        model = chat(server, stream_usage=True)
        which, kept, said = agent(model, middleware), list[Any](), ""
        for number in range(TURNS):
            kept.append(HumanMessage(f"Turn {number}: how is cask {number}? " * 3))
            modes = ["messages", "values"]
            async for mode, piece in which.astream(
                {"messages": kept}, CONFIG, stream_mode=modes
            ):
                if mode == "values":
                    kept = piece["messages"]
                elif isinstance(piece[0], AIMessage):
                    said += str(piece[0].text)
        assert len(summaries(server)) >= 1
        assert counted(middleware) == billed(server)
    assert said.count("Nothing leaks") == TURNS
    assert "## Goal" not in said


async def test_a_left_stream_is_a_cancelled_call_and_the_next_turn_goes_well() -> None:
    long = {"when": {"contains": "at length"}, "text": "It is full. " * 500}
    middleware = UllageMiddleware(window=WINDOW)
    with cellar(long) as server:
        which = agent(chat(server, stream_usage=True), middleware)
        given = {"messages": [HumanMessage("Tell me at length.")]}
        stream = which.astream(given, CONFIG, stream_mode="messages")
        async for _ in stream:
            break
        await stream.aclose()
        assert middleware.reading().spend.all.calls == 1
        await turns(which, 2, given["messages"])
        left, *others = server.truth().bills
        assert counted(middleware) == sum(bill.input + bill.output for bill in others)
        assert left.output > 1_000


async def test_a_cancelled_task_is_a_cancelled_call() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    fault = {"kind": "hang", "request": 1, "seconds": 60}
    with cellar(faults=[fault]) as server:
        which = agent(chat(server), middleware)
        task = asyncio.create_task(turns(which, 1))
        while not server.exchanges:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await turns(which, 2)
        assert counted(middleware) == sum(
            bill.input + bill.output for bill in server.truth().bills[1:]
        )


async def test_a_tool_call_that_never_got_its_result_is_given_one() -> None:
    call: Any = {"name": "look", "args": {"cask": 1}, "id": "call_lost"}
    lost = [HumanMessage("Look."), AIMessage("", tool_calls=[call])]
    with cellar() as server:
        middleware = UllageMiddleware(window=WINDOW)
        kept = await turns(agent(chat(server), middleware), history=lost)
        assert refused(server) == []
        assert counted(middleware) == billed(server)
    named = [each for each in kept if isinstance(each, ToolMessage)]
    assert all(each.tool_call_id != "call_lost" for each in named)


async def test_another_model_in_the_middle_is_metered_as_itself() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    with cellar() as server:
        kept = await turns(agent(chat(server), middleware), TURNS // 2)
        assert middleware.reading().model == MODEL
        await turns(agent(chat(server, OTHER), middleware), TURNS // 2, kept)
        assert middleware.reading().model == OTHER
        assert refused(server) == []
        assert counted(middleware) == billed(server)


def test_cache_writes_are_counted_where_the_usage_lists_them_by_lifetime() -> None:
    details: Any = {"cache_read": 3_000, "cache_creation": 0}
    details |= {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 100}
    answer = AIMessage(
        "Full.",
        usage_metadata={
            "input_tokens": 3_600,
            "output_tokens": 20,
            "total_tokens": 3_620,
            "input_token_details": details,
        },
    )
    middleware = UllageMiddleware(window=WINDOW)
    with cellar() as server:
        request = ModelRequest(
            model=chat(server), messages=[HumanMessage("And? " * 1_700)]
        )
        middleware.wrap_model_call(request, lambda _: ModelResponse(result=[answer]))
    spent = middleware.reading().spend.all
    assert (spent.input, spent.cache_read, spent.cache_write) == (3_600, 3_000, 500)


async def test_a_failed_call_raises_what_the_chat_model_raises() -> None:
    with cellar(faults=[{"kind": "status", "request": 1, "status": 500}]) as server:
        middleware = UllageMiddleware(window=WINDOW)
        which = agent(chat(server), middleware)
        with pytest.raises(Exception, match="500"):
            await turns(which, 1)
        await turns(which, 2)
        assert counted(middleware) == billed(server)


async def test_threads_have_readings_of_their_own() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    with cellar() as server:
        which = agent(chat(server), middleware, checkpointer=InMemorySaver())

        async def ask(thread: str, count: int) -> None:
            config: Any = {"configurable": {"thread_id": thread}}
            for number in range(count):
                given = [HumanMessage(f"{thread} {number}: how is it?")]
                await which.ainvoke({"messages": given}, config)

        await asyncio.gather(ask("one", 1), ask("two", 3))
        one, two = middleware.reading("one"), middleware.reading("two")
        sums = [each.spend.all.input or 0 for each in (one, two)]
        assert sum(sums) == sum(bill.input for bill in server.truth().bills)
    assert (one.spend.all.calls, two.spend.all.calls) == (2, 6)
    assert one.used.tokens < two.used.tokens


async def test_conversations_without_a_thread_are_told_apart_by_what_they_say() -> None:
    middleware = UllageMiddleware(window=WINDOW)
    nothing: Any = {"callbacks": []}
    with cellar() as server:
        which = agent(chat(server), middleware)
        first = await turns(which, 1, [HumanMessage("The first cellar.")], nothing)
        await turns(which, 1, [HumanMessage("The second cellar.")], nothing)
        assert middleware.reading().spend.all.calls == 2
        await turns(which, 1, first, nothing)
        assert middleware.reading().spend.all.calls == 4


async def test_the_agents_own_model_writes_the_summaries_with_its_callbacks() -> None:
    names: list[str] = []

    class Tracing(BaseCallbackHandler):
        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            names.append(str(kwargs.get("name")))

    config: Any = {**CONFIG, "callbacks": [Tracing()]}
    with cellar(server={"key": "secret"}) as server:
        model = ChatOpenAI(
            model=MODEL, base_url=server.url("openai"), api_key=SecretStr("secret")
        )
        middleware = UllageMiddleware(window=WINDOW)
        await turns(agent(model, middleware), config=config)
        assert len(summaries(server)) == names.count("ullage summary") >= 1
        assert counted(middleware) == billed(server)


async def test_a_summary_extends_the_request_before_it_so_that_the_cache_holds() -> None:
    with cellar() as server:
        await turns(agent(chat(server), UllageMiddleware(window=WINDOW)))
        bills = [each.bill for each in summaries(server)]
    assert all(bill is not None and bill.cache_read > bill.input / 2 for bill in bills)


async def test_a_compactor_of_ones_own_is_used_for_its_conversation() -> None:
    with cellar() as server:
        compactor = Compactor(window=WINDOW)
        middleware = UllageMiddleware(compactor=compactor)
        await turns(agent(chat(server), middleware), 2)
        assert middleware.reading() == compactor.reading()
        assert counted(middleware) == billed(server)


async def test_what_can_not_be_made_to_fit_is_an_error_before_the_call() -> None:
    with cellar() as server:
        middleware = UllageMiddleware(window=WINDOW)
        which = create_agent(
            chat(server), [look], system_prompt=SYSTEM * 100, middleware=[middleware]
        )
        given: Any = {"messages": [HumanMessage("How is cask seven?")]}
        with pytest.raises(ContextUnfixable):
            await which.ainvoke(given, CONFIG)
        assert not server.exchanges


async def test_a_stream_that_reports_no_usage_is_compacted_by_estimates() -> None:
    with cellar(faults=[{"kind": "no-usage"}]) as server:
        await turns(agent(chat(server, streaming=True), UllageMiddleware(window=WINDOW)))
        assert refused(server) == []
        assert len(summaries(server)) >= 1


def test_a_reading_before_any_call_is_an_error_that_says_so() -> None:
    with pytest.raises(UllageError, match="no model was called in thread 'x' yet"):
        UllageMiddleware().reading("x")


async def test_an_overflow_that_came_all_the_same_is_compacted_and_called_again() -> None:
    with cellar(window=WINDOW) as server:
        middleware = UllageMiddleware(window=WINDOW * 2)
        await turns(agent(chat(server), middleware))
        assert len(refused(server)) >= 1
        assert counted(middleware) == billed(server)


async def test_a_restart_in_the_middle_goes_on_from_the_store(tmp_path: Path) -> None:
    with cellar() as server:
        kept: list[Any] = []
        for _ in range(2):
            middleware = UllageMiddleware(window=WINDOW, store=tmp_path / "ullage.db")
            kept = await turns(agent(chat(server), middleware), TURNS, kept)
            assert counted(middleware) == billed(server)
            await middleware.aclose()
        assert refused(server) == []
        assert len(kept) == 8 * TURNS
