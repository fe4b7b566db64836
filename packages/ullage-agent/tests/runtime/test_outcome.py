import json
from typing import Any

import pytest
from pydantic import BaseModel

from ullage.errors import AnswerInvalid, Overflow, UllageError
from ullage.messages import Message, Role, TextPart
from ullage.meter.limits import Prices, Rate
from ullage.meter.meter import Meter
from ullage.meter.spend import Spend
from ullage.usage import Usage
from ullage_agent.runtime.outcome import Result, cost_between, last_words, usage_between


def said(role: Role, text: str, origin: str = "said") -> Message:
    part = TextPart(id=f"{text}.0", text=text)
    return Message(
        id=text,
        role=role,
        parts=(part,),
        origin="injected" if origin == "injected" else "said",
    )


def test_the_last_words_are_those_of_the_last_answer() -> None:
    found = last_words(
        [
            said("user", "q"),
            said("assistant", "one"),
            said("user", "again"),
            said("assistant", "two"),
        ]
    )
    assert found == "two"


def test_a_turn_without_answer_has_no_last_words_whatever_came_before() -> None:
    assert (
        last_words([said("user", "q"), said("assistant", "one"), said("user", "again")])
        == ""
    )


def test_a_note_of_the_program_behind_an_answer_hides_nothing_of_it() -> None:
    found = last_words(
        [said("user", "q"), said("assistant", "one"), said("user", "note", "injected")]
    )
    assert found == "one"


READING = Meter("claude-haiku-4-5", wire="messages", session="s").reading()


def ended(text: str, reason: str = "finished", **more: Any) -> Result[Any]:
    return Result(text=text, reason=reason, reading=READING, **more)


def test_a_result_prints_as_its_text_and_shows_as_one_short_line() -> None:
    said = ended("One\ntwo. " * 200)
    assert str(said) == said.text
    shown = repr(said)
    assert shown.startswith("Result(text='One\\ntwo. ")
    assert shown.endswith("reason='finished', used='4 tokens', session='s')")
    assert "\n" not in shown
    assert len(shown) < 200
    silent = ended("", "too_large", note="It is too large.", error=UllageError("x"))
    assert str(silent) == "It is too large."
    assert "reason='too_large', error=UllageError, used=" in repr(silent)
    assert str(ended("", "cancelled")) == "(cancelled, without text)"
    read = ended("[1, 2]", read_output=([1, 2],), cost=0.00125)
    assert "output='[1, 2]'" not in repr(read)
    assert repr(read).startswith("Result(output=[1, 2], reason='finished', cost=0.001250")


def test_a_result_is_frozen_and_no_tuple() -> None:
    with pytest.raises(TypeError, match="unpack"):
        _text, _reason = ended("One")  # type: ignore[misc]
    with pytest.raises(AttributeError):
        ended("One").text = "Two"  # type: ignore[misc]
    assert ended("One") == ended("One") != ended("Two")


def test_the_output_is_the_text_the_value_or_an_error_that_says_why_there_is_none() -> (
    None
):
    assert ended("One").output == "One"
    assert ended("1", read_output=(1,)).output == 1
    assert ended("null", read_output=(None,)).output is None
    with pytest.raises(AnswerInvalid, match="no Cask yet: It waits"):
        _ = ended("", "approval", note="It waits.", missing="Cask").output
    failed = ended("", "failed", missing="Cask", error=Overflow("Too large."))
    for ask in (lambda: failed.output, failed.or_raise):
        with pytest.raises(Overflow):
            ask()


class Cask(BaseModel):
    litres: int


def test_a_result_is_json_with_every_fact() -> None:
    result = ended(
        '{"litres": 9}',
        read_output=([Cask(litres=9)],),
        messages=(said("user", "q"),),
        usage=Usage(input=5),
        error=Overflow("Too large."),
    )
    told = json.loads(result.to_json())
    assert told["output"] == [{"litres": 9}]
    assert told["messages"][0]["parts"][0]["text"] == "q"
    assert (told["usage"], told["cost"], told["error"]) == (
        {"input": 5},
        None,
        "Overflow",
    )
    assert told["session"] == told["reading"]["session"] == "s"


PRICES = Prices((Rate(0, 1.0, 2.0, 0.1, None),))
CALL = Usage(input=1_000_000, output=10, cache_read=0, cache_write=0, reasoning=3)


def test_a_turn_s_usage_is_what_was_added_and_unknown_where_a_call_did_not_tell() -> None:
    before = Spend().plus(CALL, prices=PRICES).plus(None)
    after = before.plus(CALL, prices=PRICES).plus(CALL, purpose="child", prices=PRICES)
    assert usage_between(before, before) == Usage(
        input=0, output=0, cache_read=0, cache_write=0, reasoning=0
    )
    told = usage_between(before, after)
    assert (told.input, told.output, told.reasoning) == (2_000_000, 20, 6)
    assert cost_between(before, after) == pytest.approx(2.00004)
    failed = after.plus(None, purpose="failed", prices=PRICES)
    assert usage_between(before, failed) == told
    assert cost_between(before, failed) == cost_between(before, after)
    silent = after.plus(Usage(input=7, output=1), prices=PRICES)
    assert usage_between(before, silent).reasoning is None
    assert usage_between(before, silent).input == 2_000_007
    assert cost_between(before, after.plus(CALL)) is None
    guessed = usage_between(before, after.plus(Usage(output=1), estimated=50))
    assert (guessed.input, guessed.verified) == (2_000_050, False)
