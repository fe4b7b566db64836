"""The advice for a session: the useful suggestions, the best first, and what they save together."""

import msgspec
import pytest
from hypothesis import given

from tests.advice.story import Story, advised, code, prose
from tests.meter.histories import histories
from tests.meter.session import tool
from ullage.advice.policy import MOST_SHOWN
from ullage.advice.suggestions import Advice
from ullage.events import Event

MAKE = '{"command":"make"}'


def test_a_session_without_calls_has_no_advice() -> None:
    advice = advised([])
    assert (advice.suggestions, advice.calls) == ((), 0)


def test_small_savings_are_not_suggested() -> None:
    told = Story(tools=(tool("Write"),)).user("go").chat(9)
    assert advised(told.billed()).suggestions == ()


def test_the_largest_saving_comes_first() -> None:
    story = Story(tools=(tool("Write", prose(100)),)).user("go")
    story.tool("Bash", MAKE, prose(2_000)).chat(8)
    kinds = [each.kind for each in advised(story.billed()).suggestions]
    assert kinds == ["long_output", "unused_tools"]


def test_what_has_cost_most_is_listed_with_its_calls() -> None:
    story = Story().user("go").read("/a.py", code("kettle", 300)).chat(6)
    first = advised(story.billed()).costs[0]
    assert first.label == "Read a.py"
    assert first.so_far == first.tokens * first.calls
    assert first.calls == 6


def test_without_content_no_command_is_named() -> None:
    story = Story().user("go").tool("Bash", '{"command":"secret"}', prose(900)).chat(6)
    advice = advised(story.billed(), no_content=True)
    assert advice.suggestions
    assert b"secret" not in msgspec.json.encode(advice)


def test_misses_and_items_are_not_saved_twice() -> None:
    story = Story().user("go").tool("Bash", MAKE, prose(2_000)).chat(3)
    story.answer("late", pause_s=400).chat(3)
    advice = advised(story.billed(lost=frozenset({5})))
    kinds = {each.kind for each in advice.suggestions}
    assert kinds == {"cache", "long_output"}
    apart = sum(each.saving.usd or 0.0 for each in advice.suggestions)
    assert advice.total.usd is not None
    assert advice.total.usd < 0.9 * apart


@given(histories())
def test_no_saving_of_any_session_exceeds_what_is_there(events: list[Event]) -> None:
    advice = advised(events)
    assert len(advice.suggestions) <= MOST_SHOWN
    for suggestion in advice.suggestions:
        saving = suggestion.saving
        assert 0 <= saving.low <= saving.tokens <= saving.high
        assert saving.tokens <= advice.used
        assert saving.so_far >= 0
    assert advice.total.tokens <= advice.used
    assert advice.total.tokens <= sum(each.saving.tokens for each in advice.suggestions)


def test_the_total_is_what_the_session_would_have_cost_less() -> None:
    for factor in (0.9, 1.0, 1.1):
        advice: list[Advice] = []
        for unused in ((), (tool("Write", prose(200)), tool("Glob", prose(200)))):
            story = Story(tools=(tool("Read"), *unused)).user("go").read("/a", "x")
            advice.append(advised(story.chat(8).billed(factor)))
        whole, wasteful = advice
        lost = wasteful.paid - whole.paid
        assert abs(wasteful.total.so_far - lost) <= 0.1 * lost
        assert wasteful.usd is not None
        assert whole.usd is not None
        assert wasteful.total.usd == pytest.approx(wasteful.usd - whole.usd, rel=0.1)
