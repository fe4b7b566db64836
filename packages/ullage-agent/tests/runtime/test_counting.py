"""Counts of a session's provider: when they are asked for, and that nothing waits for one that does not come."""

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from tests.promises.stage import GEMINI, SIX, Speaker, agent_for, generated, script
from tests.wire.local_server import Asked, LocalServer, Reply, chat, problem, serving
from ullage import Agent, Meter
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionStarted,
    Event,
    InputCounted,
    PiecesCounted,
)
from ullage.store.counts import CountStore, KnownCounts
from ullage.wire.client import Client
from ullage.wire.endpoints import Endpoint
from ullage_agent.runtime.count_endpoints import CountEndpoints
from ullage_agent.runtime.session import Session
from ullage_simulators import Server, running

COUNTING = [speaker for speaker in SIX if speaker.codec != "chat"]
PIXEL = (
    b"\x89PNG\r\n\x1a\n"
    + b"\0" * 8
    + (640).to_bytes(4)
    + (480).to_bytes(4)
    + b"\0" * 9
    + b"IEND"
)


LOOKS = {"calls": [{"name": "look", "arguments": {"path": "a"}}], "times": 1}


def look(path: str) -> str:
    """What a file of the museum holds.

    Args:
        path: Where it lies, from the museum's directory.
    """
    return f"{path}: three amphorae, one of them broken. " * 8


async def asked(agent: Agent, text: str, **settings: Any) -> list[Event]:
    async with agent.session("s", **settings) as session:
        await session.ask(text)
        return list(await session.history())


def counts(events: list[Event]) -> list[InputCounted]:
    return [event for event in events if isinstance(event, InputCounted)]


def paths(server: Server) -> list[str]:
    return [
        exchange.path
        for exchange in server.exchanges
        if not exchange.number and exchange.method == "POST"
    ]


def replayed(events: list[Event]) -> Meter:
    meter = Meter()
    for event in events:
        meter.apply(event)
    return meter


@pytest.mark.parametrize("speaker", COUNTING, ids=lambda speaker: speaker.name)
async def test_the_first_call_is_estimated_by_the_provider_s_count(
    speaker: Speaker, tmp_path: Path
) -> None:
    with running(script({"text": "Three."})) as server:
        agent = agent_for(tmp_path / "s.db", server=server, tools=[look])
        events = await asked(agent, "How many amphorae are there?", **speaker.settings())
        (bill,) = server.truth().bills
        assert len(counts(events)) == 1
    (step,) = replayed(events).steps
    assert abs(step.estimated - bill.input) <= 0.005 * bill.input
    assert step.low <= bill.input <= step.high


async def test_never_sends_no_count(tmp_path: Path) -> None:
    with running(script({"text": "Three."})) as server:
        agent = agent_for(tmp_path / "s.db", server=server, count="never")
        events = await asked(agent, "How many?", **SIX[0].settings())
        assert (counts(events), paths(server)) == ([], [])


async def test_always_counts_every_call(tmp_path: Path) -> None:
    answers = (LOOKS, {"text": "ok"})
    with running(script(*answers)) as server:
        agent = agent_for(tmp_path / "s.db", server=server, tools=[look], count="always")
        events = await asked(agent, "Look.", **SIX[0].settings())
        assert len(counts(events)) == len(generated(server)) == 2
        inputs = [bill.input for bill in server.truth().bills]
    assert [step.estimated for step in replayed(events).steps] == inputs


@pytest.mark.parametrize("speaker", COUNTING, ids=lambda speaker: speaker.name)
async def test_the_provider_counts_an_image(speaker: Speaker, tmp_path: Path) -> None:
    with running(script({"text": "ok"})) as server:
        agent = agent_for(tmp_path / "s.db", server=server)
        async with agent.session("s", **speaker.settings()) as session:
            await session.ask("Hello.")
            await session.ask("What is this?", PIXEL)
            events = list(await session.history())
        billed = [bill.input for bill in server.truth().bills]
    counted = [event.tokens for event in counts(events)]
    assert len(counted) == 2
    assert counted == pytest.approx(billed, rel=0.005)


async def test_a_count_decides_where_the_interval_holds_the_point(tmp_path: Path) -> None:
    """The same session with a threshold just above what the count can mean, and with one at the count itself."""
    words = "The amphora of the second room has a crack below its left handle. " * 60

    async def told(name: str, trigger: int, count: str) -> tuple[Meter, list[Event]]:
        scenario = script({"text": words, "times": 1}, {"text": "Noted."})
        with running(scenario, seed=11) as server:
            agent = agent_for(
                tmp_path / f"{name}.db", server=server, window=100_000, count=count
            )
            async with agent.session("s", **GEMINI.settings()) as session:
                await session.ask("Describe it.")
                await session.set(trigger=trigger)
                await session.ask(words)
                events = list(await session.history())
        return replayed(events), events

    step = (await told("plain", 50_000, "never"))[0].steps[-1]
    assert step.actual is not None
    above, at = step.actual + 12, step.actual
    assert step.low < at < above <= step.high, "the estimate alone leaves it open"
    for name, trigger, compactions in (("above", above, 0), ("at", at, 1)):
        _, events = await told(name, trigger, "auto")
        assert step.actual in [event.tokens for event in counts(events)]
        begun = [event for event in events if isinstance(event, CompactionStarted)]
        assert min(1, len(begun)) == compactions


# -- endpoints that do not count --


INPUT_TOKENS = "/v1/chat/completions/input_tokens"
TOKENIZE = "/tokenize"
TEMPLATE = "/apply-template"
JSON = {"content-type": "application/json"}
REFUSALS = {
    "missing": problem(404, "no such path"),
    "a wrong key": problem(401, "invalid api key"),
    "asked too often": problem(429, "rate limit"),
    "broken": Reply([b'{"input_tok'], headers=JSON),
    "huge": Reply([b'{"input_tokens": 900000000, "count": 900000000}'], headers=JSON),
    "no number": Reply([b'{"input_tokens": "many"}'], headers=JSON),
    "redirect": Reply(status=307, headers={"location": "http://127.0.0.1:9/x"}),
    "cut": Reply([b"{"], headers=JSON, then="cut"),
}


def local(server: LocalServer, place: Path, **more: Any) -> Agent:
    settings = {"wire": "chat", "base_url": server.url, "window": 50_000, **more}
    environment = {"ULLAGE_DATA": str(place / "data")}
    return Agent(
        "vllm:m", store=place / "s.db", environment=environment, config=False, **settings
    )


def counted(server: LocalServer) -> list[str]:
    return [
        one.path for one in server.asked if one.path in (INPUT_TOKENS, TOKENIZE, TEMPLATE)
    ]


def answering(server: LocalServer, reply: Reply) -> None:
    server.at = {INPUT_TOKENS: reply, TOKENIZE: reply, TEMPLATE: reply}


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_count_that_can_not_be_had_changes_nothing(
    reply: Reply, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, reply)
        async with local(server, tmp_path).session("s") as session:
            estimate = (await session.context()).used
            assert (await session.ask("Hello.")).text == "Hello."
            assert (await session.ask("And again.")).text == "Hello."
            events = list(await session.history())
            first = next(one for one in events if isinstance(one, CallStarted))
        assert len(counted(server)) <= 3, "a failing endpoint is asked once"
    assert first.estimate is not None and first.estimate.tokens < 1_000
    assert estimate.tokens < 1_000
    assert not caplog.records


async def test_a_false_count_alone_ends_no_session(tmp_path: Path) -> None:
    """Twice what a system prompt is estimated at is possible: the provider has to say itself that it does not fit."""
    false, system = 7_200, "The amphora of the second room has a crack. " * 400
    content = json.dumps({"input_tokens": false, "count": false}).encode()
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply([content], headers=JSON))
        agent = local(server, tmp_path, window=8_000, system=system)
        async with agent.session("s") as session:
            for _ in range(3):
                assert (await session.ask("Hello.")).text == "Hello."
            events = list(await session.history())
    assert false in [event.tokens for event in counts(events)]


async def test_a_count_that_never_changes_shortens_a_message_once(tmp_path: Path) -> None:
    """The second count is the same although much of the content has left: it is not used, so no third one follows."""
    false, window = 28_800, 32_000
    content = json.dumps({"input_tokens": false, "count": false}).encode()
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply([content], headers=JSON))
        agent = local(server, tmp_path, window=window)
        async with agent.session("s") as session:
            await session.ask("The amphora of the second room has a crack. " * 1_500)
            events = list(await session.history())
    called = next(at for at, each in enumerate(events) if isinstance(each, CallEnded))
    assert [each.tokens for each in counts(events[:called])] == [false, false]
    begun = [each for each in events[:called] if isinstance(each, CompactionStarted)]
    assert len(begun) == 1


async def test_a_slow_count_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ullage.wire.asking.ASIDE_S", 0.1)
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply(then="hang", headers=JSON))
        async with local(server, tmp_path).session("s") as session:
            assert (await session.ask("Hello.")).text == "Hello."
            assert (await session.ask("And again.")).text == "Hello."
            assert counts(list(await session.history())) == []
        # None where a busy machine takes longer to ask than it waits for the answer.
        assert len(counted(server)) <= 1


async def test_a_count_in_flight_ends_with_a_cancel(tmp_path: Path) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply(then="hang", headers=JSON))
        async with local(server, tmp_path).session("s") as session:
            await session.send("Hello.")
            while not counted(server):
                await asyncio.sleep(0.01)
            await session.cancel()
            result = await session.wait()
            assert result.reason == "cancelled"
            await asyncio.wait_for(server.gone.wait(), 60)
            events = list(await session.history())
    assert counts(events) == []
    assert not [event for event in events if isinstance(event, CallStarted)]


async def test_a_count_in_flight_ends_with_its_session(tmp_path: Path) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply(then="hang", headers=JSON))
        async with local(server, tmp_path).session("s") as session:
            await session.send("Hello.")
            while not counted(server):
                await asyncio.sleep(0.01)
            await session.close()
        await asyncio.wait_for(server.gone.wait(), 60)


async def test_the_way_a_server_counts_is_found_once_and_kept(tmp_path: Path) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        server.at = {
            INPUT_TOKENS: problem(404),
            TOKENIZE: Reply([b'{"count": 17, "tokens": [1]}'], headers=JSON),
        }
        for name in ("one", "two"):
            async with local(server, tmp_path).session(name) as session:
                await session.ask("Hello.")
                events = list(await session.history())
                assert [event.tokens for event in counts(events)] == [17]
        assert counted(server) == [INPUT_TOKENS, TOKENIZE, TOKENIZE]
    file = (tmp_path / "data/counts/known.json").read_text()
    assert "127.0.0.1" not in file and "Hello" not in file


async def test_an_older_llama_cpp_is_asked_in_its_two_steps(tmp_path: Path) -> None:
    def tokenized(request: Asked) -> Reply:
        is_text = "content" in request.json
        return Reply(
            [b'{"tokens": [1, 2, 3]}' if is_text else b'{"tokens": []}'], headers=JSON
        )

    async with serving(Reply(chat("Hello."))) as server:
        server.at = {
            INPUT_TOKENS: problem(404),
            TOKENIZE: tokenized,
            TEMPLATE: Reply([b'{"prompt": "Hello."}'], headers=JSON),
        }
        for name in ("one", "two"):
            async with local(server, tmp_path).session(name) as session:
                await session.ask("Hello.")
                events = list(await session.history())
                assert [event.tokens for event in counts(events)] == [3]
        first = [INPUT_TOKENS, TOKENIZE, TEMPLATE, TOKENIZE]
        assert counted(server) == [*first, TEMPLATE, TOKENIZE]


async def test_a_server_that_can_t_count_is_not_asked_again(tmp_path: Path) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, problem(404))
        for name in ("one", "two"):
            async with local(server, tmp_path).session(name) as session:
                await session.ask("Hello.")
        assert counted(server) == [INPUT_TOKENS, TOKENIZE, TEMPLATE]


@pytest.mark.parametrize("known", [{"way": "other", "at": 0}, {"way": "", "at": 1e300}])
async def test_an_unknown_way_and_a_time_to_come_keep_no_server_from_being_asked(
    known: dict[str, Any], tmp_path: Path
) -> None:
    async with serving(Reply(chat("Hello."))) as server:
        answering(server, Reply([b'{"input_tokens": 17, "count": 17}'], headers=JSON))
        async with local(server, tmp_path).session("one") as session:
            await session.ask("Hello.")
        file = tmp_path / "data/counts/known.json"
        stored = json.loads(file.read_text())
        stored["endpoints"] = dict.fromkeys(stored["endpoints"], known)
        file.write_text(json.dumps(stored))
        async with local(server, tmp_path).session("two") as session:
            await session.ask("Hello.")
            assert len(counts(list(await session.history()))) == 1


async def test_providers_that_may_charge_count_only_with_always(tmp_path: Path) -> None:
    def at(provider: str, address: str) -> bool:
        return Endpoint(provider=provider, wire="chat", base_url=address).counts_free

    assert at("anthropic", "https://api.anthropic.com/v1")
    assert not at("anthropic", "https://gateway.example/v1")
    assert not at("deepseek", "https://api.deepseek.com/v1")
    assert at("deepseek", "http://127.0.0.1:1/v1")
    assert at("vllm", "http://gpu.example:8000/v1")


# -- pieces --


async def test_system_prompt_and_tools_are_counted_beside_calls(tmp_path: Path) -> None:
    with running(script(LOOKS, {"text": "ok"})) as server:
        agent = agent_for(tmp_path / "s.db", server=server, tools=[look])
        async with agent.session("s", **SIX[0].settings()) as session:
            for _ in range(40):
                await session.ask("Look.")
                reading = await session.context()
                counted = [row.name for row in reading.rows if row.source == "counted"]
                if len(counted) == 2:
                    break
            events = list(await session.history())
            asked = len(paths(server))
            await session.ask("And again.")
            assert len(paths(server)) == asked, "what was counted is not counted again"
    assert counted == ["System prompt", "Tools (2)"]
    assert [event for event in events if isinstance(event, PiecesCounted)]
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    again = replayed(events).reading()
    assert (again.used, again.rows) == (reading.used, reading.rows)


async def test_a_second_session_takes_stored_counts_of_rows(tmp_path: Path) -> None:
    """The second agent has a store of sessions of its own and shares the directory of counts alone."""
    shared = {"ANTHROPIC_API_KEY": "x", "ULLAGE_DATA": str(tmp_path / "data")}
    system = "Describe what is on the shelves of the museum, room by room. " * 20

    def agent_of(name: str, server: Server) -> Agent:
        return haiku(
            tmp_path / f"{name}.db",
            system=system,
            tools=[look],
            base_url=server.url("anthropic"),
            environment=shared,
            learns=True,
        )

    async def counted_rows(session: Session) -> dict[str, int]:
        rows = (await session.context()).rows
        return {row.name: row.tokens for row in rows if row.source == "counted"}

    with running(script({"text": "ok"})) as server:
        async with agent_of("one", server).session("s") as session:
            first: dict[str, int] = {}
            for _ in range(40):
                await session.ask("Look.")
                first = await counted_rows(session)
                if len(first) == 2:
                    break
        before = len(paths(server))
        async with agent_of("two", server).session("s") as session:
            await session.ask("How many amphorae?")
            second = await counted_rows(session)
        asked = [
            exchange.body
            for exchange in server.exchanges
            if exchange.path.endswith("/count_tokens")
        ][before:]
    assert len(first) == 2
    assert second == first
    assert len(asked) == 1, "the first call's input is counted, and no row"
    assert "How many amphorae?" in str(asked)
    known = (tmp_path / "data/counts/known.json").read_text()
    for content in ("museum", "amphorae", "look", "127.0.0.1"):
        assert content not in known


async def test_two_that_ask_at_once_both_get_what_is_stored(tmp_path: Path) -> None:
    store = CountStore(tmp_path)
    store.add(KnownCounts(pieces={"kept": 7}))
    counts = CountEndpoints(client=Client(), clock=time.time, store=store)
    both = await asyncio.gather(counts.known(), counts.known())
    assert [known.pieces for known in both] == [{"kept": 7}, {"kept": 7}]


async def test_a_count_whose_writing_is_cancelled_is_not_remembered_alone(
    tmp_path: Path,
) -> None:
    loop, busy = asyncio.get_running_loop(), threading.Event()
    with ThreadPoolExecutor(1) as one:
        loop.set_default_executor(one)
        counts = CountEndpoints(
            client=Client(), clock=time.time, store=CountStore(tmp_path)
        )
        await counts.known()
        loop.run_in_executor(None, busy.wait)
        keeping = asyncio.create_task(counts.keep(KnownCounts(pieces={"new": 7})))
        await asyncio.sleep(0)
        keeping.cancel()
        await asyncio.wait([keeping])
        busy.set()
    assert (await counts.known()).pieces == CountStore(tmp_path).read().pieces
