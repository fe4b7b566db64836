"""What is fed in pieces is, byte for byte, what is fed at once; and what was made before is not made again."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.cases import case, filled
from tests.codec.histories import TARGETS, broken_request
from tests.codec.loop_bodies import WIRES
from tests.codec.sessions import OPTIONS, POLICIES, Asked, Session
from tests.tiers import examples
from ullage.codec.blocks import Options
from ullage.codec.bodies import read_body_items
from ullage.codec.history import History, Made, encode, encode_items
from ullage.codec.repair import EVERYTHING, repair
from ullage.codec.wires import wire_named
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request, TextPart, Tool, ToolCallPart, ToolResultPart

CASES = examples(1_000, thorough=30_000)


def in_one_piece(asked: Asked) -> Made:
    return History().prepare(asked.request, policy=asked.policy, options=asked.options)


def grown(history: History, asked: Asked) -> Made:
    return history.prepare(asked.request, policy=asked.policy, options=asked.options)


def assert_same(made: Made, whole: Made, where: str) -> None:
    assert made.content == whole.content, where
    assert made.repaired == whole.repaired, where
    assert made.encoded.content == whole.content, where
    assert made.encoded._replace(body={}) == whole.encoded._replace(body={}), where
    assert list(made.encoded.body) == list(whole.encoded.body), where


def kept(made: Made, before: Made) -> int:
    """How many blocks of the request before were not made again."""
    return sum(
        one is other
        for one, other in zip(made.encoded.blocks, before.encoded.blocks, strict=False)
    )


@pytest.mark.slow
def test_every_prefix_of_a_broken_history_grows_to_what_is_made_in_one_piece() -> None:
    extended = 0
    for seed in range(CASES):
        whole, chosen = broken_request(seed), Random(seed)
        policy, options = chosen.choice(POLICIES), chosen.choice(OPTIONS)
        history = History()
        at, before = 0, None
        while at < len(whole.messages):
            at = min(at + chosen.choice((0, 1, 1, 2, 3)), len(whole.messages))
            asked = Asked(replace(whole, messages=whole.messages[:at]), policy, options)
            made = grown(history, asked)
            assert_same(made, in_one_piece(asked), f"seed {seed}, {at} messages")
            extended += before is not None and kept(made, before) > len(
                made.repaired.request.system
            )
            before = made
    assert extended > CASES // 10


@pytest.mark.slow
@pytest.mark.parametrize("oddness", [0.0, 0.02, 0.1, 0.3])
def test_every_request_of_a_session_is_what_is_made_in_one_piece(oddness: float) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(CASES // 8):
        history = History()
        session = Session(seed, oddness=oddness)
        for number, asked in enumerate(session.requests(12)):
            made = grown(history, asked)
            assert_same(
                made,
                in_one_piece(asked),
                f"seed {seed}, oddness {oddness}, request {number}",
            )
            kinds.update(one.kind for one in made.repaired.repairs)
    assert len(kinds) >= (12 if oddness > 0.05 else 3), kinds


def user(name: str, text: str = "hello") -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.t", text=text),))


def step(at: int) -> tuple[Message, Message]:
    call = ToolCallPart(id=f"c{at}", call_id=f"call_{at}", name="read", arguments="{}")
    result = ToolResultPart(
        id=f"r{at}", call_id=f"call_{at}", content=(TextPart(id=f"r{at}.t", text="done"),)
    )
    return Message(id=f"a{at}", role="assistant", parts=(call,)), Message(
        id=f"t{at}", role="tool", parts=(result,)
    )


def asked(target: tuple[str, str, str], *messages: Message) -> Request:
    return Request(wire=target[0], provider=target[1], model=target[2], messages=messages)


def test_no_step_of_a_loop_is_made_twice() -> None:
    for policy, target in product(filled(POLICIES), filled(TARGETS)):
        with case(target, policy):
            history = History()
            before: Made | None = None
            for at in range(20):
                messages = history.extended(step(at) if at else [user("u")])
                request = replace(asked(target), messages=messages)
                made = history.prepare(request, policy=policy)
                if before is not None:
                    assert kept(made, before) == len(before.encoded.blocks)
                before = made


def test_the_same_messages_read_again_are_known() -> None:
    history = History()
    first = history.prepare(asked(TARGETS[0], user("u"), *step(1)))
    again = history.prepare(asked(TARGETS[0], user("u"), *step(1), *step(2)))
    assert kept(again, first) == len(first.encoded.blocks)


def test_a_request_in_order_comes_back_itself() -> None:
    history = History()
    for count in range(1, 4):
        request = asked(
            TARGETS[0], user("u"), *(one for at in range(count) for one in step(at))
        )
        assert history.prepare(request).repaired.request is request


def test_a_late_result_is_put_behind_its_call_though_another_was_sent() -> None:
    history = History()
    answer, result = step(1)
    said = (user("u"), answer, user("v"))
    for messages in (said, (*said, result), (*said, result, *step(2))):
        every = Asked(asked(TARGETS[0], *messages), EVERYTHING, Options())
        assert_same(
            grown(history, every), in_one_piece(every), f"{len(messages)} messages"
        )


def test_messages_are_handed_out_behind_the_last_request_whatever_it_was() -> None:
    history = History()
    assert history.extended([user("u")]) == (user("u"),)
    for messages in ((user("u"), step(1)[0]), (user("u"), user("v"))):
        history.prepare(replace(asked(TARGETS[3], *messages), chained="resp_1"))
        assert history.extended([user("w")]) == (*messages, user("w"))


def test_a_request_that_fails_leaves_nothing_behind() -> None:
    history = History()
    good = asked(TARGETS[0], user("u"), *step(1))
    history.prepare(good)
    with pytest.raises(InvalidRequest):
        history.prepare(replace(good, wire="converse"))
    with pytest.raises(TypeError):
        history.prepare(replace(good, params={"n": object()}))
    every = Asked(
        replace(good, messages=(*good.messages, *step(2))), EVERYTHING, Options()
    )
    assert_same(grown(history, every), in_one_piece(every), "afterwards")


def test_numbers_that_are_equal_are_written_as_they_are_given() -> None:
    history = History()
    for number in (1, 1.0, True):
        changed = replace(asked(TARGETS[2], user("u")), params={"n": number})
        every = Asked(changed, EVERYTHING, Options())
        assert_same(grown(history, every), in_one_piece(every), repr(number))


def test_an_earlier_request_stays_as_it_was_when_the_next_one_is_made() -> None:
    history = History()
    first = history.prepare(asked(TARGETS[0], user("u"), *step(1)))
    content, blocks, messages = (
        bytes(first.content),
        list(first.encoded.blocks),
        first.repaired.request.messages,
    )
    history.prepare(asked(TARGETS[0], user("u"), *step(1), *step(2)))
    assert first.content == first.encoded.content == content
    assert list(first.encoded.blocks) == blocks
    assert first.repaired.request.messages == messages


def test_the_same_request_again_costs_nothing() -> None:
    history = History()
    request = asked(TARGETS[0], user("u"), *step(1))
    options = Options(max_output=5)
    first = history.prepare(request, options=options)
    assert history.prepare(request, options=options) is first is history.last
    assert history.prepare(request, options=Options(max_output=6)) is not first


@pytest.mark.parametrize("wire", ["messages", "responses"])
def test_a_deferred_tool_goes_out_as_one(wire: str) -> None:
    now, later = Tool(name="now"), Tool(name="later", deferred=True)
    request = Request(wire=wire, model="m", tools=(now, later))
    content = History().prepare(request).content
    assert b'"later"' in content and b'"defer_loading":true' in content


def written(request: Request, options: Options) -> Any:
    """The items of the body's list, without those of the system prompt."""
    body = msgspec.json.decode(encode(request, options=options).content)
    bare = replace(request, messages=())
    head = msgspec.json.decode(encode(bare, options=options).content)
    field = wire_named(request.wire).field
    return body[field][len(head[field]) :]


def speakers(messages: tuple[Message, ...]) -> Iterator[list[Message]]:
    """Neighbours of one speaker, whom some wires join."""
    for _, run in groupby(messages, key=lambda one: one.role == "assistant"):
        yield list(run)


def test_messages_by_themselves_are_the_items_that_they_are_in_the_whole_body() -> None:
    for seed in range(CASES):
        options = dataclasses.replace(Random(seed).choice(OPTIONS), cache=None)
        request = repair(broken_request(seed)).request
        expected = written(request, options)
        at_once = list(encode_items(request, request.messages, options=options))
        assert msgspec.json.encode(at_once) == msgspec.json.encode(expected), seed
        by_speaker: list[Any] = []
        for run in speakers(request.messages):
            by_speaker += encode_items(request, run, options=options)
        assert msgspec.json.encode(by_speaker) == msgspec.json.encode(expected), seed


def content(message: Message) -> list[Any]:
    """What a message says, without its names and empty texts."""
    said: list[Any] = []
    for part in message.parts:
        bare = replace(part, id="")
        if isinstance(bare, TextPart):
            bare = replace(bare, raw=None)  # half a letter is sent as its replacement
        elif isinstance(bare, ToolResultPart):
            texts = [one.text for one in bare.content if isinstance(one, TextPart)]
            said += [text for text in texts if text]
            bare = replace(bare, content=())
        if not isinstance(bare, TextPart) or bare.text:
            said.append(bare)
    return said


@given(st.data(), st.sampled_from(sorted(WIRES)))
def test_the_messages_of_an_item_are_encoded_to_an_equivalent_item(
    data: st.DataObject, wire: str
) -> None:
    field, items, _ = WIRES[wire]
    first: dict[str, Any] = {"role": "user", "content": "go"}
    if wire == "generateContent":
        first = {"role": "user", "parts": [{"text": "go"}]}
    listed = [first, *data.draw(st.lists(items, max_size=6))]
    read = read_body_items({"model": "m", field: listed}, wire=wire)
    pairs = zip(read.request.messages, read.items, strict=True)
    for _, run in groupby(pairs, key=lambda pair: pair[1]):
        messages = [message for message, _ in run]
        made = list(encode_items(read.request, messages))
        again = read_body_items({"model": "m", field: [first, *made]}, wire=wire)
        found = [content(one) for one in again.request.messages[1:]]
        said = [content(one) for one in messages]
        assert [one for one in found if one] == [one for one in said if one]


def test_a_result_is_encoded_by_what_its_call_says_elsewhere() -> None:
    call = ToolCallPart(id="c", call_id="a", name="read", arguments="{}")
    answer = Message(id="x", role="assistant", parts=(call,))
    result = Message(id="y", role="tool", parts=(ToolResultPart(id="r", call_id="a"),))
    request = Request(
        wire="generateContent", model="gemini-3-pro", messages=(answer, result)
    )
    (item,) = encode_items(request, [result])
    assert item["parts"][0]["functionResponse"]["name"] == "read"
