import pytest
from msgspec.structs import replace

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.proof import prove
from ullage.context.situation import Situation
from ullage.events import CompactionCommitted, DroppedMessage, Pruned
from ullage.messages import Message


def situation(**more: object) -> Situation:
    return Situation(fold=fold_of(*turns(20, size=200)), **more)  # type: ignore[arg-type]


ALL_BUT_LAST = tuple(message.id for message in turns(19))


def committed(
    gone: tuple[str, ...] = ALL_BUT_LAST,
    *replaced: Message,
    text: str = "what was said",
    lost: tuple[str, ...] = (),
) -> CompactionCommitted:
    return CompactionCommitted(
        compaction="c",
        summary=said("c.summary", text) if text else None,
        summarised=gone,
        dropped=tuple(DroppedMessage(id=each, reason="old") for each in lost),
        replaced=replaced,
    )


def test_what_fits_is_proved_with_the_reading_that_will_be() -> None:
    of = situation()
    verdict = prove(of, committed())
    assert verdict.is_proved
    of.fold.apply(committed())
    assert (verdict.after, verdict.high) == (
        of.fold.forecast().tokens,
        of.fold.forecast().high,
    )


def reason(
    of: Situation, event: CompactionCommitted | Pruned, *, must_fit_only: bool = False
) -> str:
    verdict = prove(of, event, must_fit_only=must_fit_only)
    assert verdict.note
    return verdict.reason or ""


@pytest.mark.parametrize(
    "event",
    [
        committed((*ALL_BUT_LAST, "u0")),
        committed(lost=("u0",)),
        committed(("nobody",)),
        committed(text=""),
        replace(committed(()), dropped=(DroppedMessage(id="u0", reason=""),)),
    ],
    ids=["twice", "also dropped", "not in view", "without a summary", "without a reason"],
)
def test_every_message_is_accounted_for_once(event: CompactionCommitted) -> None:
    assert reason(situation(), event) == "uncovered"


def test_what_must_stay_can_not_leave_nor_change() -> None:
    assert reason(situation(), committed((*ALL_BUT_LAST, "u19"))) == "touched"
    assert reason(situation(pins=frozenset({"u3"})), committed()) == "touched"
    cut = committed(ALL_BUT_LAST, said("b19", "cut", role="assistant"))
    assert reason(situation(pins=frozenset({"b19"})), cut) == "touched"


def test_a_kept_message_may_get_shorter_but_its_calls_stay() -> None:
    of = situation()
    old = of.fold.view.entries["a19"].message
    new = replace(old, revision=1)
    assert prove(of, committed(ALL_BUT_LAST, new)).is_proved
    assert reason(of, committed(ALL_BUT_LAST, replace(new, parts=()))) == "touched"
    assert reason(of, committed(ALL_BUT_LAST, old)) == "touched"


def test_a_call_torn_from_its_result_is_invalid() -> None:
    gone = tuple(each for each in ALL_BUT_LAST if each != "r5")
    assert reason(situation(), committed(gone)) == "invalid"


def test_too_large_above_the_point_and_too_little_saved() -> None:
    huge, little = committed(text=words(20_000)), committed(("u0",))
    assert reason(situation(), huge) == "too_large"
    assert reason(situation(), huge, must_fit_only=True) == "too_large"
    large = Situation(fold=fold_of(*turns(20, size=200), window=100_000))
    assert reason(large, little) == "no_progress"
    assert prove(large, little, must_fit_only=True).is_proved
    near = Situation(fold=fold_of(*turns(20, size=200), window=9_500))
    assert reason(near, little) in ("too_large", "above_point")


def test_bytes_count_where_a_limit_on_them_is_known() -> None:
    assert reason(situation(bytes_limit=1_000), committed()) == "bytes"


def test_pruning_may_touch_results_only_and_no_pinned_ones() -> None:
    assert reason(situation(), Pruned(parts=("u0.text",))) == "touched"
    assert reason(situation(), Pruned(parts=())) == "nothing_to_do"
    result = Pruned(parts=("r0.result",))
    assert reason(situation(pins=frozenset({"r0"})), result) == "touched"
    assert reason(situation(), result) in ("above_point", "no_progress", "")
