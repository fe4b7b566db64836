from msgspec.structs import replace

from tests.context.sessions import fold_of, turns, words
from tests.meter.session import said
from ullage.context.proof import ProofResult, prove
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


def test_what_fits_and_accounts_for_everything_is_proved_with_the_reading_that_will_be() -> (
    None
):
    of = situation()
    verdict = prove(of, committed())
    assert verdict.is_proved
    of.fold.apply(committed())
    assert (verdict.after, verdict.high) == (
        of.fold.forecast().tokens,
        of.fold.forecast().high,
    )


def reason(verdict: ProofResult) -> str:
    assert verdict.note
    return verdict.reason or ""


def test_a_message_named_twice_or_not_in_view_is_unaccounted_for() -> None:
    assert reason(prove(situation(), committed((*ALL_BUT_LAST, "u0")))) == "uncovered"
    assert (
        reason(prove(situation(), committed(ALL_BUT_LAST, lost=("u0",)))) == "uncovered"
    )
    assert reason(prove(situation(), committed(("nobody",)))) == "uncovered"


def test_what_is_summarised_needs_a_summary_and_what_is_dropped_a_reason() -> None:
    assert reason(prove(situation(), committed(text=""))) == "uncovered"
    event = replace(committed(()), dropped=(DroppedMessage(id="u0", reason=""),))
    assert reason(prove(situation(), event)) == "uncovered"


def test_what_must_stay_can_not_leave_nor_change() -> None:
    assert reason(prove(situation(), committed((*ALL_BUT_LAST, "u19")))) == "touched"
    assert reason(prove(situation(pins=frozenset({"u3"})), committed())) == "touched"
    pinned = situation(pins=frozenset({"b19"}))
    assert (
        reason(
            prove(pinned, committed(ALL_BUT_LAST, said("b19", "cut", role="assistant")))
        )
        == "touched"
    )


def test_a_kept_message_may_get_shorter_but_its_calls_stay() -> None:
    of = situation()
    old = of.fold.view.entries["a19"].message
    new = replace(old, revision=1)
    assert prove(of, committed(ALL_BUT_LAST, new)).is_proved
    assert reason(prove(of, committed(ALL_BUT_LAST, replace(new, parts=())))) == "touched"
    assert reason(prove(of, committed(ALL_BUT_LAST, old))) == "touched"


def test_a_call_torn_from_its_result_is_invalid() -> None:
    gone = tuple(each for each in ALL_BUT_LAST if each != "r5")
    assert reason(prove(situation(), committed(gone))) == "invalid"


def test_too_large_above_the_point_and_too_little_saved() -> None:
    of = situation()
    assert reason(prove(of, committed(text=words(20_000)))) == "too_large"
    large = Situation(fold=fold_of(*turns(20, size=200), window=100_000))
    assert reason(prove(large, committed(("u0",)))) == "no_progress"
    near = Situation(fold=fold_of(*turns(20, size=200), window=11_000))
    assert reason(prove(near, committed(("u0",)))) in ("too_large", "above_point")


def test_the_last_way_out_only_has_to_fit() -> None:
    large = Situation(fold=fold_of(*turns(20, size=200), window=100_000))
    assert prove(large, committed(("u0",)), must_fit_only=True).is_proved
    assert (
        reason(prove(situation(), committed(text=words(20_000)), must_fit_only=True))
        == "too_large"
    )


def test_bytes_count_where_a_limit_on_them_is_known() -> None:
    assert reason(prove(situation(bytes_limit=1_000), committed())) == "bytes"


def test_pruning_may_touch_results_only_and_no_pinned_ones() -> None:
    assert reason(prove(situation(), Pruned(parts=("u0.text",)))) == "touched"
    assert reason(prove(situation(), Pruned(parts=()))) == "nothing_to_do"
    assert (
        reason(prove(situation(pins=frozenset({"r0"})), Pruned(parts=("r0.result",))))
        == "touched"
    )
    assert reason(prove(situation(), Pruned(parts=("r0.result",)))) in (
        "above_point",
        "no_progress",
        "",
    )
