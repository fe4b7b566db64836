import pytest

from tests.context.sessions import FakeModel, attempted, fold_of, turns, words
from tests.meter.session import said
from ullage.context.choice import NOOP, ordered
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategies import Strategies, Stuck
from ullage.context.unsendable import FailedStrategy, unsendable
from ullage.errors import ContextUnfixable
from ullage.messages import ImagePart, Message
from ullage.meter.meter import Meter


def stuck(situation: Situation, *chosen: str, model: FakeModel | None = None) -> Stuck:
    order = ordered(chosen)
    outcome = attempted(situation, model or FakeModel(), Strategies(order))
    assert isinstance(outcome.end, Stuck), outcome.end
    return outcome.end


def error_of(
    situation: Situation, *chosen: str, model: FakeModel | None = None
) -> ContextUnfixable:
    error = stuck(situation, *chosen, model=model).error
    assert error is not None
    return error


def full(*chosen: str) -> Situation:
    """Over the limit of a small window; all but the newest message may leave."""
    rules = CompactionRules(chosen=chosen)
    return Situation(fold=fold_of(*turns(45, size=200)), trigger="limit", rules=rules)


def test_a_refused_summary_with_nothing_behind_it_is_the_named_reason() -> None:
    """What must stay is small here, and it is not said to be too large."""
    error = error_of(full("pieces"), "pieces", model=FakeModel(lambda ask: ""))
    text = str(error)
    assert "must stay" not in text
    assert "pieces (" in text and "12,800 fit" in text and "`strategy`" in text
    assert error.needed > error.limit == 12_800


def test_every_strategy_that_failed_is_named_with_its_reason() -> None:
    text = str(error_of(full("summary", "pieces"), "llm", model=FakeModel(error="Boom")))
    assert "summary (" in text and "pieces (The call failed: Boom)" in text


def test_strategies_that_found_nothing_to_do_are_named_too() -> None:
    long = [said(f"u{n}", words(300, n)) for n in range(60)]
    situation = Situation(fold=fold_of(*long), trigger="limit")
    assert "(clear) found nothing to do" in str(error_of(situation, "clear"))


def test_what_must_stay_is_named_where_it_is_too_large_by_itself() -> None:
    pins = [said(f"p{n}", words(60, n)) for n in range(300)]
    situation = Situation(
        fold=fold_of(*pins), trigger="limit", pins=frozenset(pin.id for pin in pins)
    )
    for chosen in ("hybrid", "llm", "prune", "drop"):
        error = error_of(situation, chosen)
        assert "must stay" in str(error) and error.needed > error.limit
        assert len(error.largest) == 5


def test_too_many_bytes_or_images_are_not_said_to_be_tokens() -> None:
    images = tuple(
        ImagePart(id=f"i{n}", mime="image/png", source=f"kept:{n}", size_bytes=9_000)
        for n in range(12)
    )
    shown = Message(id="shown", role="user", parts=images)
    failures = (FailedStrategy("drop", "images", "12 images stay"),)
    crowded = Situation(fold=fold_of(shown, window=None), image_limit=3)
    error = unsendable(crowded, failures)
    assert error is not None and "12 images and files, and 3 fit" in str(error)
    heavy = Situation(fold=fold_of(*turns(9), window=None), bytes_limit=100)
    error = unsendable(heavy, failures)
    assert error is not None and "bytes, and 100 fit" in str(error)


def test_a_request_that_can_be_sent_is_no_error() -> None:
    situation = Situation(fold=fold_of(*turns(2)), trigger="point")
    assert unsendable(situation, ()) is None


def test_without_a_strategy_the_setting_is_named() -> None:
    ended = stuck(Situation(fold=fold_of(*turns(25, size=200))), "noop")
    assert ended.error is None
    note = ended.events[-1].note  # type: ignore[union-attr]
    assert NOOP in note


@pytest.mark.parametrize("last", ["drop", "clear"])
def test_further_strategies_are_advised_only_where_they_could_help(last: str) -> None:
    failures = (FailedStrategy(last, "invalid", "The wire would reject it."),)
    error = unsendable(full(), failures)
    assert error is not None
    assert ("`strategy`" in str(error)) == (last != "drop")


def reported(*inputs: int, words: int = 60, window: int = 60_000) -> Situation:
    """A conversation whose calls reported these inputs. Each question has three tokens for each of ``words``."""
    meter = Meter("some-model", wire="chat", window=window, estimator="pretoken")
    history: list[dict[str, str]] = []
    for tokens in inputs:
        history.append({"role": "user", "content": "And then? " * words})
        call = meter.before({"model": "some-model", "messages": list(history)}).call
        answer = {"role": "assistant", "content": "Nothing more."}
        usage = {"prompt_tokens": tokens, "completion_tokens": 4}
        meter.after(call, usage, {"choices": [{"message": answer}]})
        history.append(answer)
    return Situation(fold=meter._fold, trigger="limit")


def test_a_report_that_no_second_one_confirms_makes_no_request_unsendable() -> None:
    situation = reported(9_990, words=600, window=10_000)
    assert situation.fold.forecast().high > 9_900
    assert unsendable(situation, ()) is None


def test_what_only_the_provider_reports_is_named_apart() -> None:
    situation = reported(55_000, 55_190, 55_380)
    error = unsendable(situation, ())
    assert error is not None
    assert error.largest[0][0] == "reported by the provider and not in the session"
    assert error.largest[0][1] > 54_000
    assert dict(error.largest).get("system prompt and tools", 0) < 100
