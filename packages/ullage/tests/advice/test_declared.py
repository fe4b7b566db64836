"""Tools and MCP servers that were never called are named with what their declarations cost."""

import pytest

from tests.advice.story import Story, prose
from tests.advice.test_unreferred import found, used
from tests.meter.session import tool
from ullage.advice.history import history_of
from ullage.advice.suggestions import advice_of
from ullage.events import Event, MessageAdded
from ullage.messages import Message, TextPart, Tool
from ullage.meter.meter import Meter

LONG = prose(40)


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(tool(name, LONG) for name in names)


def test_a_server_of_which_no_tool_was_called_is_one_suggestion() -> None:
    given = tools("Read", "mcp__github__issue", "mcp__github__search")
    told = Story(tools=given).user("go").read("/a", "x").chat(8).billed()
    suggestion = found(told, "unused_server")
    assert suggestion is not None
    assert suggestion.title == "MCP server github was never called"
    assert "claude mcp remove github" in suggestion.how
    assert suggestion.number == 2
    without = Story(tools=given[:1]).user("go").read("/a", "x").chat(8).billed()
    lost = used(told) - used(without)
    assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_the_unused_tools_of_a_server_in_use_are_listed_with_the_others() -> None:
    given = tools("Read", "Write", "mcp__github__issue", "mcp__github__search")
    story = Story(tools=given).user("go").read("/a", "x")
    story.tool("mcp__github__issue", "{}", "none")
    told = story.chat(8).billed()
    assert found(told, "unused_server") is None
    suggestion = found(told, "unused_tools")
    assert suggestion is not None
    assert suggestion.title == "2 tools were never called"


def test_what_subagents_alone_called_is_in_use() -> None:
    given = tools("Read", "Write", "mcp__github__issue", "mcp__github__search")
    events = Story(tools=given).user("go").read("/a", "x").chat(8).billed()
    meter = Meter()
    history = history_of(events, meter)
    called = frozenset({"Write", "mcp__github__issue"})
    advice = advice_of(history, meter, events, subagent_tools=called)
    (suggestion,) = advice.suggestions
    assert suggestion.kind == "unused_tools"
    assert suggestion.number == 1
    assert "mcp__github__search" in suggestion.text


def test_tools_that_were_all_called_are_none() -> None:
    told = Story(tools=tools("Read")).user("go").read("/a", "x").chat(8).billed()
    assert found(told, "unused_tools") is None


def test_in_the_first_calls_nothing_is_unused_yet() -> None:
    told = Story(tools=tools("Read", "Write")).user("go").chat(1).billed()
    assert found(told, "unused_tools") is None


def listing(name: str) -> MessageAdded:
    part = TextPart(id=f"{name}.text", text=prose(100), name=name)
    message = Message(id=name, role="user", parts=(part,), origin="injected")
    return MessageAdded(message=message)


def test_a_list_of_skills_of_which_none_was_used_is_one() -> None:
    told = Story().then(listing("skill listing")).chat(9).billed()
    suggestion = found(told, "unused_listing")
    assert suggestion is not None
    assert suggestion.title == "Nothing of the skill listing was used"
    assert suggestion.saving.low == 0


def test_a_list_of_which_something_was_used_is_none() -> None:
    story = Story().then(listing("skill listing")).user("go").tool("Skill", "{}", "ok")
    assert found(story.chat(9).billed(), "unused_listing") is None


@pytest.mark.parametrize("unused", [1, 2, 5])
def test_the_saving_of_unused_tools_is_what_the_reading_loses_without_them(
    unused: int,
) -> None:
    def told(given: tuple[Tool, ...]) -> list[Event]:
        return Story(tools=given).user("go").read("/a", "x").chat(8).billed()

    given = tools("Read", "Write", "Glob", "Grep", "Bash", "Edit")
    suggestion = found(told(given), "unused_tools")
    assert suggestion is not None
    assert suggestion.number == 5
    one, *others = suggestion.items
    chosen = [each.place for each in (one, *others)][:unused]
    history = history_of(told(given))
    names = {history.items[place].tool for place in chosen}
    left = tuple(each for each in given if each.name not in names)
    lost = used(told(given)) - used(told(left))
    expected = sum(history.items[place].tokens for place in chosen)
    assert abs(lost - expected) <= 0.1 * lost
    if unused == 5:
        assert suggestion.saving.low <= lost <= suggestion.saving.high


def test_a_list_that_is_turned_off_saves_at_most_what_was_said() -> None:
    with_it = Story().then(listing("skill listing")).user("go").chat(9).billed()
    suggestion = found(with_it, "unused_listing")
    assert suggestion is not None
    lost = used(with_it) - used(Story().user("go").chat(9).billed())
    assert suggestion.saving.low <= lost <= suggestion.saving.high
    assert abs(lost - suggestion.saving.tokens) <= 0.1 * lost
