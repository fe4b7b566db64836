"""The advice for a session: the useful suggestions, the best first, and what they save together."""

import pytest
from hypothesis import given

from tests.advice.story import Story, code, prose
from tests.meter.histories import histories
from ullage.advice.suggestions import MOST_SHOWN, advise
from ullage.events import Event


def test_a_session_without_calls_has_no_advice() -> None:
    advice = advise([])
    assert advice.suggestions == ()
    assert advice.calls == 0


def test_small_savings_are_not_suggested() -> None:
    told = Story().user("go").read("/a.py", code("kettle", 12)).chat(8)
    assert advise(told.billed()).suggestions == ()


def test_the_largest_saving_comes_first() -> None:
    story = Story().user("go").read("/a.py", code("kettle", 100))
    story.tool("Bash", '{"command":"make"}', prose(2_000)).chat(6)
    kinds = [each.kind for each in advise(story.billed()).suggestions]
    assert kinds == ["long_output", "unreferred"]


def test_what_has_cost_most_is_listed_with_its_calls() -> None:
    story = Story().user("go").read("/a.py", code("kettle", 300)).chat(6)
    first = advise(story.billed()).costs[0]
    assert first.label == "Read a.py"
    assert first.so_far == first.tokens * first.calls
    assert first.calls == 6


def test_without_content_no_path_is_named() -> None:
    story = Story().user("go").read("/secret.py", code("kettle", 300)).chat(6)
    advice = advise(story.billed(), no_content=True)
    assert advice.suggestions
    assert b"secret" not in advice.to_json()


def test_misses_and_items_are_not_saved_twice() -> None:
    story = Story().user("go").read("/a.py", code("kettle", 800)).chat(3)
    story.answer("late", pause_s=400).chat(3)
    advice = advise(story.billed(lost=frozenset({5})))
    kinds = {each.kind for each in advice.suggestions}
    assert kinds == {"cache", "unreferred"}
    apart = sum(each.saving.usd or 0.0 for each in advice.suggestions)
    assert advice.total.usd is not None
    assert advice.total.usd < 0.9 * apart


@given(histories())
def test_any_session_can_be_advised_and_no_saving_exceeds_what_is_there(
    events: list[Event],
) -> None:
    advice = advise(events)
    assert len(advice.suggestions) <= MOST_SHOWN
    for suggestion in (*advice.suggestions,):
        saving = suggestion.saving
        assert 0 <= saving.low <= saving.tokens <= saving.high
        assert saving.tokens <= advice.used
        assert saving.so_far >= 0
    assert advice.total.tokens <= advice.used
    assert advice.total.tokens <= sum(each.saving.tokens for each in advice.suggestions)


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_the_total_is_what_the_session_would_have_cost_less(factor: float) -> None:
    def told(text: str) -> list[Event]:
        story = Story().user("go").read("/a.py", text).chat(6)
        return story.billed(factor)

    whole, without = advise(told(code("kettle", 400))), advise(told(""))
    lost = whole.paid - without.paid
    assert abs(whole.total.so_far - lost) <= 0.1 * lost
    assert whole.usd is not None
    assert without.usd is not None
    assert whole.total.usd == pytest.approx(whole.usd - without.usd, rel=0.1)
