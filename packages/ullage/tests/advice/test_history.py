"""Each item of a session is followed from the first request that held it to the last."""

import msgspec
from hypothesis import given

from tests.meter.histories import histories
from tests.meter.session import answer, result, said, tool, usage
from ullage.advice.history import WindowHistory, history_of
from ullage.advice.lives import ItemLife
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    Rewound,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import Message, SystemBlock
from ullage.meter.meter import Meter


def started() -> SessionStarted:
    return SessionStarted(
        model="claude-haiku-4-5", wire="messages", provider="anthropic", program="loop 1"
    )


def call(name: str, tokens: int = 1_000) -> list[Event]:
    ended = CallEnded(call=name, usage=usage(tokens, 20))
    return [CallStarted(call=name), ended]


def added(*messages: Message) -> list[Event]:
    return [MessageAdded(message=message) for message in messages]


def item(history: WindowHistory, part: str) -> ItemLife:
    found = [each for each in history.items if each.part == part]
    assert len(found) == 1, (part, found)
    return found[0]


def life(history: WindowHistory, part: str) -> tuple[int, int | None, str]:
    found = item(history, part)
    return found.first_call, found.last_call, found.why_left


def parts_in_view(meter: Meter, but_of: str = "") -> set[tuple[str, str]]:
    parts: set[tuple[str, str]] = set()
    for entry in meter._fold.view:
        if but_of and entry.call == but_of:
            continue
        parts |= {(entry.id, cost.id) for cost in entry.cost.parts}
    return parts


def test_a_message_is_first_in_the_request_of_the_call_after_it() -> None:
    events = [
        started(),
        *added(said("u1", "one")),
        *call("c1"),
        *added(answer("a1", "two", call="c1"), said("u2", "three")),
        *call("c2"),
        *added(answer("a2", "four", call="c2")),
    ]
    history = history_of(events)
    assert life(history, "u1.text") == (1, None, "")
    assert life(history, "a1.text") == (2, None, "")
    assert life(history, "a2.text") == (3, None, "")
    assert history.next_call == 3


def test_an_answer_that_is_logged_before_its_call_ends_was_not_in_its_request() -> None:
    ended = CallEnded(call="c1", usage=usage(100, 5))
    events = [started(), *added(said("u1", "one"), answer("a1", "two", call="c1")), ended]
    history = history_of(events)
    assert life(history, "u1.text") == (1, None, "")
    assert life(history, "a1.text") == (2, None, "")


def test_what_is_compacted_was_held_up_to_the_call_before() -> None:
    compacted = CompactionCommitted(
        compaction="k", summary=said("s", "in short"), summarised=("u1",)
    )
    events = [
        started(),
        *added(said("u1", "one"), said("u2", "two")),
        *call("c1"),
        compacted,
        *call("c2"),
    ]
    history = history_of(events)
    assert life(history, "u1.text") == (1, 1, "compaction")
    assert life(history, "u2.text") == (1, None, "")
    assert life(history, "s.text") == (2, None, "")
    assert history.main_calls[1].marks == ("compaction",)


def test_a_pruned_result_ends_and_its_notice_begins() -> None:
    asked = answer("a1", calls=1, call="c1")
    events = [
        started(),
        *added(said("u1", "one")),
        *call("c1"),
        *added(asked, result("r1", "a1-0", "long " * 500)),
        *call("c2", 2_000),
        Pruned(parts=("r1.result",)),
        *call("c3", 1_500),
    ]
    history = history_of(events)
    content, notice = [each for each in history.items if each.part == "r1.result"]
    assert (content.first_call, content.last_call, content.why_left) == (2, 2, "pruning")
    assert (notice.first_call, notice.last_call) == (3, None)
    assert content.tokens > 10 * notice.tokens


def test_a_rewind_ends_what_came_later_and_an_edit_what_it_replaced() -> None:
    events = [
        started(),
        *added(said("u1", "one"), said("u2", "two")),
        *call("c1"),
        Rewound(to="u1"),
        MessageReplaced(message=said("u1", "uno")),
        *call("c2"),
    ]
    history = history_of(events)
    assert life(history, "u2.text") == (1, 1, "rewind")
    before, after = [each for each in history.items if each.part == "u1.text"]
    assert (before.last_call, before.why_left) == (1, "edit")
    assert (after.first_call, after.last_call) == (2, None)
    assert history.main_calls[1].marks == ("rewind", "edit")


def test_what_no_request_held_is_no_item() -> None:
    events = [started(), *added(said("u1", "one"), said("u2", "two")), Rewound(to="u1")]
    history = history_of([*events, *call("c1")])
    assert [each.part for each in history.items if each.message] == ["u1.text"]


def test_a_changed_tool_ends_and_the_others_live_on() -> None:
    events = [
        started(),
        SystemChanged(system=(SystemBlock(text="Be brief."),)),
        ToolsChanged(tools=(tool("read", "Reads."), tool("write", "Writes."))),
        *added(said("u1", "one")),
        *call("c1"),
        ToolsChanged(tools=(tool("read", "Reads a file."), tool("write", "Writes."))),
        *call("c2"),
    ]
    history = history_of(events)
    assert life(history, "write") == (1, None, "")
    before, after = [each for each in history.items if each.part == "read"]
    assert (before.first_call, before.last_call, before.why_left) == (1, 1, "edit")
    assert (after.first_call, after.last_call) == (2, None)
    assert history.main_calls[1].marks == ("tools",)


def test_a_result_has_the_tool_the_server_the_file_and_the_label_of_its_call() -> None:
    asked = answer("a1", calls=1, call="c1")
    events = [started(), *call("c1"), *added(asked, result("r1", "a1-0", "text"))]
    found = item(history_of(events), "r1.result")
    assert (found.tool, found.path, found.label) == ("read", "a.py", "read a.py")


def test_a_call_has_its_cost_and_cache_and_a_side_call_its_purpose() -> None:
    events = [
        started(),
        *added(said("u1", "word " * 1_000)),
        CallStarted(call="c1", at=7.0),
        CallEnded(call="c1", usage=usage(1_000, 0)),
        CallEnded(call="t1", purpose="title", usage=usage(10, 1)),
    ]
    main, title = history_of(events).calls
    assert (main.number, main.purpose, main.at) == (1, "main", 7.0)
    assert main.usd is not None
    assert round(main.usd, 6) == 0.001
    assert (title.number, title.purpose, title.used) == (1, "title", 10)


def test_without_content_no_word_of_the_session_is_left() -> None:
    asked = answer("a1", calls=1, call="c1")
    block = SystemBlock(text="Be brief.", name="/x/a.py", kind="instructions")
    events = [started(), SystemChanged(system=(block,)), *call("c1")]
    events += added(asked, result("r1", "a1-0", "text"))
    history = history_of(events).without_content()
    assert b"a.py" not in msgspec.json.encode(history)


@given(histories())
def test_items_of_the_next_request_sum_to_the_reading(events: list[Event]) -> None:
    meter = Meter()
    history = history_of(events, meter)
    reading = meter.reading()
    live = [each for each in history.items if each.last_call is None and each.is_summed]
    assert sum(each.tokens for each in live) == reading.used.tokens == history.used
    for row in reading.rows:
        if row.name == "Messages" or not row.summed:
            continue
        held = [each for each in live if each.category == row.name.split(" (")[0]]
        assert sum(each.tokens for each in held) == row.tokens, row.name


@given(histories())
def test_items_of_a_call_are_those_in_view_at_its_start(events: list[Event]) -> None:
    history = history_of(events)
    ended = {each.call for each in events if isinstance(each, CallEnded)}
    begun: set[str] = set()
    meter = Meter()
    for event in events:
        is_start = isinstance(event, CallStarted) and event.call in ended
        is_end = isinstance(event, CallEnded) and event.call not in begun
        if (is_start or is_end) and isinstance(event, CallStarted | CallEnded):
            begun.add(event.call)
            held: set[tuple[str, str]] = set()
            for each in history.items:
                is_held = each.is_held_at(len(begun)) and each.category != "Reasoning"
                if each.message and is_held:
                    held.add((each.message, each.part))
            assert held == parts_in_view(meter, but_of=event.call if is_end else "")
        meter.apply(event)


@given(histories())
def test_following_a_session_changes_nothing_of_its_reading(events: list[Event]) -> None:
    meter, plain = Meter(), Meter()
    history_of(events, meter)
    for event in events:
        plain.apply(event)
    assert meter.reading() == plain.reading()
