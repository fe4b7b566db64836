"""The Compactor in a loop of a caller's own, against the simulators."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from google.genai import types as genai

from tests.cases import case
from tests.compactor.own_loop import (
    ASKS,
    BY_NAME,
    CHAT,
    MESSAGES,
    SUMMARY,
    WIRES,
    LoopWire,
    OwnLoop,
    Refused,
    loop_on,
    scenario,
    turns,
)
from tests.context.sessions import words
from ullage import Compactor
from ullage.compaction import STRATEGIES
from ullage.compactor.summaries import read_answer
from ullage.context.caller_items import Keep
from ullage.errors import (
    CompactorBusy,
    ContextUnfixable,
    InputError,
    InvalidRequest,
    SettingError,
)
from ullage.messages import Request
from ullage.store.memory import MemoryStore
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import running
from ullage_simulators.scenario import read

FIELDS = {
    "chat": "messages",
    "messages": "messages",
    "responses": "input",
    "generateContent": "contents",
}
ASKING = [strategy for strategy in STRATEGIES if strategy.name != "clear"]
EVERY_WIRE = pytest.mark.parametrize("wire", WIRES, ids=BY_NAME)


@pytest.fixture
def loop() -> Iterator[OwnLoop]:
    with running(scenario(CHAT), seed=4) as server:
        yield loop_on(server, CHAT)


@EVERY_WIRE
def test_a_long_session_fits_and_counts_what_is_billed(wire: LoopWire) -> None:
    with running(scenario(wire), seed=4) as server:
        loop = loop_on(server, wire)
        with loop.compactor() as compactor:
            turns(loop, compactor, 25)
            counted = compactor.reading().spend.all.input
            assert compactor.compactions > 0
        bills = server.truth().bills
        statuses = [exchange.status for exchange in server.exchanges]
        assert statuses == [200] * len(statuses)
        assert counted == sum(bill.input for bill in bills)


@EVERY_WIRE
def test_kept_items_go_out_as_the_very_objects_they_are(wire: LoopWire) -> None:
    with running(scenario(wire), seed=4) as server:
        loop = loop_on(server, wire)
        with loop.compactor() as compactor:
            turns(loop, compactor, 25)
            loop.say("And now?")
            body = loop.body()
            fitted = compactor.fit_sync(body)
        own = body[FIELDS[wire.name]]
        assert fitted.changed
        kept = [one.item for one in fitted.plan if isinstance(one, Keep)]
        assert kept == sorted(kept)
        assert len(own) - 1 in kept
        made = fitted.applied(own, lambda item: item)
        assert made == fitted.body[FIELDS[wire.name]]
        for one, item in zip(fitted.plan, made, strict=True):
            assert (not isinstance(one, Keep)) or item is own[one.item]


def test_the_body_is_the_callers_own_object_while_nothing_was_compacted(
    loop: OwnLoop,
) -> None:
    loop.say("Hello.")
    body = loop.body()
    fitted = loop.compactor().fit_sync(body)
    assert fitted.body is body
    assert not fitted.changed
    assert fitted.plan == (Keep(0), Keep(1))
    assert fitted.reading.call


def test_the_same_body_twice_gives_the_same(loop: OwnLoop) -> None:
    compactor = loop.compactor()
    turns(loop, compactor, 25)
    loop.say("And now?")
    body = loop.body()
    first = compactor.fit_sync(body)
    again = compactor.fit_sync(body)
    assert first.changed
    assert again.body == first.body
    assert again.plan == first.plan
    assert again.reading.used == first.reading.used
    compactor.close()


def _passed_on(function: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> Any:
    """As a lambda around an async client does: not async itself, but what it gives is awaited."""
    return function(body)


async def test_async_functions_and_functions_that_give_coroutines_summarise_too(
    loop: OwnLoop,
) -> None:
    asked: list[dict[str, Any]] = []

    async def summarise(body: dict[str, Any]) -> str:
        asked.append(body)
        return SUMMARY

    for function in (summarise, partial(_passed_on, summarise)):
        async with loop.compactor(function, strategies=ASKING) as compactor:
            loop.items = loop.items[:1]
            while not compactor.compactions:
                loop.say("Please look.")
                while True:
                    fitted = await compactor.fit(loop.body())
                    answer = await asyncio.to_thread(loop.post, fitted.body)
                    compactor.after(loop.usage(answer), answer)
                    if not loop.take(answer):
                        break
    assert len(asked) == 2
    assert ASKS in json.dumps(asked[0]["messages"][-1])


def test_an_own_model_summarises_without_a_function() -> None:
    with running(scenario(CHAT), seed=4) as server:
        loop = loop_on(server, CHAT)
        with Compactor(
            "openai:small",
            wire="chat",
            window=9_000,
            base_url=server.url("openai"),
            environment={"OPENAI_API_KEY": "k"},
        ) as compactor:
            turns(loop, compactor, 25)
            assert compactor.compactions > 0
        assert any(SUMMARY in json.dumps(sent) for sent in loop.sent) or any(
            "none was found to leak" in json.dumps(sent) for sent in loop.sent
        )


def test_the_answer_of_googles_sdk_is_a_summary_with_its_usage() -> None:
    part = genai.Part(text="The cask holds 225 litres.")
    content = genai.Content(role="model", parts=[part])
    used = genai.GenerateContentResponseUsageMetadata(
        prompt_token_count=900, candidates_token_count=8, total_token_count=908
    )
    given = genai.GenerateContentResponse(
        candidates=[
            genai.Candidate(content=content, finish_reason=genai.FinishReason.STOP)
        ],
        usage_metadata=used,
    )
    request = Request(wire="generateContent", model="gemini-2.5-flash", provider="gemini")
    answer = read_answer(request, given, "summary-1")
    assert answer.outcome == "finished"
    assert (answer.usage.input, answer.usage.output) == (900, 8)
    assert answer.message.parts[0].text == "The cask holds 225 litres."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "given",
    [None, 5, "", [], {}, object(), {"choices": "x"}, {"error": "no"}],
    ids=["none", "number", "empty", "list", "object", "thing", "rubbish", "error"],
)
def test_a_function_that_gives_no_summary_leaves_the_next_strategy(
    given: Any, loop: OwnLoop
) -> None:
    with loop.compactor(lambda body: given) as compactor:
        turns(loop, compactor, 25)
        assert compactor.compactions > 0


def test_a_function_that_exits_the_program_does_so_in_the_callers_thread(
    loop: OwnLoop,
) -> None:
    def leaves(body: dict[str, Any]) -> object:
        raise SystemExit(3)

    with loop.compactor(leaves, strategies=ASKING) as compactor:
        with pytest.raises(SystemExit):
            turns(loop, compactor, 25)
        assert compactor.compactions == 0
        assert compactor.reading().used.tokens > 0


def test_a_request_that_cannot_fit_is_an_error_or_goes_out_as_it_is(
    loop: OwnLoop,
) -> None:
    loop.items[0]["content"] = "word " * 20_000
    loop.say("Hello.")
    body = loop.body()
    strict = loop.compactor()
    for _ in range(2):
        with pytest.raises(ContextUnfixable, match="system prompt"):
            strict.fit_sync(body)
    assert loop.compactor(strict=False).fit_sync(body).body is body


def test_a_body_that_no_wire_could_be_sent_is_an_error() -> None:
    body_cases: list[dict[str, Any]] = [
        {"nothing": 1},
        {"messages": 5},
        {"messages": "x"},
        {"messages": [None]},
        {"messages": [{"role": "user", "content": [None]}]},
        {"input": 5},
        {"contents": [None]},
    ]
    wire_cases: list[str] = ["", "messages", "chat", "responses"]
    for body, wire in product(body_cases, wire_cases):
        with case(body, wire):
            is_named = wire and "nothing" in body
            given = {**body, "messages": 5} if is_named else body
            compactor = Compactor("openai:gpt-5", window=9_000)
            with pytest.raises(InvalidRequest):
                compactor.fit_sync(given, wire=wire)


def test_a_body_of_no_wire_changes_nothing(loop: OwnLoop) -> None:
    compactor = loop.compactor(wire="")
    turns(loop, compactor, 2)
    before = compactor.reading()
    with pytest.raises(InvalidRequest):
        compactor.fit_sync({"nothing": 1})
    assert compactor.reading() == before
    turns(loop, compactor, 1)


def test_the_wire_and_provider_of_a_body_are_those_that_the_call_names() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
    for wire, provider in (("messages", "anthropic"), ("chat", "deepseek")):
        compactor = Compactor(window=9_000)
        compactor.fit_sync(body, wire=wire, provider=provider)
        request = compactor.meter.request()
        assert (request.wire, request.provider) == (wire, provider)
    own = Compactor("azure:m", wire="chat", window=9_000)
    own.fit_sync(body, wire="messages", provider="openai")
    assert (own.meter.request().wire, own.meter.request().provider) == ("chat", "azure")


def test_two_at_a_time_are_refused(loop: OwnLoop) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def summarise(body: dict[str, Any]) -> str:
        asked.set()
        go_on.wait(60)
        return SUMMARY

    compactor = loop.compactor(summarise)
    runner = threading.Thread(target=turns, args=(loop, compactor, 25))
    runner.start()
    assert asked.wait(60)
    with pytest.raises(CompactorBusy, match="one Compactor for each conversation"):
        compactor.fit_sync(loop.body())
    with pytest.raises(CompactorBusy):
        compactor.after(None)
    go_on.set()
    runner.join()
    assert compactor.compactions > 0
    compactor.close()


def test_another_conversation_while_an_answer_is_awaited_is_refused(
    loop: OwnLoop,
) -> None:
    compactor = loop.compactor()
    loop.say("Hello.")
    compactor.fit_sync(loop.body())
    loop.items[-1] = {"role": "user", "content": "Something else."}
    with pytest.raises(CompactorBusy, match="does not continue"):
        compactor.fit_sync(loop.body())
    compactor.after(None, outcome="failed")
    assert compactor.fit_sync(loop.body()).reading.call


async def test_a_cancel_in_the_middle_of_a_summary_changes_nothing(loop: OwnLoop) -> None:
    asked = asyncio.Event()

    async def summarise(body: dict[str, Any]) -> str:
        asked.set()
        await asyncio.sleep(600)
        return SUMMARY

    compactor = loop.compactor(summarise, strategies=ASKING)
    while not asked.is_set():
        loop.say("Please look.")
        while True:
            fitting = asyncio.create_task(compactor.fit(loop.body()))
            waiting = asyncio.create_task(asked.wait())
            await asyncio.wait((fitting, waiting), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if asked.is_set():
                fitting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await fitting
                break
            fitted = await fitting
            answer = await asyncio.to_thread(loop.post, fitted.body)
            compactor.after(loop.usage(answer), answer)
            if not loop.take(answer):
                break
    assert compactor.compactions == 0
    asked.clear()
    fitting = asyncio.create_task(compactor.fit(loop.body()))
    await asyncio.wait_for(asked.wait(), 60)
    fitting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fitting


@EVERY_WIRE
def test_an_overflow_is_corrected_and_compacted(wire: LoopWire) -> None:
    with running(scenario(wire), seed=4) as server:
        loop = loop_on(server, wire)
        with loop.compactor(window=None) as compactor:
            turns(loop, compactor, 25)
            assert compactor.compactions > 0
            window = compactor.reading().window
        statuses = [exchange.status for exchange in server.exchanges]
        assert 0 < statuses.count(400) <= 2
        assert window.tokens is None or window.source == "error"


def test_an_error_about_something_else_is_no_overflow(loop: OwnLoop) -> None:
    compactor = loop.compactor()
    loop.say("Hello.")
    compactor.fit_sync(loop.body())
    assert compactor.recover_sync(RuntimeError("the line is down")) is None
    compactor.after(None, outcome="failed")
    assert compactor.recover_sync(Refused(400, b'{"error": "too long"}')) is None
    compactor.after(None, outcome="failed")  # says what is known already
    with pytest.raises(InputError, match="no call to end: `after` follows `fit`"):
        compactor.after({"prompt_tokens": 9, "completion_tokens": 1})


@EVERY_WIRE
def test_compactions_outlive_a_restart(wire: LoopWire, tmp_path: Path) -> None:
    with running(scenario(wire), seed=4) as server:
        loop = loop_on(server, wire)
        with loop.compactor(store=tmp_path / "s.db", session="casks") as compactor:
            turns(loop, compactor, 25)
            loop.say("And now?")
            body = loop.body()
            first = compactor.fit_sync(body)
            compactions = compactor.compactions
        asked = len(server.exchanges)
        with loop.compactor(store=tmp_path / "s.db", session="casks") as again:
            second = again.fit_sync(body)
            assert again.compactions == compactions > 0
        assert second.body == first.body
        assert second.plan == first.plan
        assert second.reading.used == first.reading.used
        assert len(server.exchanges) == asked


async def test_what_left_is_recalled_and_after_a_restart_too(
    loop: OwnLoop, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"store": tmp_path / "s.db", "session": "casks"}
    with loop.compactor(**given) as compactor:
        loop.turn(compactor, "Note that the bung of cask nine is number 48213.")
        turns(loop, compactor, 25)
        loop.say("And now?")
        body = compactor.fit_sync(loop.body()).body
        assert "48213" not in json.dumps(body)
        assert "48213" in compactor.recall_sync("bung nine").text
    with loop.compactor(**given) as again:
        found = await again.recall("bung nine")
        assert "48213" in found.lines[0].text
        read_again = await again.recall(read=found.lines[0].place)
        assert read_again.lines[0].text == found.lines[0].text
        with pytest.raises(InputError, match="no word"):
            await again.recall("")


def test_two_compactors_on_one_session_are_refused(tmp_path: Path, loop: OwnLoop) -> None:
    one = loop.compactor(store=tmp_path / "s.db", session="casks")
    other = loop.compactor(store=tmp_path / "s.db", session="casks")
    loop.say("Hello.")
    one.fit_sync(loop.body())
    other.fit_sync(loop.body())
    loop.say("Hello again.")
    with pytest.raises(CompactorBusy, match="another program"):
        one.fit_sync(loop.body())
    other.close()


def test_a_store_without_a_session_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="go together"):
        Compactor(store=tmp_path / "s.db")


@pytest.mark.parametrize("kind", [SqliteStore, MemoryStore])
def test_a_store_serves_one_compactor_after_the_other(
    kind: type[Any], tmp_path: Path, loop: OwnLoop
) -> None:
    store = SqliteStore(tmp_path / "s.db") if kind is SqliteStore else MemoryStore()
    with loop.compactor(store=store, session="casks") as compactor:
        turns(loop, compactor, 25)
        loop.say("And now?")
        first = compactor.fit_sync(loop.body())
        assert compactor.compactions > 0
    with loop.compactor(store=store, session="casks") as again:
        assert again.fit_sync(loop.body()).body == first.body
    asyncio.run(store.close())


def test_a_window_set_too_large_is_corrected_by_the_refusal_and_stays_so() -> None:
    with running(scenario(CHAT), seed=4) as server:
        loop = loop_on(server, CHAT)
        with loop.compactor(window=100_000) as compactor:
            turns(loop, compactor, 25)
            assert compactor.compactions > 0
            window = compactor.reading().window
        statuses = [exchange.status for exchange in server.exchanges]
        assert 0 < statuses.count(400) <= 2
        assert window.source == "error"
        assert window.note.startswith("100,000 tokens are set, but the provider refuses")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"wire": "caht"}, "wire='caht' is no wire: give one of chat, generateContent"),
        ({"summarise": "yes"}, "summarise is a function that takes a body"),
    ],
)
def test_an_impossible_setting_is_an_error(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        Compactor("gpt-4.1", **settings)


def test_what_a_summariser_raises_is_logged(
    caplog: pytest.LogCaptureFixture, loop: OwnLoop
) -> None:
    def broken(body: dict[str, Any]) -> object:
        raise ValueError("the key of the summariser has expired")

    with loop.compactor(summarise=broken) as compactor:
        turns(loop, compactor, 25)
        assert compactor.compactions > 0
    said = [each.message for each in caplog.records if each.name == "ullage.compactor"]
    assert said[0].startswith(
        "No summary: ValueError: the key of the summariser has expired. Another strategy"
    )


class BoundLoop(OwnLoop):
    """A loop on a model that refuses thinking behind a changed prefix."""

    def body(self) -> dict[str, Any]:
        return {**super().body(), "model": "claude-fable-5-1"}


def thoughts(body: Any) -> list[str]:
    """The signatures of the thinking in a body."""
    found: list[str] = []
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        found += [block["signature"] for block in blocks if block["type"] == "thinking"]
    return found


def test_thinking_behind_a_summary_of_ours_is_not_sent() -> None:
    call = {"name": "look", "arguments": {"cask": 1}}
    thought = {"reasoning": words(20, 1)}
    answers = [
        {"when": {"contains": ASKS}, "text": SUMMARY},
        {"when": {"after": "user"}, "calls": [call], **thought},
        {"text": "It is as it should be.", **thought},
    ]
    with running(read({"answers": answers}), seed=4) as server:
        loop = BoundLoop(MESSAGES, server.url("anthropic"))
        with loop.compactor() as compactor:
            turns(loop, compactor, 30)
            assert compactor.compactions > 1
        assert not [each.rule for each in server.exchanges if each.rule]
    bodies = [body for body in loop.sent if ASKS not in json.dumps(body)]
    assert any(thoughts(body) for body in bodies[-2:])
    known = thoughts(loop.body())
    for body in bodies:
        sent = thoughts(body)
        if sent:  # without a gap, and to the end: what follows on a gap is refused
            begin = known.index(sent[0])
            assert sent == known[begin : begin + len(sent)]
    changes = [
        one for one, two in pairwise(bodies) if len(thoughts(two)) < len(thoughts(one))
    ]
    assert changes
