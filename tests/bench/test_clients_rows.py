from msgspec.structs import replace
from ullage_simulators.wire import Bill

from bench.clients.lanes import BilledRequest
from bench.clients.parts import BilledParts, Category
from bench.clients.rows import RowResult, row_results, worst
from ullage.meter.meter import Meter
from ullage.meter.reading import Basis, Reading, Row

PARTS: dict[Category, float] = {
    "system prompt": 200,
    "tools": 300,
    "text": 100,
    "tool calls": 50,
    "tool results": 300,
    "reasoning": 40,
    "other": 10,
}
BILL = Bill(1, "openai", "gpt-5", 1_000, 0, 0, 30, 10, 0, 0)
REQUEST = BilledRequest("main", BILL, BilledParts(PARTS, {"shell": 200, "patch": 90}))


def row(name: str, tokens: int, *children: Row, summed: bool = True) -> Row:
    return Row(
        name=name, tokens=tokens, source="estimated", children=children, summed=summed
    )


MESSAGES = row(
    "Messages",
    540,
    row("You", 130),
    row("Tool calls", 50),
    row("Tool results", 310),
    row("Reasoning", 50),
)


def reading(*rows: Row, last_output: int = 30) -> Reading:
    basis = Basis(last_input=1_000, last_output=last_output, new=0, changed=0, removed=0)
    return replace(Meter().reading(), rows=rows, basis=basis)


def off(found: tuple[RowResult, ...]) -> dict[str, float]:
    return {each.name: each.off_percent for each in found if each.off_percent}


def test_each_category_is_compared_in_percent_of_the_bill() -> None:
    found = row_results(
        reading(row("System prompt", 190), row("Tools (2)", 290), MESSAGES), REQUEST
    )
    assert off(found) == {
        "system prompt": -1.0,
        "tools": -1.0,
        "tool results": 1.0,
    }


def test_the_answer_is_in_the_rows_and_its_reasoning_only_if_it_is_sent_back() -> None:
    kept = row_results(reading(MESSAGES), REQUEST)
    assert {"text", "reasoning"}.isdisjoint(off(kept))
    dropped = row_results(reading(MESSAGES, last_output=20), REQUEST)
    assert off(dropped)["reasoning"] == 1.0


def test_tools_are_compared_one_by_one_wherever_they_are_served() -> None:
    server = row("MCP cellar (1)", 100, row("patch", 100))
    tools = row("Tools (2)", 300, server, row("shell", 190))
    found = row_results(reading(tools, MESSAGES), REQUEST)
    assert {each.name: each.tokens for each in found if each.is_tool} == {
        "shell": 190,
        "patch": 100,
    }


def test_a_row_that_is_not_summed_is_no_part_of_the_request() -> None:
    deferred = row("Tools, deferred (9)", 900, summed=False)
    found = row_results(reading(row("Tools (2)", 300), deferred, MESSAGES), REQUEST)
    assert "tools" not in off(found)


def test_what_is_not_in_the_log_is_compared_with_all_that_has_no_row() -> None:
    found = row_results(reading(row("Not in the log", 520), MESSAGES), REQUEST)
    assert {each.name for each in found} == {
        "not in the log",
        "tool calls",
        "tool results",
        "reasoning",
    }
    assert off(found)["not in the log"] == 2.0
    known = reading(row("System prompt", 200), row("Not in the log", 320), MESSAGES)
    assert off(row_results(known, REQUEST)) == off(found)


def test_the_worst_row_is_the_one_with_the_largest_difference_in_either_direction() -> (
    None
):
    low, high = RowResult("text", 1, 9, -8.0), RowResult("tools", 9, 4, 5.0)
    assert worst([high, low]) == low
    assert worst([]) is None
