from msgspec.structs import replace

from tests.context.sessions import FakeModel, attempted, fold_of, turns
from tests.meter.session import said
from ullage.context.choice import STRATEGIES
from ullage.context.prepared import (
    Preparation,
    PreparedSummary,
    is_prefix_unchanged,
    prepare,
)
from ullage.context.situation import Situation
from ullage.context.strategies import Commit, Strategies
from ullage.events import MessageAdded, MessageReplaced
from ullage.meter.fold import Fold


def prepared() -> tuple[Fold, PreparedSummary]:
    fold = fold_of(*turns(25, size=200))
    preparation = prepare(Situation(fold=fold, compaction="ahead"))
    assert isinstance(preparation, Preparation)
    return fold, PreparedSummary(preparation.prefix, FakeModel()(preparation.ask))


def finish(fold: Fold, summary: PreparedSummary, **more: object) -> Commit:
    model = FakeModel()
    end = attempted(
        Situation(fold=fold, **more),  # type: ignore[arg-type]
        model,
        Strategies((summary, *STRATEGIES)),
    ).end
    assert isinstance(end, Commit)
    return end


def test_a_prepared_summary_is_used_without_a_call_and_what_was_added_since_stays() -> (
    None
):
    fold, summary = prepared()
    fold.apply(MessageAdded(message=said("new", "and this?")))
    assert is_prefix_unchanged(summary.prefix, Situation(fold=fold).messages)
    end = finish(fold, summary)
    assert end.strategy == "prepared"
    assert end.attempt.calls == 0
    assert "new" in fold.view.entries and "u0" not in fold.view.entries


def test_a_message_pinned_meanwhile_stays() -> None:
    fold, summary = prepared()
    assert finish(fold, summary, pins=frozenset({"u0"})).strategy == "prepared"
    assert "u0" in fold.view.entries


def test_it_is_discarded_when_its_prefix_was_edited() -> None:
    fold, summary = prepared()
    fold.apply(MessageReplaced(message=replace(said("u3", "something else"), revision=1)))
    assert not is_prefix_unchanged(summary.prefix, Situation(fold=fold).messages)
    end = finish(fold, summary)
    assert end.strategy != "prepared"
    assert end.attempt.failures[0].reason == "changed"
