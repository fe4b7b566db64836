"""Results that nothing later refers to are found by their words; those that are used are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.advice.story import Story, code, prose
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import advise
from ullage.events import Event
from ullage.meter.meter import Meter


def found(events: list[Event], kind: str) -> Suggestion | None:
    for suggestion in advise(events).suggestions:
        if suggestion.kind == kind:
            return suggestion
    return None


def used(events: list[Event]) -> int:
    meter = Meter()
    for event in events:
        meter.apply(event)
    return meter.reading().used.tokens


def test_a_result_that_nothing_names_again_is_one_and_says_that_it_is_a_guess() -> None:
    story = Story().user("look").read("/src/kettle.py", code("kettle")).chat(5)
    suggestion = found(story.billed(), "unreferred")
    assert suggestion is not None
    assert suggestion.title == "1 tool result was not referred to later"
    assert suggestion.is_guess
    assert suggestion.saving.low < suggestion.saving.tokens < suggestion.saving.high


@pytest.mark.parametrize(
    "use",
    [
        lambda story: story.answer("kettle_17 adds 17"),
        lambda story: story.user("why does kettle_17 add 17?").answer("it does"),
        lambda story: story.tool("Grep", '{"pattern":"kettle_17"}', "none"),
        lambda story: story.tool("Edit", '{"file_path":"/src/kettle.py"}', "ok"),
    ],
    ids=["an answer", "a person", "a call's arguments", "a call for the same file"],
)
def test_a_result_that_is_named_later_is_none(use: object) -> None:
    story = Story().user("look").read("/src/kettle.py", code("kettle")).chat(2)
    assert callable(use)
    use(story)
    assert found(story.chat(4).billed(), "unreferred") is None


def test_a_call_for_the_file_before_the_result_is_no_use_of_it() -> None:
    story = Story().user("look").tool("Edit", '{"file_path":"/src/kettle.py"}', "ok")
    story.read("/src/kettle.py", code("kettle")).chat(5)
    assert found(story.billed(), "unreferred") is not None


def test_words_that_were_known_before_the_result_say_nothing() -> None:
    text = code("kettle")
    story = Story().user(text).read("/src/kettle.py", text).chat(5)
    assert found(story.billed(), "unreferred") is None


def test_of_a_result_without_distinctive_words_nothing_is_said() -> None:
    story = Story().user("look").read("/a", prose(300)).chat(5)
    assert found(story.billed(), "unreferred") is None


def test_what_is_new_may_be_needed_yet() -> None:
    story = Story().user("look").read("/src/kettle.py", code("kettle")).chat(2)
    assert found(story.billed(), "unreferred") is None


def test_a_long_paste_that_is_not_used_is_one_and_a_short_one_is_not() -> None:
    long = Story().user("look\n" + code("log", 400)).chat(6)
    assert found(long.billed(), "paste") is not None
    short = Story().user("look\n" + code("log", 20)).chat(6)
    assert found(short.billed(), "paste") is None


def test_an_image_that_no_answer_speaks_of_is_one() -> None:
    assert found(Story().image().chat(6).billed(), "image") is not None
    spoken = Story().image().answer("The screenshot shows a kettle.").chat(6)
    assert found(spoken.billed(), "image") is None


@given(st.integers(40, 300), st.integers(4, 8), st.sampled_from([0.97, 1.0, 1.04]))
def test_the_saving_of_a_result_is_what_the_reading_loses_without_it(
    lines: int, calls: int, factor: float
) -> None:
    def told(content: str) -> list[Event]:
        story = Story().user("look").read("/src/kettle.py", content)
        return story.chat(calls).billed(factor)

    with_it = told(code("kettle", lines))
    suggestion = found(with_it, "unreferred")
    assert suggestion is not None
    lost = used(with_it) - used(told(""))
    assert suggestion.saving.low <= lost <= suggestion.saving.high
    assert abs(lost - suggestion.saving.tokens) <= 0.15 * lost


@given(st.integers(150, 600), st.integers(4, 8))
def test_the_saving_of_a_paste_is_what_the_reading_loses_without_it(
    lines: int, calls: int
) -> None:
    def told(paste: str) -> list[Event]:
        return Story().user(paste).chat(calls).billed()

    with_it = told(code("kettle", lines))
    suggestion = found(with_it, "paste")
    assert suggestion is not None
    lost = used(with_it) - used(told(""))
    assert suggestion.saving.low <= lost <= suggestion.saving.high
    assert abs(lost - suggestion.saving.tokens) <= 0.1 * lost


def test_the_saving_of_an_image_is_what_the_reading_loses_without_it() -> None:
    with_it = Story().user("look").image().chat(6).billed()
    suggestion = found(with_it, "image")
    assert suggestion is not None
    lost = used(with_it) - used(Story().user("look").chat(6).billed())
    assert suggestion.saving.low <= lost <= suggestion.saving.high
    assert abs(lost - suggestion.saving.tokens) <= 0.1 * lost
