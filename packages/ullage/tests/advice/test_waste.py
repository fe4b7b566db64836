"""Tools that were never called, long outputs of commands and long instruction files, with what they cost."""

import pytest

from tests.advice.story import Story, code, found, prose, used
from tests.meter.session import tool
from ullage.advice.history import history_of
from ullage.advice.policy import ENOUGH_OUTPUT, LONG_OUTPUT, SMALL_PICTURE
from ullage.advice.suggestion import Suggestion
from ullage.advice.suggestions import advice_of
from ullage.events import Event, MessageAdded
from ullage.messages import ImagePart, Message, SystemBlock, TextPart, Tool
from ullage.meter.meter import Meter
from ullage_programs.advice import remedy_of

LONG = prose(40)
GITHUB = ("mcp__github__issue", "mcp__github__search")
SHOT = "mcp__playwright__browser_take_screenshot"


def tools(*names: str) -> tuple[Tool, ...]:
    return tuple(tool(name, LONG) for name in names)


def reading(given: tuple[Tool, ...], calls: int = 8) -> list[Event]:
    """A session that calls the tool Read alone."""
    return Story(tools=given).user("go").read("/a", "x").chat(calls).billed()


def outputs(text: str, tool_name: str = "Bash") -> list[Event]:
    story = Story().user("go").tool(tool_name, '{"command":"make"}', text)
    return story.chat(2).billed()


def picture(width: int | None, height: int | None) -> ImagePart:
    return ImagePart(id="shot", mime="image/png", width=width, height=height)


def pictured(
    *shots: ImagePart, text: str = "A page.", tool_name: str = SHOT
) -> list[Event]:
    """A session with two results that hold these pictures."""
    story = Story().user("go")
    for _ in range(2):
        story.tool(tool_name, "{}", text, *shots)
    return story.chat(2).billed()


def instructed(text: str) -> list[Event]:
    block = SystemBlock(text=text, kind="instructions", name="CLAUDE.md")
    return Story(system=(block,)).user("go").chat(5).billed()


def suggested(events: list[Event], kind: str) -> Suggestion:
    suggestion = found(events, kind)
    assert suggestion is not None
    return suggestion


def holds(suggestion: Suggestion, lost: float) -> bool:
    """Whether so many tokens lie in the interval of what is saved."""
    saving = suggestion.saving
    return saving.low <= lost <= saving.high


def test_a_server_of_which_no_tool_was_called_is_one_suggestion() -> None:
    told = reading(tools("Read", *GITHUB))
    suggestion = suggested(told, "unused_server")
    assert suggestion.title == "MCP server github was never called"
    assert "claude mcp remove github" in suggestion.how
    assert suggestion.number == 2
    assert holds(suggestion, used(told) - used(reading(tools("Read"))))


def test_the_unused_tools_of_a_server_in_use_are_listed_with_the_others() -> None:
    story = Story(tools=tools("Read", "Write", *GITHUB)).user("go").read("/a", "x")
    told = story.tool("mcp__github__issue", "{}", "none").chat(8).billed()
    assert found(told, "unused_server") is None
    assert suggested(told, "unused_tools").title == "2 tools were never called"


def test_what_subagents_alone_called_is_in_use() -> None:
    events = reading(tools("Read", "Write", *GITHUB))
    meter = Meter()
    history = history_of(events, meter)
    called = frozenset({"Write", "mcp__github__issue"})
    advice = advice_of(history, meter, events, subagent_tools=called)
    (suggestion,) = advice.suggestions
    assert (suggestion.kind, suggestion.number) == ("unused_tools", 1)
    assert "mcp__github__search" in suggestion.text


def test_tools_in_use_and_those_of_the_first_calls_are_none() -> None:
    assert found(reading(tools("Read")), "unused_tools") is None
    assert found(reading(tools("Read", "Write"), 1), "unused_tools") is None


def test_the_saving_of_unused_tools_is_what_the_reading_loses_without_them() -> None:
    told = reading(tools("Read", "Write", "Glob", "Grep", "Bash", "Edit"))
    suggestion = suggested(told, "unused_tools")
    lost = used(told) - used(reading(tools("Read")))
    assert suggestion.number == 5
    assert holds(suggestion, lost)
    assert abs(lost - suggestion.saving.tokens) <= 0.1 * lost


def test_a_long_output_saves_what_is_beyond_enough() -> None:
    told = outputs(prose(900))
    lost = used(told) - used(outputs("")) - ENOUGH_OUTPUT
    assert holds(suggested(told, "long_output"), lost)


def test_a_long_result_of_an_mcp_server_has_a_suggestion_of_its_own() -> None:
    told = outputs(prose(900), GITHUB[0])
    suggestion = suggested(told, "long_result")
    assert suggestion.title == "1 MCP call with an output above 4,000 tokens"
    assert f"MAX_MCP_OUTPUT_TOKENS={LONG_OUTPUT}" in suggestion.how
    lost = used(told) - used(outputs("", GITHUB[0])) - ENOUGH_OUTPUT
    assert holds(suggestion, lost)
    assert found(told, "long_output") is None


def test_large_pictures_save_what_small_ones_would_not_cost() -> None:
    told = pictured(picture(1440, 900))
    suggestion = suggested(told, "pictures")
    assert suggestion.title == "2 MCP calls with a picture above 800 x 600"
    lost = used(told) - used(pictured(picture(**SMALL_PICTURE)))
    assert abs(suggestion.saving.tokens - lost) <= 0.02 * lost
    assert holds(suggestion, lost)


@pytest.mark.parametrize(
    ("width", "height"), [(800, 600), (640, 400), (1440, 9_000), (None, None), (0, 0)]
)
def test_small_pictures_whole_pages_and_unknown_sizes_are_not_counted(
    width: int | None, height: int | None
) -> None:
    assert found(pictured(picture(width, height)), "pictures") is None


def test_pictures_that_no_mcp_server_took_are_not_counted() -> None:
    assert found(pictured(picture(1440, 900), tool_name="Read"), "pictures") is None


def test_a_result_with_a_picture_and_a_long_text_is_counted_once() -> None:
    told = pictured(picture(1440, 900), text=prose(900))
    suggestion = suggested(told, "pictures")
    assert found(told, "long_result") is None
    lost = used(told) - used(pictured(picture(800, 600), text=prose(900)))
    assert holds(suggestion, lost)


def test_the_remedy_for_pictures_names_the_size_that_is_counted() -> None:
    size = "{width}x{height}".format_map(SMALL_PICTURE)
    assert f"--viewport-size {size}" in remedy_of("", "pictures")


def test_a_long_file_and_a_short_output_are_no_long_output() -> None:
    assert found(outputs(code("kettle", 600), "Read"), "long_output") is None
    assert found(outputs(prose(50)), "long_output") is None


def test_an_instruction_file_of_more_than_200_lines_saves_the_rest() -> None:
    lines = [f"Rule {n}: write short sentences." for n in range(400)]
    events = instructed("\n".join(lines))
    suggestion = suggested(events, "instructions")
    assert suggestion.title == "400 lines in CLAUDE.md"
    assert holds(suggestion, used(events) - used(instructed("\n".join(lines[:200]))))
    assert found(instructed("Be brief.\n" * 150), "instructions") is None


@pytest.mark.parametrize("later", [False, True])
def test_files_in_one_reminder_are_measured_one_by_one(later: bool) -> None:
    def reminder(*files: str) -> list[Event]:
        text = "".join(f"\nContents of /{n}.md:\n{file}" for n, file in enumerate(files))
        part = TextPart(id="r.text", text=text, name="instructions")
        message = Message(id="r", role="user", parts=(part,), origin="injected")
        story = Story().chat(2) if later else Story()
        return story.then(MessageAdded(message=message)).chat(5).billed()

    short = "Be brief and kind.\n" * 150
    assert found(reminder(short, short), "instructions") is None
    (part,) = suggested(reminder(short, short + short), "instructions").items
    assert round(part.share, 1) == 0.2
