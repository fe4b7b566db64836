import pytest
from msgspec.structs import replace

from tests.cli.readings import steps
from ullage.cli.listing import (
    Column,
    columns,
    largest_items,
    preview,
    previews,
    step_table,
)
from ullage.display.text import plain, printable
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.rows import PartEstimate

ITEMS = (
    PartEstimate("m41", "m41/0", "Tool results", "read_file", 9_870, 41),
    PartEstimate("m3", "m3/1", "Assistant", "", 300, 3),
)


def text(lines: object) -> str:
    assert isinstance(lines, list)
    return "\n".join(plain(line) for line in lines)


def test_the_largest_items_are_listed_with_their_ids_and_how_they_begin() -> None:
    assert text(largest_items(ITEMS, 200_000, {"m41/0": "def main():"}, 80)) == (
        "Largest  share  what                          id     begins\n"
        "  9,870    5 %  #41 read_file (tool results)  m41/0  def main():\n"
        "    300   <1 %  #3 assistant                  m3/1"
    )


def test_steps_are_listed_with_estimate_actual_error_and_what_happened() -> None:
    assert text(
        step_table(steps(1_000, 2_000, 500, compacted=(3,), pruned=(3,)), 80)
    ) == (
        "Call  estimate  actual  error           grew by  before it\n"
        "   1     1,010   1,000    +10  +1.00 %           first estimate\n"
        "   2     2,010   2,000    +10  +0.50 %   +1,000\n"
        "   3       510     500    +10  +2.00 %   -1,500  compacted, pruned"
    )


def test_a_call_that_reported_nothing_says_so() -> None:
    assert "none usable" in text(step_table((replace(steps(1_000)[0], actual=None),), 80))


def test_a_report_that_is_not_used_stands_as_what_the_actual_is_not() -> None:
    refused = replace(steps(1_000)[0], actual=None, refused=14_800_000)
    assert "not 14,800,000" in text(step_table((refused,), 80))


def test_an_actual_outside_its_interval_is_marked() -> None:
    wide = replace(steps(1_000, 2_000)[1], low=2_001)
    assert "outside the interval" in text(step_table((wide,), 80))


@pytest.mark.parametrize(
    ("part", "begins"),
    [
        (TextPart(id="p", text="one\ntwo"), "one two"),
        (
            ToolCallPart(id="p", call_id="c", name="bash", arguments='{"command": "ls"}'),
            '{"command": "ls"}',
        ),
        (
            ToolResultPart(
                id="p", call_id="c", content=(TextPart(id="q", text="out\x1b[0m"),)
            ),
            "out [0m",
        ),
        (
            ImagePart(id="p", mime="image/png", width=640, height=480),
            "image/png 640 x 480",
        ),
        (ImagePart(id="p"), "image ? x ?"),
        (FilePart(id="p", name="a.pdf"), "a.pdf"),
    ],
)
def test_an_item_begins_with_its_text_or_says_what_it_is(part: Part, begins: str) -> None:
    assert printable(preview(part)) == begins


def test_a_preview_is_short_whatever_the_part_holds() -> None:
    assert len(preview(TextPart(id="p", text="x" * 10**6))) <= 200


def test_only_the_items_asked_for_are_read() -> None:
    message = Message(
        id="m3",
        role="user",
        parts=(TextPart(id="m3/0", text="no"), TextPart(id="m3/1", text="yes")),
    )
    assert previews([message], ITEMS) == {"m3/1": "yes"}


def test_what_has_no_room_is_left_out_and_the_rest_is_whole() -> None:
    table = [Column("id"), Column("size", spare=True), Column("of window", right=True)]
    rows = [["ab", "2 MB", "100 % of 258,400"]]
    wide, narrow = columns(table, rows, 40), columns(table, rows, 20)
    assert plain(wide[1]) == "ab  2 MB  100 % of 258,400"
    assert plain(narrow[1]) == "ab  100 % of 258,400"


@pytest.mark.parametrize("width", [44, 50, 63, 64, 80])
def test_a_table_of_calls_fits_into_its_display(width: int) -> None:
    calls = steps(1_000, 2_000, 500, compacted=(3,), pruned=(3,))
    for line in step_table(calls, width):
        assert len(plain(line)) <= width
