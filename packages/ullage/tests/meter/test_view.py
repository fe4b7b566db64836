from tests.meter.session import answer, result, said
from ullage.messages import Message, ToolResultPart
from ullage.meter.forecast import Forecaster
from ullage.meter.view import ContentLocation, Entry, View, cleared

FORECASTER = Forecaster("messages", "anthropic", "claude-haiku-4-5", "pretoken")


def added(view: View, message: Message) -> Entry:
    return view.add(
        message,
        FORECASTER.message(message, view.tool_names),
        opening=1.0,
        origin=ContentLocation(view.orders + 1),
    )


def test_taking_out_and_putting_back_leaves_the_sums_as_they_were() -> None:
    view = View()
    for message in (
        said("u", "a question"),
        answer("a", "text", calls=1),
        result("r", "a-0", "shown"),
    ):
        added(view, message)
    before = (
        view.tokens,
        view.opening,
        view.digest,
        {row: dict(names) for row, names in view.rows.items()},
    )
    taken = view.remove("r")
    assert taken is not None
    assert (view.results, view.holders(["r.result"])) == (0, {})
    view.put_back(taken)
    assert (view.results, view.holders(["r.result", "other"])) == (1, {"r": {"r.result"}})
    assert (view.tokens, view.opening, view.digest, view.rows) == before


def test_text_beside_a_result_is_no_result() -> None:
    view = View()
    added(view, said("t", "a note of the tool", role="tool"))
    assert (view.results, view.holders(["t.text"])) == (0, {})


def test_the_same_message_entered_at_another_time_is_another_entry() -> None:
    entry = added(View(), said("u", "a question"))
    later = entry.with_order(9)
    assert (later.order, entry.order) == (9, 1)
    assert (later.message, later.facts) == (entry.message, entry.facts)
    assert later != entry


def test_a_cleared_result_holds_the_notice_and_keeps_its_call() -> None:
    before = result("r", "call-1", "a long text")
    after = cleared(before, ["r.result"], "[cleared]")
    (part,) = after.of_type(ToolResultPart)
    assert part.text == "[cleared]"
    assert part.cleared is True
    assert part.call_id == "call-1"
    assert part.name == "read"
    assert (after.revision, part.revision) == (before.revision + 1, 1)


def test_results_that_are_not_named_stay_as_they_are() -> None:
    before = result("r", "call-1", "a long text")
    assert cleared(before, ["another"], "[cleared]").parts == before.parts
