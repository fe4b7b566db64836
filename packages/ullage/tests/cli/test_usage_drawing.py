import pytest

from tests.meter.calls import NOON, placed, spent_call
from tests.meter.test_usage_table import table
from ullage.cli.usage_drawing import compact, cost_of_row, usage_lines
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import cells, plain

DAY = 86_400.0


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.00k"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (999_700, "1.00M"),
        (1_234_567, "1.23M"),
        (34_000_000_000, "34.0G"),
        (10**15, "1000T"),
    ],
)
def test_tokens_take_few_characters(tokens: int, text: str) -> None:
    assert compact(tokens) == text


def lines(width: int, *, by_project: bool = False) -> list[str]:
    calls = [
        placed(
            spent_call(at=NOON + day * DAY, input=1_000 * (day + 1)),
            project=f"/p/{'x' * 60}",
        )
        for day in range(3)
    ]
    calls.append(placed(spent_call(), is_child=True))
    found = table("project" if by_project else "day", *calls)
    return [plain(each) for each in usage_lines(found, width, UNICODE)]


@pytest.mark.parametrize("width", [40, 60, 71, 72, 80, 97, 98, 120, 200])
def test_no_line_is_wider_than_the_display(width: int) -> None:
    for drawn in (lines(width), lines(width, by_project=True)):
        assert max(cells(line) for line in drawn) <= width


def test_the_wider_the_display_the_more_kinds_of_tokens_are_told_apart() -> None:
    assert lines(60)[0].split() == ["Day", "Total", "Calls", "Cost"]
    assert "Cache " in lines(80)[0]
    assert "Cache write" in lines(100)[0]
    assert "Reasoning" in lines(100)[0]


def test_the_bar_of_the_dearest_day_is_the_longest() -> None:
    bars = [line.count("█") for line in lines(100)[1:4]]
    assert bars == sorted(bars)
    assert bars[0] > 0


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_the_end_of_a_long_path_is_shown(slash: str) -> None:
    project = slash.join(["", *["long"] * 20, "shop"])
    found = table("project", placed(spent_call(), project=project))
    first = plain(usage_lines(found, 80, ASCII)[1])
    assert f"{slash}shop" in first
    assert first.startswith("...")


def test_subagents_have_a_row_below_the_total() -> None:
    drawn = lines(100)
    total = next(place for place, line in enumerate(drawn) if line.startswith("Total"))
    assert drawn[total + 1].startswith("of it subagents")


def test_a_cost_below_the_hundredth_of_a_cent_is_short() -> None:
    little = spent_call(input=1, output=0, cache_read=0, cache_write=0)
    assert cost_of_row(table("day", placed(little)).total.all) == "<$0.0001"


def test_an_unknown_price_is_never_zero() -> None:
    unknown = placed(spent_call(model="nobodys-model-1"))
    assert cost_of_row(table("day", unknown).total.all) == "unknown"
    assert cost_of_row(table("day", unknown, placed(spent_call())).total.all).endswith(
        "+"
    )


def test_a_session_is_named_by_what_ullage_context_takes_and_by_its_directory() -> None:
    found = table("session", placed(spent_call(), session="5e0a1c2e-9f"))
    (first,) = [plain(line) for line in usage_lines(found, 100, UNICODE)][1:2]
    assert first.startswith("a1c2e-9f claude-code shop")


def test_the_home_directory_is_written_short() -> None:
    found = table("project", placed(spent_call(), project="/home/ann/shop"))
    first = plain(usage_lines(found, 100, UNICODE, home="/home/ann")[1])
    assert first.startswith("~/shop")
    windows = table("project", placed(spent_call(), project=r"C:\Users\ann\shop"))
    first = plain(usage_lines(windows, 100, UNICODE, home=r"C:\Users\ann")[1])
    assert first.startswith(r"~\shop")
    other = plain(usage_lines(found, 100, UNICODE, home="/home/an")[1])
    assert other.startswith("/home/ann/shop")
