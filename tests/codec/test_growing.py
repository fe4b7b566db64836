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
