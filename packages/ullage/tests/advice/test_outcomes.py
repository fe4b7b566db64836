"""Suggestions that were followed: what was promised, and what the bills say afterwards."""

import pytest

from tests.advice.story import Story, prose, used
from tests.advice.test_waste import (
    GITHUB,
    SHOT,
    instructed,
    outputs,
    picture,
    pictured,
    reading,
    tools,
)
from ullage.advice.history import history_of
from ullage.advice.outcomes import outcomes_of, until_removal
from ullage.advice.policy import EXPECTED_OUTPUTS
from ullage.advice.sentences import outcome_text
from ullage.advice.suggestion import AdviceOutcome
from ullage.events import Event, ToolsChanged
from ullage.messages import ImagePart
from ullage.meter.meter import Meter


def between(earlier: list[Event], later: list[Event]) -> tuple[AdviceOutcome, ...]:
    return outcomes_of(earlier, Meter(), history_of(later))


def test_a_server_that_is_gone_saved_what_was_promised() -> None:
    before, after = reading(tools("Read", *GITHUB)), reading(tools("Read"))
    (outcome,) = between(before, after)
    assert outcome.title == "MCP server github was never called"
    assert outcome.measured == pytest.approx(used(before) - used(after), rel=0.1)
    assert outcome.promised == pytest.approx(outcome.measured, rel=0.1)
    assert outcome.has_helped


def test_a_server_that_was_replaced_by_another_did_not_help() -> None:
    other = ("mcp__gitlab__issue", "mcp__gitlab__search")
    (outcome,) = between(reading(tools("Read", *GITHUB)), reading(tools("Read", *other)))
    assert outcome.measured < outcome.promised / 2
    assert not outcome.has_helped
    assert outcome_text(outcome).endswith("It did not help")


def test_what_is_still_there_was_not_followed() -> None:
    told = reading(tools("Read", *GITHUB))
    assert between(told, told) == ()


def test_suggestions_about_tools_are_measured_together() -> None:
    before = reading(tools("Read", "Write", *GITHUB))
    (outcome,) = between(before, reading(tools("Read")))
    assert "github" in outcome.title and "1 tool was never called" in outcome.title
    lost = used(before) - used(reading(tools("Read")))
    assert outcome.measured == pytest.approx(lost, rel=0.1)


def test_shorter_instructions_are_told_from_the_same_ones() -> None:
    long, short = instructed("a rule\n" * 900), instructed("a rule\n" * 180)
    (outcome,) = between(long, short)
    assert "CLAUDE.md" in outcome.title
    assert outcome.measured == pytest.approx(used(long) - used(short), rel=0.1)
    assert between(long, long) == ()


def test_outputs_are_compared_by_command_where_long_ones_would_be_expected() -> None:
    story = Story().user("go")
    for _ in range(EXPECTED_OUTPUTS):
        story.tool("Bash", '{"command":"make"}', prose(20))
    (outcome,) = between(outputs(prose(900)), story.billed())
    assert outcome.unit == "command"
    assert outcome.has_helped
    assert "tokens per command" in outcome_text(outcome)
    assert between(outputs(prose(900)), outputs(prose(20))) == ()


@pytest.mark.parametrize("shots", [(), (picture(800, 600),)])
def test_smaller_pictures_and_none_are_compared_by_mcp_call(
    shots: tuple[ImagePart, ...],
) -> None:
    story = Story().user("go")
    for _ in range(EXPECTED_OUTPUTS):
        story.tool(SHOT, "{}", "A page.", *shots)
    (outcome,) = between(pictured(picture(1440, 900)), story.billed())
    assert (outcome.unit, outcome.has_helped) == ("MCP call", True)
    assert "tokens per MCP call" in outcome_text(outcome)
    assert outcome.measured >= 0.9 * outcome.promised


def test_pictures_that_are_still_large_were_not_made_smaller() -> None:
    told = pictured(*[picture(1440, 900)] * 3)
    assert between(told, told) == ()


def test_a_removal_within_a_session_is_measured_behind_it() -> None:
    story = Story(tools=tools("Read", *GITHUB)).user("go").read("/a", "x").chat(9)
    story.then(ToolsChanged(tools=tools("Read"))).chat(2)
    events = story.billed()
    (outcome,) = between(list(until_removal(events)), events)
    assert outcome.has_helped
    assert until_removal(reading(tools("Read"))) == []
