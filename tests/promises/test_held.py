"""What the provider holds is metered as it is billed, and never edited: on each wire, by each way in."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import ullage
from tests.context.sessions import words
from tests.metering.tapped_calls import answer as answer_frame
from tests.metering.tapped_calls import request as request_frame
from tests.promises.holding import (
    CALLING,
    KINDS,
    STEPS,
    Json,
    Kind,
    Program,
    Provider,
    asked,
    item_of,
    text_of,
)
from ullage.context.caller_items import Keep
from ullage.errors import ContextUnfixable, Overflow
from ullage.meter.held_answers import UNMEASURED, room_note
from ullage.meter.reading import Reading
from ullage.store.sqlite.store import SqliteStore
from ullage_proxy.metering.metering import CallMeter, MeteredCall

ALL = pytest.mark.parametrize("name", list(KINDS))
FIELDS = ("cachedContent", "prompt", "container")
HELD = pytest.mark.parametrize(
    "name", [name for name, kind in KINDS.items() if not kind.is_whole]
)
CHAINS = pytest.mark.parametrize("name", ["previous_response_id", "thread"])
NEAR = 200
"""Tokens by which estimates of one item may be off here, where a word is a token."""
UPSTREAMS = {
    "responses": "openai",
    "messages": "anthropic",
    "generateContent": "gemini",
    "chat": "openai",
}


def assert_true(reading: Reading, provider: Provider) -> None:
    """The reading rests on the last bill, holds the truth, and counts what was paid."""
    used, spent = reading.used, reading.spend.all
    assert reading.basis.last_input == provider.bills[-1][0]
    assert used.low - 8 <= provider.next_input <= used.high + 8
    assert (spent.input, spent.output) == provider.spent


def is_near(reading: Reading, provider: Provider) -> bool:
    """Whether what was expected is what was billed, but for the words of one item."""
    return abs(reading.used.tokens - provider.bills[-1][0]) < NEAR


def talk(
    kind: Kind, provider: Provider, send: Callable[[Json, str], Json], steps: int = STEPS
) -> Program:
    """A whole conversation, sent by ``send``."""
    program = Program(kind)
    for step in range(steps):
        program.take(send(program.step(item_of(kind, step)), text_of(step)), provider)
    return program


# -- Meter --


@ALL
def test_a_meter_reads_each_request_and_its_answer_as_they_are_billed(name: str) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    meter = ullage.Meter(kind.model, wire=kind.wire)

    def send(body: Json, text: str) -> Json:
        before = meter.before(body)
        answer = provider.answer(body, text)
        if len(provider.bills) > 1:
            assert is_near(before, provider)
        usage = answer.get("usage") or answer.get("usageMetadata")
        assert_true(meter.after(before.call, usage, answer), provider)
        return answer

    talk(kind, provider, send)
    assert len(meter) == 2 * STEPS


@HELD
def test_a_loop_that_never_tells_an_id_is_read_the_same(name: str) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    meter = ullage.Meter(kind.model, wire=kind.wire)
    field = "output" if kind.wire == "responses" else "content"

    def send(body: Json, text: str) -> Json:
        call = meter.before(body).call
        answer = provider.answer(body, text)
        assert_true(meter.after(call, answer["usage"], answer[field]), provider)
        return answer

    talk(kind, provider, send)


@HELD
def test_a_conversation_begun_elsewhere_is_unknown_until_its_first_report(
    name: str,
) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    program = talk(kind, provider, provider.answer)
    meter = ullage.Meter(kind.model, wire=kind.wire)
    for step in range(STEPS, STEPS + 3):
        body = program.step(asked(kind, "And this one?"))
        before = meter.before(body)
        assert (UNMEASURED in before.notes) == (step == STEPS)
        answer = provider.answer(body, text_of(step))
        after = meter.after(before.call, answer["usage"], answer)
        program.take(answer, provider)
        assert after.basis.last_input == provider.bills[-1][0]
        assert after.used.low <= provider.next_input <= after.used.high + 60
        assert UNMEASURED not in after.notes


@HELD
def test_a_request_sent_again_after_a_failure_is_there_once(name: str) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    meter = ullage.Meter(kind.model, wire=kind.wire)

    def send(body: Json, text: str) -> Json:
        meter.after(meter.before(body).call, None, outcome="failed")
        call = meter.before(body).call
        answer = provider.answer(body, text)
        assert_true(meter.after(call, answer["usage"], answer), provider)
        return answer

    talk(kind, provider, send)
    assert len(meter) == 2 * STEPS


def test_a_chain_that_goes_back_to_an_earlier_answer_is_read_without_the_later_ones() -> (
    None
):
    kind, provider = (
        KINDS["previous_response_id"],
        Provider(KINDS["previous_response_id"]),
    )
    meter = ullage.Meter(kind.model)

    def send(body: Json, text: str) -> Json:
        call = meter.before(body).call
        answer = provider.answer(body, text)
        meter.after(call, answer["usage"], answer)
        return answer

    program = talk(kind, provider, send)
    program.last = "resp_005"
    send(program.step(asked(kind, "No, another cask.")), "That one.")
    assert_true(meter.reading(), provider)
    assert len(meter) == 2 * 5 + 2


def test_a_thread_that_is_lost_is_replayed_as_the_same_conversation() -> None:
    kind, provider = KINDS["thread"], Provider(KINDS["thread"])
    meter = ullage.Meter(kind.model)

    def send(body: Json, text: str) -> Json:
        call = meter.before(body).call
        answer = provider.answer(body, text)
        assert_true(meter.after(call, answer["usage"], answer), provider)
        return answer

    program = talk(kind, provider, send)
    program.last = ""
    program.history.append(asked(kind, "Still there?"))
    program.take(send(program.body(list(program.history)), "Yes."), provider)
    send(program.step(asked(kind, "Good.")), "It is.")
    assert len(meter) == 2 * STEPS + 4


def test_a_meter_without_messages_is_true() -> None:
    assert ullage.Meter("gpt-5")


# -- Compactor --


def small(kind: Kind) -> ullage.Compactor:
    return ullage.Compactor(
        kind.model, wire=kind.wire, window=2_600, reserve=200, summarise=lambda _: "Dry."
    )


@HELD
def test_a_compactor_sends_on_what_continues_a_held_conversation_as_it_is(
    name: str,
) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    compactor = small(kind)
    notes: list[tuple[str, ...]] = []

    def send(body: Json, text: str) -> Json:
        written = json.dumps(body)
        fitted = compactor.fit_sync(body)
        assert fitted.body is body and not fitted.changed
        assert json.dumps(body) == written
        assert fitted.plan == (Keep(0),)
        answer = provider.answer(body, text)
        reading = compactor.after(answer["usage"], answer)
        assert_true(reading, provider)
        notes.append(reading.notes)
        return answer

    talk(kind, provider, send)
    assert compactor.compactions == 0
    assert compactor.reading().should_compact()
    assert room_note(kind.wire) in notes[-1] and notes[1] == ()
    assert (
        compactor.fit_sync(Program(kind, last=provider_name(provider)).body([])).plan
        == ()
    )
    assert compactor.recover_sync(Overflow("too long", count=9_000, limit=2_600)) is None


@HELD
def test_a_request_that_could_not_be_shortened_stops_no_held_one(name: str) -> None:
    kind = KINDS[name]
    compactor = small(kind)
    large = Program(kind).body([asked(kind, "Hello.")])
    for field in ("conversation", "thread"):
        large.pop(field, None)
    large["system" if kind.wire == "messages" else "instructions"] = words(9_000)
    with pytest.raises(ContextUnfixable):
        compactor.fit_sync(large)
    body = Program(kind, last="resp_elsewhere").body([asked(kind, words(9_000, 1))])
    assert compactor.fit_sync(body).body is body


def provider_name(provider: Provider) -> str:
    return list(provider.held)[-1]


@pytest.mark.parametrize("name", [*FIELDS, "chat"])
def test_a_whole_history_behind_something_held_is_compacted_and_names_it_still(
    name: str,
) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    summaries: list[Json] = []

    def summarise(body: Json) -> str:
        summaries.append(body)
        return "The casks that were looked at so far were all dry, but for the ninth."

    compactor = ullage.Compactor(
        kind.model, wire=kind.wire, window=3_200, reserve=200, summarise=summarise
    )

    def send(body: Json, text: str) -> Json:
        fitted = compactor.fit_sync(body)
        sent: Any = fitted.body
        for field in FIELDS:
            assert sent.get(field) == body.get(field)
        answer = provider.answer(sent, text)
        compactor.after(answer.get("usage") or answer.get("usageMetadata"), answer)
        return answer

    talk(kind, provider, send, 12)
    assert compactor.compactions > 0
    for body in summaries:
        assert not {"cachedContent", "systemInstruction"} <= body.keys()


def test_a_thread_is_compacted_where_it_is_created_and_continued_as_it_is() -> None:
    kind, provider = KINDS["thread"], Provider(KINDS["thread"])
    compactor = small(kind)
    program = Program(kind)
    for step in range(7):
        program.history.append(item_of(kind, step))
        program.history += Program(kind).history
        provider_says = provider.answer(
            program.body(list(program.history)), text_of(step)
        )
        program.take(provider_says, provider)
        program.last = ""
    program.history.append(asked(kind, "Go on."))
    created = compactor.fit_sync(program.body(list(program.history)))
    assert created.changed and created.body["thread"] == {"type": "create"}
    answer = provider.answer(dict(created.body), "I do.")
    compactor.after(answer["usage"], answer)
    program.take(answer, provider)
    body = program.step(asked(kind, "And now?"))
    assert compactor.fit_sync(body).body is body
    answer = provider.answer(body, "Now as well.")
    reading = compactor.after(answer["usage"], answer)
    assert reading.basis.last_input == provider.bills[-1][0]
    assert reading.used.low <= provider.next_input <= reading.used.high


# -- attach --


def client_of(kind: Kind, provider: Provider) -> httpx2.Client:
    """The HTTP client of a program, before this provider."""

    def handle(sent: httpx2.Request) -> httpx2.Response:
        text = sent.headers.get("x-text", "")
        return httpx2.Response(200, json=provider.answer(json.loads(sent.content), text))

    return httpx2.Client(
        transport=httpx2.MockTransport(handle), base_url="https://api.example.com"
    )


def sender(kind: Kind, client: httpx2.Client) -> Callable[[Json, str], Json]:
    def send(body: Json, text: str) -> Json:
        sent = {**body}
        if kind.wire == "generateContent":
            del sent["model"]
        response = client.post(kind.path, json=sent, headers={"x-text": text})
        found: Json = response.raise_for_status().json()
        return found

    return send


@ALL
@pytest.mark.parametrize("follower", [ullage.Meter, ullage.Compactor])
def test_an_attached_client_counts_what_is_billed(name: str, follower: Any) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    followed = follower(kind.model)
    client = ullage.attach(client_of(kind, provider), followed)
    send = sender(kind, client)

    def send_and_compare(body: Json, text: str) -> Json:
        answer = send(body, text)
        assert_true(followed.reading(), provider)
        return answer

    talk(kind, provider, send_and_compare)


@CHAINS
def test_two_programs_that_attach_one_function_have_a_meter_each(name: str) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    meters: list[ullage.Meter] = []

    def follow(_: str) -> ullage.Meter:
        meters.append(ullage.Meter(kind.model))
        return meters[-1]

    send = sender(kind, ullage.attach(client_of(kind, provider), follow))
    one, two = Program(kind), Program(kind)
    for step in range(2):
        for number, program in enumerate((one, two)):
            item = asked(kind, f"Question {step} of {number}: is the cask dry?")
            program.take(
                send(program.step(item), f"Answer {step} of {number}."), provider
            )
    assert [len(meter) for meter in meters] == [4, 4]
    assert sum(meter.reading().spend.all.input for meter in meters) == provider.spent[0]


# -- the proxy --


class Proxy:
    """The proxy's meter, asked and answered frame by frame."""

    def __init__(self, kind: Kind, store: SqliteStore | None = None, **more: Any) -> None:
        self.kind = kind
        self.shown: list[MeteredCall] = []
        self.estimates: list[Reading] = []
        self.meter = CallMeter(store, show=self.shown.append, **more)
        self.session = ""
        self.name = "c"
        self.count = 0

    async def ask(self, body: Json) -> str:
        """Gives the name of the call."""
        self.count += 1
        call = f"{self.name}-{self.count}"
        sent = dict(body)
        if self.kind.wire == "generateContent":
            del sent["model"]
        frame = request_frame(
            call,
            sent,
            path=self.kind.path,
            upstream=UPSTREAMS[self.kind.wire],
            session=self.session,
        )
        await self.meter.take(frame)
        return call

    async def send(self, provider: Provider, body: Json, text: str) -> Json:
        call = await self.ask(body)
        answer = provider.answer(body, text)
        await self.meter.take(answer_frame(call, json.dumps(answer).encode()))
        self.estimates.append(self.shown[-1].estimate)
        return answer

    @property
    def lanes(self) -> list[str]:
        return [call.placed.lane for call in self.shown]

    def reading(self) -> Reading:
        reading = self.shown[-1].reading
        assert reading is not None
        return reading


async def talk_through(
    proxy: Proxy, provider: Provider, program: Program, steps: range
) -> None:
    for step in steps:
        body = program.step(item_of(proxy.kind, step))
        program.take(await proxy.send(provider, body, text_of(step)), provider)


@ALL
@pytest.mark.parametrize("session", ["", "cellar"])
async def test_the_proxy_has_one_lane_and_meters_it_as_it_is_billed(
    name: str, session: str
) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    proxy, program = Proxy(kind), Program(kind)
    proxy.session = session
    await talk_through(proxy, provider, program, range(STEPS))
    assert len(set(proxy.lanes)) == 1
    assert_true(proxy.reading(), provider)
    for estimate, bill in zip(proxy.estimates[1:], provider.bills[1:], strict=True):
        assert abs(estimate.used.tokens - bill[0]) < NEAR


@HELD
async def test_a_proxy_that_was_started_again_knows_what_is_held(
    name: str, tmp_path: Any
) -> None:
    kind, provider = KINDS[name], Provider(KINDS[name])
    store = SqliteStore(tmp_path / "proxy.db")
    program = Program(kind)
    before = Proxy(kind, store)
    await talk_through(before, provider, program, range(4))
    after = Proxy(kind, store)
    after.name = "d"
    await after.meter.restore(1_001.0)
    await talk_through(after, provider, program, range(4, STEPS))
    assert set(after.lanes) == set(before.lanes)
    assert_true(after.reading(), provider)
    await store.close()


async def test_two_chains_that_fork_from_one_answer_are_two_lanes_of_the_right_size() -> (
    None
):
    kind, provider = (
        KINDS["previous_response_id"],
        Provider(KINDS["previous_response_id"]),
    )
    proxy, program = Proxy(kind), Program(kind)
    await talk_through(proxy, provider, program, range(CALLING + 2))
    parent = program.last
    await talk_through(proxy, provider, program, range(CALLING + 2, STEPS))
    fork = Program(kind, last=parent)
    body = fork.step(asked(kind, "What of the other casks?"))
    fork.take(await proxy.send(provider, body, "Those are dry."), provider)
    first, second = proxy.lanes[0], proxy.lanes[-1]
    assert first != second
    assert is_near(proxy.estimates[-1], provider)
    body = fork.step(asked(kind, "All of them?"))
    fork.take(await proxy.send(provider, body, "Yes."), provider)
    body = program.step(asked(kind, "And the first one?"))
    program.take(await proxy.send(provider, body, "Wet."), provider)
    assert proxy.lanes[-2:] == [second, first]
