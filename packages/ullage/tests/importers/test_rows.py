import pytest

from tests.importers.folding import Folded
from ullage.events import CallEnded, LimitLearnt, ModelChanged, SessionStarted
from ullage.importers.rows import EventWriter
from ullage.messages import (
    Message,
    ProviderItem,
    SystemBlock,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.usage import Usage


def said(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}/0", text=name),))


def filled() -> EventWriter:
    rows = EventWriter("s")
    for name in ("a", "b", "c", "d"):
        rows.add(said(name))
    return rows


def test_events_wait_for_the_model_so_that_the_first_one_names_it() -> None:
    rows = filled()
    assert rows.take() == []
    rows.use_model("m-1", "chat", "p")
    first = rows.take()[0]
    assert isinstance(first, SessionStarted)
    assert (first.model, first.wire, first.provider) == ("m-1", "chat", "p")
    rows.use_model("m-2", "chat", "p")
    assert [type(event) for event in rows.take()] == [ModelChanged]


def test_without_any_model_the_events_come_at_the_end() -> None:
    assert len(filled().take(final=True)) == 5


def test_ids_are_made_unique() -> None:
    rows = filled()
    assert rows.unique("a") == "a@2"
    assert rows.unique("new") == "new"
    rows.call("x", None, None)
    rows.call("x", None, None)
    assert [call.call for call in Folded(rows.take(final=True)).calls] == ["x", "x@2"]


def test_what_does_not_change_makes_no_event() -> None:
    rows = filled()
    rows.use_model("m", "chat", "p")
    rows.use_system([SystemBlock(text="a")])
    rows.learn_window("m", 100)
    rows.take()
    rows.use_model("m", "chat", "p")
    rows.use_system([SystemBlock(text="a")])
    rows.learn_window("m", 100)
    rows.learn_window("m", None)
    rows.use_params({})
    rows.prune(rows.results_of(["nothing"]))
    assert rows.rewind("d")
    assert rows.take() == []
    rows.learn_window("m", 200)
    assert [type(event) for event in rows.take()] == [LimitLearnt]


def test_a_rewind_behind_compactions_undoes_them_in_order() -> None:
    rows = filled()
    rows.compact(Message(id="s1", role="user", origin="summary"), keep={"d"})
    rows.add(said("e"))
    rows.compact(Message(id="s2", role="user", origin="summary"), keep={"e"})
    rows.add(said("f"))
    assert list(rows.view) == ["s2", "e", "f"]
    assert rows.rewind("b")
    assert Folded(rows.take(final=True)).view == list(rows.view) == ["a", "b"]


def test_a_rewind_to_the_start_undoes_everything() -> None:
    rows = filled()
    rows.compact(None, keep={"c"})
    assert rows.rewind("")
    assert Folded(rows.take(final=True)).view == []


def test_a_rewind_to_what_was_never_said_is_refused() -> None:
    rows = filled()
    assert not rows.rewind("z")
    assert list(rows.view) == ["a", "b", "c", "d"]


def test_of_several_messages_the_last_in_view_is_gone_back_to() -> None:
    rows = filled()
    rows.compact(Message(id="s", role="user", origin="summary"), keep={"c", "d"})
    rows.rewind_to_last(["c", "s"])
    assert list(rows.view) == ["s", "c"]


def test_a_call_starts_when_it_was_asked_and_ends_now() -> None:
    rows = EventWriter("s")
    rows.at = 50.0
    rows.call("c", said("x"), Usage(input=1), started=40.0)
    events = rows.take(final=True)
    assert [event.at for event in events[1:]] == [40.0, 50.0, 50.0]


def asking(rows: EventWriter, *calls: str) -> None:
    """A model call whose answer calls these tools."""
    parts = tuple(
        ToolCallPart(id=f"a-{call}", call_id=call, name="Read") for call in calls
    )
    rows.call(
        f"ask-{calls[0]}",
        Message(id=f"a-{calls[0]}", role="assistant", parts=parts),
        None,
    )


def test_a_result_that_the_log_leaves_out_is_an_item_of_unknown_content() -> None:
    rows = EventWriter("s")
    asking(rows, "1", "2")
    given = ToolResultPart(id="r", call_id="1")
    rows.add(Message(id="r", role="tool", parts=(given,)))
    asking(rows, "3")
    folded = Folded(rows.take(final=True))
    kinds = [type(part) for name in folded.view for part in folded.messages[name].parts]
    assert kinds == [
        ToolCallPart,
        ToolCallPart,
        ToolResultPart,
        ProviderItem,
        ToolCallPart,
    ]
    assert rows.missing_results == 1


def test_calls_that_left_the_view_need_no_results() -> None:
    rows = EventWriter("s")
    rows.add(Message(id="p", role="user", parts=(TextPart(id="p0", text="Hello."),)))
    asking(rows, "1")
    rows.rewind("p")
    asking(rows, "2")
    assert rows.missing_results == 0


@pytest.mark.parametrize(
    ("error", "counted", "limits"),
    [
        (
            'API Error: 400 {"message":"prompt is too long: 215692 tokens > 200000 maximum"}',
            215_692,
            [(200_000, None)],
        ),
        (
            "prompt token count of 135101 exceeds the limit of 128000",
            135_101,
            [(None, 128_000)],
        ),
        ("Your input exceeds the context window of this model.", None, []),
        ("rate limit exceeded: 30000 tokens per minute", None, []),
        ("sent message larger than max (9 vs. 5)", None, []),
    ],
)
def test_a_failed_call_says_the_size_and_the_limit_that_its_error_names(
    error: str, counted: int | None, limits: list[tuple[int | None, int | None]]
) -> None:
    rows = EventWriter()
    rows.use_model("m", "messages", "anthropic")
    rows.call("", None, None, outcome="failed", error=error)
    events = rows.take()
    ended = [event for event in events if isinstance(event, CallEnded)]
    assert [event.counted for event in ended] == [counted]
    learnt = [event for event in events if isinstance(event, LimitLearnt)]
    assert [(event.window, event.input_cap) for event in learnt] == limits
