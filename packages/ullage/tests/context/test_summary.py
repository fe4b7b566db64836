import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.context.sessions import FakeModel, fold_of, turns
from tests.meter.session import answer, said
from ullage.context.budget import aim_of
from ullage.context.plan import plan_for
from ullage.context.rules import CompactionRules
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Declined, Strategy, SummaryAnswer
from ullage.context.summary import Summarize, SummarizePieces, piece_room
from ullage.events import CompactionCommitted, LimitLearnt, ModelChanged
from ullage.messages import TextPart


def at_point(**more: object) -> Situation:
    return Situation(fold=fold_of(*turns(25, size=200)), **more)  # type: ignore[arg-type]


def over() -> Situation:
    return Situation(fold=fold_of(*turns(150, size=200)), trigger="limit")


def asked_of(situation: Situation, strategy: Strategy | None = None) -> Ask:
    ask = (strategy or Summarize()).propose(situation, ())
    assert isinstance(ask, Ask), ask
    return ask


def test_a_summary_is_asked_for_behind_the_last_message_that_leaves() -> None:
    situation = at_point(instructions="Keep the numbers.")
    leaving = plan_for(situation).leaving
    ask = asked_of(situation)
    assert ask.extends and ask.system == ()
    assert 0 < len(leaving) < len(situation.messages)
    assert ask.messages[:-1] == situation.messages[: len(leaving)] == leaving
    asked = ask.messages[-1]
    assert (asked.role, asked.origin) == ("user", "injected")
    assert "Keep the numbers." in next(asked.of_type(TextPart)).text
    assert "newer ones that you are not shown" in next(asked.of_type(TextPart)).text
    assert ask.covers == tuple(message.id for message in leaving)


def test_what_stays_between_what_leaves_is_shown_as_it_stands() -> None:
    situation = at_point(pins=frozenset({"u3"}))
    ask = asked_of(situation)
    assert ask.messages[:-1] == situation.messages[: len(ask.covers)]
    assert "u3" in ask.covers


def test_it_counts_at_least_what_is_shown_and_leaves_room_for_doubt() -> None:
    situation = at_point()
    ask = asked_of(situation)
    shown = (
        situation.sizes.fixed
        + situation.sizes.of(ask.covers)
        + situation.cost(ask.messages[-1])
    )
    assert (
        shown
        <= ask.tokens
        <= situation.sizes.high + 1.3 * situation.cost(ask.messages[-1])
    )


def test_it_is_not_asked_on_top_of_what_does_not_fit_or_anothers() -> None:
    for situation in (
        over(),
        at_point(rules=CompactionRules(own_model=True)),
        at_point(trigger="overflow", correction=1.1),
    ):
        proposal = Summarize().propose(situation, ())
        assert isinstance(proposal, Declined) and proposal.reason in (
            "does_not_fit",
            "too_large",
            "above_point",
        )


def test_a_call_that_is_open_at_the_end_stays_and_is_not_shown() -> None:
    situation = Situation(fold=fold_of(*turns(25, size=200), answer("a", calls=1)))
    ask = asked_of(situation)
    assert "a" not in ask.covers


def test_a_call_whose_result_was_lost_is_shown_as_it_is_mended_in_each_request() -> None:
    first, *rest = turns(25, size=200)
    situation = Situation(fold=fold_of(first, answer("a", calls=1), *rest))
    ask = asked_of(situation)
    assert "a" in ask.covers


def test_a_refused_answer_is_declined_with_its_reason() -> None:
    proposal = Summarize().propose(at_point(), (SummaryAnswer(None, error="Overloaded"),))
    assert isinstance(proposal, Declined) and proposal.reason == "failed"


def test_pieces_cover_every_message_that_leaves_and_each_call_fits() -> None:
    situation, model = over(), FakeModel()
    answers: list[SummaryAnswer] = []
    while isinstance(
        proposal := SummarizePieces().propose(situation, tuple(answers)), Ask
    ):
        assert proposal.tokens + proposal.max_output <= 16_000
        assert not proposal.extends and proposal.system
        answers.append(model(proposal))
    assert isinstance(proposal, Candidate) and isinstance(
        proposal.event, CompactionCommitted
    )
    shown = {name for ask in model.calls for name in ask.covers}
    assert set(proposal.event.summarised) <= shown
    assert 1 < len(answers) <= SummarizePieces().calls_at_most(situation)


def test_each_piece_is_given_the_summary_so_far() -> None:
    situation, model = over(), FakeModel(lambda ask: "So far the gauge was read.")
    first = asked_of(situation, SummarizePieces())
    second = SummarizePieces().propose(situation, (model(first),))
    assert isinstance(second, Ask)
    text = next(second.messages[0].of_type(TextPart)).text
    assert text.startswith("<earlier>\nSo far the gauge was read.\n</earlier>")


def test_a_failed_later_piece_leaves_the_summary_so_far_and_a_digest() -> None:
    situation, model = over(), FakeModel(lambda ask: "So far the gauge was read.")
    first = asked_of(situation, SummarizePieces())
    answers = (model(first), SummaryAnswer(None, error="ServerError"))
    proposal = SummarizePieces().propose(situation, answers)
    assert isinstance(proposal, Candidate) and isinstance(
        proposal.event, CompactionCommitted
    )
    assert proposal.event.summary is not None
    text = "".join(part.text for part in proposal.event.summary.of_type(TextPart))
    assert "So far the gauge was read." in text and "No model could summarise" in text


def test_pieces_are_sized_for_the_window_of_the_model_that_summarises() -> None:
    small = over()
    large = replace(
        small, rules=CompactionRules(own_model=True, summary_window=1_000_000)
    )
    assert piece_room(large, aim_of(large)) > 10 * piece_room(small, aim_of(small))


def test_no_more_is_asked_for_than_the_model_gives() -> None:
    situation = at_point()
    fold = situation.fold
    fold.apply(LimitLearnt(model="claude-haiku-4-5", source="provider", max_output=1_500))
    asks = [
        strategy.propose(situation, ()) for strategy in (Summarize(), SummarizePieces())
    ]
    assert [ask.max_output for ask in asks if isinstance(ask, Ask)] == [1_500, 1_500]
    other = replace(situation, rules=CompactionRules(own_model=True))
    ask = SummarizePieces().propose(other, ())
    assert isinstance(ask, Ask) and ask.max_output > 1_500


def test_nothing_is_asked_where_a_summary_could_not_help() -> None:
    situation = Situation(fold=fold_of(said("u", "hello")), trigger="asked")
    for strategy in (Summarize(), SummarizePieces()):
        assert isinstance(strategy.propose(situation, ()), Declined)


def test_where_bytes_are_short_a_piece_has_no_more_of_them_than_are_taken() -> None:
    wide = Situation(
        fold=fold_of(*turns(150, size=200), window=1_000_000),
        trigger="overflow",
        bytes_limit=100_000,
    )
    room = piece_room(wide, aim_of(wide))
    assert 0 < room < 100_000 / 6


OUTPUTS = [(128_000, 4_096), (200_000, 8_192), (16_385, 4_096), (32_000, 375)]
"""Windows and longest answers, as of gpt-4-turbo, claude-3-5-haiku and gpt-3.5-turbo, and a very short one."""


def short_answers(window: int, most: int) -> Situation:
    fold = fold_of(*turns(window // 1_200, size=300), window=window)
    fold.apply(LimitLearnt(model="claude-haiku-4-5", source="provider", max_output=most))
    return Situation(fold=fold, trigger="asked")


@pytest.mark.parametrize("strategy", [Summarize(), SummarizePieces()])
@pytest.mark.parametrize(("window", "most"), OUTPUTS)
def test_short_answers_fit(window: int, most: int, strategy: Strategy) -> None:
    """Asked for 1.5 times less than it can give: a summary that is cut at the limit is worth nothing."""
    situation = short_answers(window, most)
    ask = asked_of(situation, strategy)
    (words,) = re.findall(r"at most (\d+) words", str(ask.messages[-1].parts))
    assert 1.5 * int(words) <= ask.max_output <= most


@pytest.mark.parametrize("strategy", [Summarize(), SummarizePieces()])
def test_too_short_answers_are_named_as_the_reason(strategy: Strategy) -> None:
    proposal = strategy.propose(short_answers(128_000, 100), ())
    assert isinstance(proposal, Declined) and proposal.reason == "does_not_fit"
    assert (
        proposal.note
        == "The model's longest answer is 100 tokens, and a summary needs 375."
    )


def capped() -> Situation:
    situation = Situation(fold=fold_of(*turns(60, size=200), window=60_000))
    learnt = LimitLearnt(model="claude-haiku-4-5", source="provider", input_cap=12_000)
    situation.fold.apply(learnt)
    return situation


def of_unknown_window() -> Situation:
    fold = fold_of(*turns(99), window=None)
    fold.apply(ModelChanged(model="own", wire="chat", provider="vllm"))
    return Situation(fold=fold, trigger="asked")


SHORTAGES = [
    (of_unknown_window, "The window is unknown"),
    (lambda: at_point(trigger="overflow"), "has just refused a request of this size"),
    (capped, "and 12,000 are accepted"),
    (over, "and the window has 16,000"),
]


@pytest.mark.parametrize(("make", "named"), SHORTAGES)
def test_what_does_not_fit_is_named(make: Callable[[], Situation], named: str) -> None:
    proposal = Summarize().propose(make(), ())
    assert isinstance(proposal, Declined) and proposal.reason == "does_not_fit"
    assert named in proposal.note
