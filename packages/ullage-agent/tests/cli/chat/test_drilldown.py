from __future__ import annotations

from msgspec import Raw

from tests.cli.readings import QUARTER_FULL
from ullage.cli.drawing import Subject
from ullage.display.glyphs import UNICODE
from ullage.display.text import cells, plain
from ullage.messages import (
    Message,
    ReasoningPart,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.rows import PartEstimate
from ullage_agent.chat.drilldown import LONGEST_TEXT, DrilldownData, first_target, level

MESSAGES = (
    Message(id="m1", role="user", parts=(TextPart(id="m1.0", text="Look at it."),)),
    Message(
        id="m2",
        role="assistant",
        parts=(
            ReasoningPart(id="m2.0", opaque_size=900),
            TextPart(id="m2.1", text="I look.\x1b[2J"),
            ToolCallPart(
                id="m2.2", call_id="t", name="bash", arguments='{"command": "ls"}'
            ),
        ),
    ),
    Message(
        id="m3",
        role="tool",
        parts=(
            ToolResultPart(
                id="m3.0",
                call_id="t",
                name="bash",
                content=(TextPart(id="x", text="a\nb"),),
            ),
        ),
    ),
)
ITEMS = (
    PartEstimate("m3", "m3.0", "Tool results", "bash", 900, 3),
    PartEstimate("m2", "m2.1", "Assistant", "", 30, 2),
    PartEstimate("m2", "m2.2", "Tool calls", "bash", 20, 2),
    PartEstimate("m1", "m1.0", "You", "", 5, 1),
)
WINDOW = DrilldownData(
    QUARTER_FULL,
    Subject(reading=QUARTER_FULL),
    MESSAGES,
    ITEMS,
    (Tool(name="bash", description="Runs a command.", schema=Raw(b'{"type":"object"}')),),
    (SystemBlock(text="Be brief."),),
    frozenset({"m1"}),
)


def shown(
    target: str, width: int = 78, window: DrilldownData = WINDOW, *, by_size: bool = True
) -> list[str]:
    return [
        plain(choice.line)
        for choice in level(window, target, width, UNICODE, by_size=by_size).choices
    ]


def test_the_first_level_is_the_window_and_its_rows_can_be_opened() -> None:
    first = level(WINDOW, "", 78, UNICODE)
    text = "\n".join(shown(""))
    assert "52,100 ± 140 of 200,000" in text and "Total" in text and "Free" in text
    assert [choice.target for choice in first.choices if choice.target] == [
        "row:0",
        "row:1",
        "row:2",
        "row:3",
    ]
    assert first_target(QUARTER_FULL) == "row:3"


def test_three_keys_lead_to_a_message_with_the_tokens_of_each_of_its_parts() -> None:
    rows = level(WINDOW, first_target(QUARTER_FULL), 78, UNICODE)
    assert rows.choices[0].target == "message:m3"
    assert "900" in plain(rows.choices[0].line)
    text = shown("message:m2")
    assert any("text  30 tokens" in line for line in text)
    assert any("call of bash  20 tokens" in line for line in text)
    assert any("900 characters only the provider reads" in line for line in text)
    assert "I look.␛[2J" in text


def test_messages_stand_by_size_or_in_their_order_and_pins_are_marked() -> None:
    by_place = shown("row:3", by_size=False)
    assert [line.split()[0] for line in by_place[:3]] == ["*#1", "#2", "#3"]
    assert any("an estimate of its own" in line for line in by_place)


def test_tools_lead_to_their_declaration() -> None:
    tools = level(WINDOW, "row:1", 78, UNICODE)
    assert "tool:bash" in [choice.target for choice in tools.choices]
    assert "Runs a command." in shown("tool:bash")
    assert shown("tool:nothing") == []


def test_the_system_prompt_shows_its_text() -> None:
    assert "Be brief." in shown("row:0")


def test_a_huge_message_is_cut_with_a_note() -> None:
    huge = Message(
        id="h", role="user", parts=(TextPart(id="h.0", text="x" * (LONGEST_TEXT + 5)),)
    )
    assert shown("message:h", window=WINDOW._replace(messages=(huge,)))[-1].startswith(
        "… 5 more characters"
    )


def test_every_line_fits_the_width() -> None:
    for width in (40, 78, 198):
        for target in ("", "row:0", "row:1", "row:3", "message:m2"):
            assert max(map(cells, shown(target, width))) <= max(width, 60), (
                target,
                width,
            )
