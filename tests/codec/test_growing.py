"""What grows is, byte for byte, what is made in one piece; and what was made before is not made again."""

import os
from collections import Counter
from random import Random

import pytest
from msgspec.structs import replace

from tests.codec.histories import TARGETS, broken_request
from tests.codec.sessions import OPTIONS, POLICIES, Asked, Session
from ullage.codec.encode import Options, encode, settle
from ullage.codec.growing import GrowingCodec, Made
from ullage.codec.repair import EVERYTHING, repair
from ullage.errors import InvalidRequest
from ullage.messages import Message, Request, TextPart, ToolCallPart, ToolResultPart
from ullage.reasoning import ReasoningPolicy

CASES = 30_000 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1_000


def in_one_piece(asked: Asked) -> Made:
    request, options = settle(asked.request, asked.options)
    repaired = repair(request, policy=asked.policy)
    encoded = encode(repaired.request, options=options)
    return Made(repaired, encoded, encoded.content)


def grown(growing: GrowingCodec, asked: Asked) -> Made:
    return growing.prepare(asked.request, policy=asked.policy, options=asked.options)


def assert_same(made: Made, whole: Made, where: str) -> None:
    assert made.content == whole.content, where
    assert made.repaired == whole.repaired, where
    assert made.encoded.content == whole.content, where
    assert made.encoded._replace(body={}) == whole.encoded._replace(body={}), where
    assert list(made.encoded.body) == list(whole.encoded.body), where


def kept(made: Made, before: Made) -> int:
    """How many blocks of the request before were not made again."""
    return sum(one is other for one, other in zip(made.encoded.blocks, before.encoded.blocks, strict=False))


@pytest.mark.slow
def test_every_prefix_of_a_broken_history_grows_to_what_is_made_in_one_piece() -> None:
    extended = 0
    for seed in range(CASES):
        whole, chosen = broken_request(seed), Random(seed)
        policy, options = chosen.choice(POLICIES), chosen.choice(OPTIONS)
        growing = GrowingCodec()
        at, before = 0, None
        while at < len(whole.messages):
            at = min(at + chosen.choice((0, 1, 1, 2, 3)), len(whole.messages))
            asked = Asked(replace(whole, messages=whole.messages[:at]), policy, options)
            made = grown(growing, asked)
            assert_same(made, in_one_piece(asked), f"seed {seed}, {at} messages")
            extended += before is not None and kept(made, before) > len(made.repaired.request.system)
            before = made
    assert extended > CASES // 10


@pytest.mark.slow
@pytest.mark.parametrize("oddness", [0.0, 0.02, 0.1, 0.3])
def test_every_request_of_a_session_is_what_is_made_in_one_piece(oddness: float) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(CASES // 8):
        growing = GrowingCodec()
        session = Session(seed, oddness=oddness)
        for number, asked in enumerate(session.requests(12)):
            made = grown(growing, asked)
            assert_same(made, in_one_piece(asked), f"seed {seed}, oddness {oddness}, request {number}")
            kinds.update(one.kind for one in made.repaired.repairs)
    assert len(kinds) >= (12 if oddness > 0.05 else 3), kinds


def user(name: str, text: str = "hello") -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.t", text=text),))


def step(at: int) -> tuple[Message, Message]:
    call = ToolCallPart(id=f"c{at}", call_id=f"call_{at}", name="read", arguments="{}")
    result = ToolResultPart(id=f"r{at}", call_id=f"call_{at}", content=(TextPart(id=f"r{at}.t", text="done"),))
    return Message(id=f"a{at}", role="assistant", parts=(call,)), Message(id=f"t{at}", role="tool", parts=(result,))


def asked(target: tuple[str, str, str], *messages: Message) -> Request:
    return Request(wire=target[0], provider=target[1], model=target[2], messages=messages)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("target", TARGETS)
def test_no_step_of_a_loop_is_made_twice(target: tuple[str, str, str], policy: ReasoningPolicy) -> None:
    growing = GrowingCodec()
    before: Made | None = None
    for at in range(20):
        request = replace(asked(target), messages=growing.extended(step(at) if at else [user("u")]))
        made = growing.prepare(request, policy=policy)
        if before is not None:
            assert kept(made, before) == len(before.encoded.blocks)
        before = made


def test_the_same_messages_read_again_are_known() -> None:
    growing = GrowingCodec()
    first = growing.prepare(asked(TARGETS[0], user("u"), *step(1)))
    again = growing.prepare(asked(TARGETS[0], user("u"), *step(1), *step(2)))
    assert kept(again, first) == len(first.encoded.blocks)


def test_a_request_in_order_comes_back_itself() -> None:
    growing = GrowingCodec()
    for count in range(1, 4):
        request = asked(TARGETS[0], user("u"), *(one for at in range(count) for one in step(at)))
        assert growing.prepare(request).repaired.request is request


def test_a_late_result_is_put_behind_its_call_though_another_was_sent() -> None:
    growing = GrowingCodec()
    answer, result = step(1)
    history = (user("u"), answer, user("v"))
    for messages in (history, (*history, result), (*history, result, *step(2))):
        every = Asked(asked(TARGETS[0], *messages), EVERYTHING, Options())
        assert_same(grown(growing, every), in_one_piece(every), f"{len(messages)} messages")


def test_what_was_handed_out_before_another_request_is_compared() -> None:
    growing = GrowingCodec()
    growing.prepare(asked(TARGETS[0], user("u"), *step(1)))
    handed = growing.extended(step(2))
    growing.prepare(asked(TARGETS[0], user("other", "something else")))
    every = Asked(replace(asked(TARGETS[0]), messages=handed), EVERYTHING, Options())
    assert_same(grown(growing, every), in_one_piece(every), "handed out")


def test_messages_are_handed_out_behind_the_last_request_whatever_it_was() -> None:
    growing = GrowingCodec()
    assert growing.extended([user("u")]) == (user("u"),)
    for messages in ((user("u"), step(1)[0]), (user("u"), user("v"))):
        growing.prepare(replace(asked(TARGETS[3], *messages), chained="resp_1"))
        assert growing.extended([user("w")]) == (*messages, user("w"))


def test_a_request_that_fails_leaves_nothing_behind() -> None:
    growing = GrowingCodec()
    good = asked(TARGETS[0], user("u"), *step(1))
    growing.prepare(good)
    with pytest.raises(InvalidRequest):
        growing.prepare(replace(good, wire="converse"))
    with pytest.raises(TypeError):
        growing.prepare(replace(good, params={"n": object()}))
    every = Asked(replace(good, messages=(*good.messages, *step(2))), EVERYTHING, Options())
    assert_same(grown(growing, every), in_one_piece(every), "afterwards")


def test_numbers_that_are_equal_are_written_as_they_are_given() -> None:
    growing = GrowingCodec()
    for number in (1, 1.0, True):
        every = Asked(replace(asked(TARGETS[2], user("u")), params={"n": number}), EVERYTHING, Options())
        assert_same(grown(growing, every), in_one_piece(every), repr(number))


def test_an_earlier_request_stays_as_it_was_when_the_next_one_is_made() -> None:
    growing = GrowingCodec()
    first = growing.prepare(asked(TARGETS[0], user("u"), *step(1)))
    content, blocks, messages = bytes(first.content), list(first.encoded.blocks), first.repaired.request.messages
    growing.prepare(asked(TARGETS[0], user("u"), *step(1), *step(2)))
    assert first.content == first.encoded.content == content
    assert list(first.encoded.blocks) == blocks
    assert first.repaired.request.messages == messages
