"""A file that is read again while it is in the window costs twice; a read after an edit is none of these."""

import pytest

from tests.advice.story import Story, code
from tests.advice.test_unreferred import found, used
from ullage.advice.rereads import MOST_EARLIER
from ullage.advice.suggestions import advise
from ullage.events import CompactionCommitted, Event


def test_the_same_read_twice_is_found_and_saves_the_second() -> None:
    text = code("kettle")
    told = Story().user("go").read("/a.py", text).read("/a.py", text).chat(2).billed()
    suggestion = found(told, "read_again")
    assert suggestion is not None
    assert suggestion.title == "1 read of what was already in the window"
    once = Story().user("go").read("/a.py", text).read("/a.py", "").chat(2).billed()
    lost = used(told) - used(once)
    assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_a_read_after_an_edit_of_the_file_is_no_waste() -> None:
    text = code("kettle")
    story = Story().user("go").read("/a.py", text)
    story.tool("Edit", '{"file_path":"/a.py","new_string":"x"}', "ok")
    assert found(story.read("/a.py", text).chat(2).billed(), "read_again") is None


def test_a_read_whose_content_has_changed_is_no_waste() -> None:
    story = Story().user("go").read("/a.py", code("kettle")).read("/a.py", code("pot"))
    assert found(story.chat(2).billed(), "read_again") is None


def test_a_read_of_what_was_compacted_away_is_no_waste() -> None:
    text = code("kettle")
    story = Story().user("go").read("/a.py", text).chat(1)
    story.then(CompactionCommitted(compaction="k", summarised=("t1.r", "c1.a")))
    assert found(story.chat(2).read("/a.py", text).chat(2).billed(), "read_again") is None


def test_of_a_read_that_overlaps_only_the_common_lines_are_saved() -> None:
    lines = code("kettle", 200).split("\n")
    story = Story().user("go").read("/a.py", "\n".join(lines[:150]))
    told = story.read("/a.py", "\n".join(lines[50:])).chat(2).billed()
    suggestion = found(told, "read_again")
    assert suggestion is not None
    (saved,) = suggestion.items
    assert round(saved.share, 2) == 0.67


def test_a_read_is_compared_with_the_newest_earlier_ones_alone() -> None:
    text = code("kettle")
    for between, is_found in ((MOST_EARLIER - 1, True), (MOST_EARLIER, False)):
        story = Story().user("go").read("/a.py", text)
        for number in range(between):
            story.read("/a.py", f"pot {number}")
        suggestion = found(story.read("/a.py", text).chat(2).billed(), "read_again")
        assert (suggestion is not None) == is_found


def test_another_file_with_the_same_content_is_not_the_same_file() -> None:
    text = code("kettle")
    story = Story().user("go").read("/a.py", text).read("/b.py", text).chat(2)
    assert found(story.billed(), "read_again") is None


def test_a_command_whose_output_comes_again_word_for_word_is_found() -> None:
    command = '{"command":"git log"}'
    story = Story().user("go")
    for _ in range(2):
        story.tool("Bash", command, code("commit"))
    suggestion = found(story.chat(2).billed(), "same_result")
    assert suggestion is not None
    assert len(suggestion.items) == 1


@pytest.mark.parametrize("lines", [80, 200, 400])
def test_the_saving_of_a_result_that_came_again_is_what_the_reading_loses_without_it(
    lines: int,
) -> None:
    def told(again: str) -> list[Event]:
        story = Story().user("go").tool("Bash", '{"command":"git log"}', text)
        return story.tool("Bash", '{"command":"git log"}', again).chat(2).billed()

    text = code("commit", lines)
    with_it = told(text)
    suggestion = found(with_it, "same_result")
    assert suggestion is not None
    lost = used(with_it) - used(told(""))
    assert suggestion.saving.low <= lost <= suggestion.saving.high
    assert abs(lost - suggestion.saving.tokens) <= 0.1 * lost


def test_items_of_two_suggestions_are_saved_once() -> None:
    text = code("kettle", 400)
    story = Story().user("go").read("/a.py", text).read("/a.py", text).chat(6)
    advice = advise(story.billed())
    assert {each.kind for each in advice.suggestions} >= {"read_again", "unreferred"} or (
        len(advice.suggestions) == 1
    )
    apart = sum(each.saving.tokens for each in advice.suggestions)
    assert advice.total.tokens <= apart
