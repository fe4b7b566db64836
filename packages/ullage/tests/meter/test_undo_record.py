"""What a compaction or prune took out of the view comes back exactly as it was."""

from hypothesis import given

from tests.context.sessions import fold_of, reported, turns, words
from tests.meter.histories import histories
from tests.meter.session import said
from ullage.events import (
    CompactionCommitted,
    DroppedMessage,
    Event,
    MessageAdded,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message
from ullage.meter.fold import Fold
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration


def view(fold: Fold) -> list[Message]:
    return [entry.message for entry in fold.view]


def compacted(fold: Fold, name: str, ids: tuple[str, ...], *replaced: Message) -> None:
    summary = said(f"{name}.s", "what was said")
    fold.apply(
        CompactionCommitted(
            compaction=name, summary=summary, summarised=ids, replaced=replaced
        )
    )


def test_uncompact_puts_what_was_added_since_behind_what_was_there() -> None:
    fold = fold_of(*turns(3))
    before = view(fold)
    compacted(fold, "c", ("u0", "a0", "r0", "b0"))
    fold.apply(MessageAdded(message=said("new", "hello")))
    fold.apply(Uncompacted(compaction="c"))
    assert view(fold) == [*before, said("new", "hello")]


def test_uncompacting_an_earlier_compaction_undoes_the_later_ones_first() -> None:
    fold = fold_of(*turns(4))
    before = view(fold)
    compacted(fold, "first", ("u0", "a0", "r0", "b0"))
    compacted(fold, "second", ("first.s", "u1", "a1", "r1", "b1"))
    fold.apply(Uncompacted(compaction="first"))
    assert view(fold) == before
    assert fold.compactions == 0
    fold.apply(Uncompacted(compaction="second"))
    assert view(fold) == before


def test_a_prune_is_undone_by_its_id() -> None:
    fold = fold_of(*turns(3))
    before, tokens = view(fold), fold.forecast().tokens
    fold.apply(Pruned(parts=("r0.result", "r1.result"), prune="p"))
    assert fold.forecast().tokens < tokens
    fold.apply(Uncompacted(compaction="p"))
    assert view(fold) == before
    assert fold.forecast().tokens == tokens
    assert fold.compactions == 0


def test_the_reading_comes_back_with_the_messages_before_a_new_actual() -> None:
    fold = fold_of(*turns(6, size=200))
    reported(fold, "call", off=1.4)
    tokens = fold.forecast().tokens
    compacted(fold, "c", tuple(message.id for message in turns(3)))
    smaller = fold.forecast().tokens
    fold.apply(Uncompacted(compaction="c"))
    assert smaller < tokens
    assert fold.forecast().tokens == tokens


def test_after_a_new_actual_what_comes_back_is_estimated_on_top_of_it() -> None:
    fold = fold_of(*turns(6, size=200))
    compacted(fold, "c", tuple(message.id for message in turns(3)))
    reported(fold, "call")
    smaller = fold.forecast().tokens
    fold.apply(Uncompacted(compaction="c"))
    assert fold.forecast().tokens > smaller + 500


def test_an_answer_that_had_left_is_the_last_answer_again() -> None:
    fold = fold_of(*turns(2))
    reported(fold, "call", output=120)
    fold.apply(
        MessageAdded(message=said("answer", words(60), role="assistant", call="call"))
    )
    tokens = fold.forecast().tokens
    compacted(fold, "c", ("answer",))
    fold.apply(Uncompacted(compaction="c"))
    assert fold.forecast().tokens == tokens
    assert fold.output is not None


def test_a_message_edited_after_it_was_cleared_keeps_the_edit() -> None:
    fold = fold_of(*turns(2))
    fold.apply(Pruned(parts=("r0.result",), prune="p"))
    fold.apply(MessageAdded(message=said("r0", "edited", role="tool")))
    fold.apply(Uncompacted(compaction="p"))
    assert fold.view.entries["r0"].message == said("r0", "edited", role="tool")


def test_a_rewind_is_undone_by_its_name_with_the_reading() -> None:
    fold = fold_of(*turns(4, size=200))
    reported(fold, "call", off=1.4)
    before, tokens = view(fold), fold.forecast().tokens
    fold.apply(Rewound(to="u2", rewind="one"))
    fold.apply(Rewound(to="u1", rewind="two"))
    fold.apply(Uncompacted(compaction="two"))
    fold.apply(Uncompacted(compaction="one"))
    assert (view(fold), fold.forecast().tokens) == (before, tokens)
    assert fold.compactions == 0


def test_undoing_a_compaction_brings_back_nothing_that_a_later_rewind_took() -> None:
    fold = fold_of(*turns(4))
    kept = [message for message in view(fold) if message.id not in ("a3", "r3", "b3")]
    compacted(fold, "c", ("u0", "a0", "r0", "b0"))
    fold.apply(Rewound(to="u3", rewind="one"))
    fold.apply(Uncompacted(compaction="c"))
    assert view(fold) == kept
    fold.apply(Uncompacted(compaction="one"))
    assert view(fold) == kept


def folded(events: list[Event]) -> Fold:
    fold = Fold(
        limits=Limits(),
        calibration=Calibration(),
        estimator="quarter",
        policy=ReasoningPolicy(),
    )
    for event in events:
        fold.apply(event)
    return fold


@given(histories())
def test_whatever_happened_before_a_compaction_and_its_undoing_leave_the_view_as_it_was(
    events: list[Event],
) -> None:
    fold = folded(events)
    before, digest = view(fold), fold.view.digest
    ids = [message.id for message in before]
    fold.apply(
        CompactionCommitted(
            compaction="last",
            summary=said("last.s", "short"),
            summarised=tuple(ids[::3]),
            dropped=tuple(DroppedMessage(id=each, reason="old") for each in ids[1::3]),
            replaced=tuple(said(each, "cut") for each in ids[2::3]),
        )
    )
    fold.apply(Uncompacted(compaction="last"))
    assert view(fold) == before
    assert fold.view.digest == digest


@given(histories())
def test_whatever_happened_before_a_rewind_and_its_undoing_leave_the_view_as_it_was(
    events: list[Event],
) -> None:
    fold = folded(events)
    before, digest = view(fold), fold.view.digest
    middle = before[len(before) // 2].id if before else ""
    fold.apply(Rewound(to=middle, rewind="last"))
    fold.apply(Uncompacted(compaction="last"))
    assert view(fold) == before
    assert fold.view.digest == digest
