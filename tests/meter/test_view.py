from tests.meter.session import answer, result, said
from ullage.messages import Message
from ullage.meter.forecast import Forecaster
from ullage.meter.origin import Origin
from ullage.meter.view import Entry, Facts, View

FORECASTER = Forecaster("messages", "anthropic", "claude-haiku-4-5", "pretoken")


def added(view: View, message: Message) -> Entry:
    return view.add(message, FORECASTER.message(message, view.tool_names), opening=1.0, origin=Origin(view.orders + 1))


def test_taking_out_and_putting_back_leaves_the_sums_as_they_were() -> None:
    view = View()
    for message in (said("u", "a question"), answer("a", "text", calls=1), result("r", "a-0", "shown")):
        added(view, message)
    before = view.tokens, view.opening, view.digest, {row: dict(names) for row, names in view.rows.items()}
    taken = view.remove("r")
    assert taken is not None
    assert view.holders == {}
    view.put_back(taken)
    assert view.holders == {"r.result": "r"}
    assert (view.tokens, view.opening, view.digest, view.rows) == before


def test_text_beside_a_result_is_no_result() -> None:
    view = View()
    added(view, said("t", "a note of the tool", role="tool"))
    assert view.holders == {}


class FakeSource:
    """Stored facts and a message, and what of them was asked for."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.asked: list[str] = []

    def facts(self, place: int) -> Facts:
        self.asked.append("facts")
        return self.entry.facts

    def message(self, place: int) -> Message:
        self.asked.append("message")
        return self.entry.message


def test_a_stored_entry_asks_for_its_facts_and_its_message_once_and_when_they_are_wanted() -> None:
    source = FakeSource(added(View(), said("u", "a question")))
    entry = Entry("u", 1, source, 0)
    assert (entry.id, entry.order, source.asked) == ("u", 1, [])
    assert (entry.role, entry.call, entry.origin, entry.opening) == ("user", "", Origin(1), 1.0)
    assert entry.cost == source.entry.cost
    assert source.asked == ["facts"]
    assert entry.message is source.entry.message
    assert entry.message.id == "u"
    assert source.asked == ["facts", "message"]


def test_the_same_message_entered_at_another_time_is_another_entry() -> None:
    entry = added(View(), said("u", "a question"))
    later = entry.with_order(9)
    assert (later.order, entry.order) == (9, 1)
    assert (later.message, later.facts) == (entry.message, entry.facts)
    assert later != entry
