import pytest
from hypothesis import given

from tests.context.sessions import fold_of, reported, turns, words
from tests.meter.histories import histories
from tests.meter.session import said
from ullage.context.costs import after, count_images, reading_after, size_bytes, sizes_of
from ullage.events import CompactionCommitted, Event, InputCounted, Pruned
from ullage.messages import ImagePart, Message, TextPart, ToolResultPart
from ullage.meter.fold import Fold
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration


def test_the_sizes_of_all_messages_and_what_is_fixed_sum_to_the_reading() -> None:
    fold = fold_of(*turns(5), system=words(300))
    for off in (1.0, 1.3):
        sizes = sizes_of(fold)
        assert round(sizes.fixed + sizes.messages) == sizes.used == fold.forecast().tokens
        reported(fold, "call", off=off)


def test_the_reading_after_an_event_is_the_reading_once_it_has_happened() -> None:
    fold = fold_of(*turns(5))
    reported(fold, "call", off=1.2)
    event = CompactionCommitted(
        compaction="c", summary=said("s", words(30)), summarised=("u0", "a0", "r0", "b0")
    )
    promised = reading_after(fold, (event,))
    fold.apply(event)
    assert fold.forecast() == promised


def test_a_branch_leaves_the_fold_as_it_was() -> None:
    fold = fold_of(*turns(5))
    before = (
        fold.forecast(),
        fold.view.digest,
        fold.compactions,
        dict(fold.view.rows["You"]),
    )
    after(
        fold,
        (
            Pruned(parts=("r0.result",), prune="p"),
            CompactionCommitted(compaction="c", summarised=("u0",)),
        ),
    )
    assert (
        fold.forecast(),
        fold.view.digest,
        fold.compactions,
        dict(fold.view.rows["You"]),
    ) == before


@given(histories())
def test_the_promised_reading_is_the_reading(events: list[Event]) -> None:
    fold = Fold(
        limits=Limits(),
        calibration=Calibration(),
        estimator="quarter",
        policy=ReasoningPolicy(),
    )
    for event in events:
        fold.apply(event)
    untouched = fold.forecast()
    ids = tuple(entry.message.id for entry in fold.view)[::2]
    last = CompactionCommitted(
        compaction="last",
        summary=said("last.s", "short"),
        summarised=ids,
        summary_tokens=7,
    )
    promised = reading_after(fold, (last,))
    assert fold.forecast() == untouched
    fold.apply(last)
    assert fold.forecast() == promised


def test_bytes_are_those_of_texts_as_utf8_and_of_images_as_base64() -> None:
    assert size_bytes(said("m", "ü" * 1000)) > 2_000
    image = ImagePart(id="i", size_bytes=3_000)
    assert 4_000 <= size_bytes(Message(id="m", role="user", parts=(image,))) < 4_500


def test_images_in_results_are_counted_too() -> None:
    inside = ToolResultPart(
        id="r", call_id="c", content=(ImagePart(id="i1"), TextPart(id="t", text="x"))
    )
    assert (
        count_images(Message(id="m", role="tool", parts=(inside, ImagePart(id="i2"))))
        == 2
    )


def test_a_count_of_a_first_request_says_how_far_all_of_it_was_off() -> None:
    fold = fold_of(*turns(3), system=words(300))
    before = sizes_of(fold)
    fold.apply(InputCounted(tokens=round(1.4 * before.used)))
    counted = sizes_of(fold)
    assert counted.messages == pytest.approx(1.4 * before.messages, rel=0.01)


def test_before_a_report_no_message_is_taken_for_what_is_fixed() -> None:
    """A history from elsewhere has no actual: what is fixed is the same as without it."""
    fixed = sizes_of(fold_of()).fixed
    sizes = sizes_of(fold_of(*turns(300, size=200)))
    assert sizes.used > 50_000
    assert abs(sizes.fixed - fixed) < 2
