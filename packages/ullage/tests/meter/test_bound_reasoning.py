"""Reasoning that is bound to what stood in front of it: it is sent and counted as long as that is what it was."""

from collections.abc import Sequence

import msgspec
import pytest

from tests.meter.session import said, tool
from ullage.events import (
    CallEnded,
    CallStarted,
    CompactionCommitted,
    EpochChanged,
    Event,
    Fingerprint,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    PolicyChanged,
    Pruned,
    ReasoningRefused,
    Rewound,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
    Uncompacted,
)
from ullage.messages import (
    COMPACTION,
    Message,
    ProviderData,
    ProviderItem,
    ReasoningPart,
    SystemBlock,
    TextPart,
    ToolResultPart,
)
from ullage.meter.meter import Meter
from ullage.usage import Usage

MODEL = "claude-fable-5-2"
SYSTEM = (SystemBlock(text="Keep the casks."),)


def thought(name: str, call: str | None, model: str = MODEL) -> Message:
    raw = msgspec.Raw(b'{"signature":"s"}')
    data = ProviderData(data=raw, provider="anthropic", wire="messages", model=model)
    return Message(
        id=name,
        role="assistant",
        call=call,
        parts=(
            ReasoningPart(id=f"{name}.r", text="think " * 40, provider=data),
            TextPart(id=f"{name}.t", text="Done."),
        ),
    )


def turn(number: int, model: str = MODEL) -> list[Event]:
    """A question, the call that answers it, and the answer with reasoning."""
    call = f"c{number}"
    return [
        MessageAdded(message=said(f"q{number}", "How full is it?")),
        CallStarted(call=call, fingerprint=Fingerprint(model=model)),
        CallEnded(call=call, usage=Usage(input=900 * number, output=100, reasoning=60)),
        MessageAdded(message=thought(f"a{number}", call, model)),
    ]


def begun(model: str = MODEL) -> list[Event]:
    started = SessionStarted(model=model, wire="messages", provider="anthropic")
    return [started, SystemChanged(system=SYSTEM), ToolsChanged(tools=(tool("read"),))]


def metered(events: Sequence[Event]) -> Meter:
    meter = Meter()
    for number, event in enumerate(events, 1):
        meter.emit(msgspec.structs.replace(event, seq=number))
    return meter


def session(turns: int = 3, *then: Event, model: str = MODEL) -> Meter:
    events = begun(model)
    for number in range(1, turns + 1):
        events += turn(number, model)
    return metered([*events, *then])


def compacted(
    summary: Message, *gone: str, replaced: tuple[Message, ...] = ()
) -> CompactionCommitted:
    return CompactionCommitted(
        compaction="k", summary=summary, summarised=gone, replaced=replaced
    )


def signed(name: str = "s") -> Message:
    """A compaction that the provider wrote."""
    raw = msgspec.Raw(b'{"type":"compaction","signature":"x"}')
    data = ProviderData(data=raw, provider="anthropic", wire="messages", model=MODEL)
    item = ProviderItem(id=f"{name}.0", kind=COMPACTION, text="All full.", provider=data)
    return Message(id=name, role="user", origin="summary", parts=(item,))


CHANGES: dict[str, tuple[Event, set[str]]] = {
    "system": (SystemChanged(system=(SystemBlock(text="Other."),)), {"a1", "a2", "a3"}),
    "tools": (ToolsChanged(tools=(tool("read"), tool("write"))), {"a1", "a2", "a3"}),
    "policy": (PolicyChanged(strip="all_but_last"), {"a1", "a2", "a3"}),
    "an edited question": (MessageReplaced(message=said("q2", "Another?")), {"a2", "a3"}),
    "our own summary": (compacted(said("s", "All full."), "q1", "a1"), {"a2", "a3"}),
    "a rewind": (Rewound(to="a2"), set()),
    "a tool that is found by search": (
        ToolsChanged(
            tools=(tool("read"), msgspec.structs.replace(tool("find"), deferred=True))
        ),
        set(),
    ),
    "the provider's compaction": (compacted(signed(), "q1", "a1", "q2"), set()),
    "one that keeps whole turns": (compacted(signed(), "q1", "a1"), set()),
    "one with a change in what stays": (
        compacted(signed(), "q1", "a1", "q2", replaced=(said("q3", "Shorter?"),)),
        {"a2", "a3"},
    ),
    "one that leaves a message in front": (compacted(signed(), "a1", "q2"), {"a2", "a3"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_unbinds_exactly_the_reasoning_behind_it(change: str) -> None:
    event, unbound = CHANGES[change]
    meter = session(3, event)
    assert meter.policy.unbound == unbound
    in_view = {message.id for message in meter.messages}
    carried = set(meter._fold.reasoning.tokens)
    assert carried == (in_view & {"a1", "a2", "a3"}) - unbound


def test_a_compaction_that_ends_between_two_user_messages_keeps_nothing() -> None:
    more = MessageAdded(message=said("more", "And this?"))
    events = [*begun(), MessageAdded(message=said("q0", "A cask?")), more, *turn(1)[1:]]
    meter = metered([*events, compacted(signed(), "q0")])
    assert meter.policy.unbound == {"a1"}


def test_what_is_written_behind_a_compaction_is_valid_behind_it_alone() -> None:
    meter = session(3, compacted(signed(), "q1", "a1", "q2"), *turn(4))
    assert meter.policy.unbound == frozenset()
    meter.emit(Uncompacted(compaction="k"))
    assert meter.policy.unbound == {"a4"}


def test_reasoning_outlives_a_second_compaction_of_the_provider() -> None:
    again = CompactionCommitted(
        compaction="k2", summary=signed("s2"), summarised=("s", "a2", "q3")
    )
    meter = session(3, compacted(signed(), "q1", "a1", "q2"), *turn(4), again, *turn(5))
    assert meter.policy.unbound == frozenset()
    assert set(meter._fold.reasoning.tokens) == {"a3", "a4", "a5"}


def test_an_undo_binds_again_what_a_change_unbound() -> None:
    meter = session(3, compacted(said("s", "All full."), "q1", "a1"), *turn(4))
    assert meter.policy.unbound == {"a2", "a3"}
    meter.emit(Uncompacted(compaction="k"))
    assert meter.policy.unbound == {"a4"}


def test_clearing_a_result_unbinds_what_came_after_and_lowers_the_reading() -> None:
    content = (TextPart(id="x.t", text="full " * 300),)
    part = ToolResultPart(id="x", call_id="a1-0", name="read", content=content)
    result = MessageAdded(message=Message(id="r1", role="tool", parts=(part,)))
    meter = metered([*begun(), *turn(1), result, *turn(2), *turn(3)])
    before = meter._fold.earlier_reasoning(with_last=True)
    meter.emit(Pruned(parts=("x",), prune="p"))
    assert meter.policy.unbound == {"a2", "a3"}
    assert before == 180
    assert meter._fold.earlier_reasoning(with_last=True) == 60
    meter.emit(Uncompacted(compaction="p"))
    assert meter.policy.unbound == frozenset()


def test_reasoning_of_a_model_that_binds_none_is_never_unbound() -> None:
    meter = session(
        2, SystemChanged(system=(SystemBlock(text="Other."),)), model="claude-opus-5"
    )
    assert meter.policy.unbound == frozenset()


def test_what_another_model_wrote_is_judged_by_that_model() -> None:
    there = ModelChanged(model="claude-fable-5-2")
    meter = session(2, there, *turn(3), model="claude-opus-5")
    meter.emit(SystemChanged(system=(SystemBlock(text="Other."),)))
    assert meter.policy.unbound == {"a3"}


def test_after_a_refusal_nothing_of_it_is_sent_and_the_model_is_known_to_bind() -> None:
    meter = session(2, model="claude-opus-9")
    assert meter.policy.unbound == frozenset()
    meter.emit(ReasoningRefused(call="c3", model="claude-opus-9"))
    assert meter.policy.unbound == {"a1", "a2"}
    for event in turn(3, "claude-opus-9"):
        meter.emit(event)
    assert meter.policy.unbound == {"a1", "a2"}
    meter.emit(SystemChanged(system=(SystemBlock(text="Other."),)))
    assert meter.policy.unbound == {"a1", "a2", "a3"}


def test_answers_of_a_log_that_is_continued_are_behind_a_head_that_nobody_knows() -> None:
    log: list[Event] = [
        SessionStarted(model=MODEL, wire="messages", provider="anthropic", program="x"),
        MessageAdded(message=said("q1", "How full?")),
        CallStarted(call="c1"),
        CallEnded(call="c1", usage=Usage(input=9_000, output=100, reasoning=60)),
        MessageAdded(message=thought("a1", "c1")),
    ]
    meter = metered(log)
    assert meter.policy.unbound == frozenset(), "its own program sends it"
    for event in [*begun()[1:], *turn(2)]:
        meter.emit(event)
    meter.emit(PolicyChanged())
    assert meter.policy.unbound == {"a1"}


def test_a_caller_s_own_history_is_valid_until_something_changes_in_it() -> None:
    body = {
        "model": MODEL,
        "max_tokens": 100,
        "system": "Keep the casks.",
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "How full?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "", "signature": "s"},
                    {"type": "text", "text": "Full."},
                ],
            },
            {"role": "user", "content": "And now?"},
        ],
    }
    meter = Meter()
    meter.before(body)
    assert meter.policy.unbound == frozenset()
    meter.before({**body, "system": "Sell the casks."})
    assert len(meter.policy.unbound) == 1


def test_a_model_that_leaves_reasoning_out_by_itself_is_still_sent_it() -> None:
    events = turn(1, "gpt-6.2-astra")
    answer = events[-1]
    assert isinstance(answer, MessageAdded)
    data = ProviderData(
        data=msgspec.Raw(b'{"encrypted_content":"e"}'),
        provider="openai",
        wire="responses",
        model="gpt-6.2-astra",
    )
    part = ReasoningPart(id="a1.r", provider=data)
    message = msgspec.structs.replace(answer.message, parts=(part,))
    start = SessionStarted(model="gpt-6.2-astra", wire="responses", provider="openai")
    meter = metered([start, *begun()[1:], *events[:-1], MessageAdded(message=message)])
    assert set(meter._fold.reasoning.tokens) == {"a1"}
    meter.emit(SystemChanged(system=(SystemBlock(text="Other."),)))
    assert set(meter._fold.reasoning.tokens) == {"a1"}, "instructions come last there"
    meter.emit(ToolsChanged(tools=()))
    assert meter.policy.unbound == frozenset()
    assert meter._fold.reasoning.tokens == {}, "and yet no input counts it"


def test_what_a_change_makes_unsendable_is_summed_until_the_next_epoch() -> None:
    other = SystemChanged(system=(SystemBlock(text="Other."),))
    meter = session(3, other)
    each = 50
    assert meter._fold.reasoning_lost == pytest.approx(3 * each, rel=0.1)
    meter.emit(SystemChanged(system=SYSTEM))
    assert meter._fold.reasoning_lost == 0
    meter.emit(compacted(said("s", "All full."), "q1", "a1"))
    assert meter._fold.reasoning_lost == pytest.approx(2 * each, rel=0.1)
    meter.emit(EpochChanged(epoch=1, reason="summary"))
    assert meter._fold.reasoning_lost == 0
    meter.emit(Rewound(to="a2"))
    assert meter._fold.reasoning_lost == 0


def test_what_the_application_does_not_send_is_not_lost() -> None:
    other = SystemChanged(system=(SystemBlock(text="Other."),))
    strips = PolicyChanged(strip="all_but_last")
    meter = metered([*begun(), strips, *turn(1), *turn(2), other])
    assert meter._fold.reasoning_lost == pytest.approx(50, rel=0.1)
    meter = metered([*begun(), PolicyChanged(strip="all"), *turn(1), other])
    assert meter._fold.reasoning_lost == 0


def test_what_a_compaction_adds_is_at_the_end_and_leaves_with_its_undo() -> None:
    added = (said("k.added", "The rules."), said("k.request", "How full is it?"))
    event = msgspec.structs.replace(compacted(signed(), "q1", "a1", "q2"), added=added)
    meter = session(3, event, *turn(4))
    ids = [message.id for message in meter.messages]
    assert ids == ["s", "a2", "q3", "a3", "k.added", "k.request", "q4", "a4"]
    assert meter.policy.unbound == frozenset()
    meter.emit(Uncompacted(compaction="k"))
    ids = [message.id for message in meter.messages]
    assert ids == ["q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"]
