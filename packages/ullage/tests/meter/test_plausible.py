"""Reported inputs held against the ledger: what is believed, what is not, and what is explained by a rule."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.cases import case
from tests.tiers import examples
from ullage import Meter
from ullage.events import Event, SettingsChanged
from ullage.meter.expected import ADDING
from ullage.meter.plausible import Expectation, Report, ReportHistory, is_possible, judge
from ullage.meter.policy import SURPRISING, SURPRISING_FROM
from ullage.meter.reading import Reading

WINDOW = 60_000
HUGE = 14_800_000
WORDS = ("lamp", "map", "letter", "keeper", "museum", "book", "hall", "count", "read")


class Talk:
    """A conversation with an endpoint whose tokenizer makes one token of each word, and four of each message."""

    def __init__(self, seed: int, **settings: Any) -> None:
        self.dice = random.Random(seed)
        self.events: list[Event] = []
        self.meter = Meter(
            "some-model",
            wire="chat",
            window=WINDOW,
            estimator=lambda text: float(len(text.split())),
            on_event=self.events.append,
        )
        self.settings = settings
        self.history: list[dict[str, str]] = []
        self.true: list[int] = []

    def words(self, count: int) -> str:
        return " ".join(self.dice.choice(WORDS) for _ in range(count))

    def turn(self, reported: Any, *, size: int = 60, answer: int = 30) -> Reading:
        """One call whose usage has ``reported`` as its input; gives the reading before it."""
        self.history.append({"role": "user", "content": self.words(size)})
        body = {"model": "some-model", "messages": list(self.history), **self.settings}
        before = self.meter.before(body)
        sizes = [len(each["content"].split()) + 4 for each in self.history]
        self.true.append(sum(sizes) + 3)
        if callable(reported):
            reported = reported(self.true)
        said = {"role": "assistant", "content": self.words(answer)}
        usage = {"prompt_tokens": reported, "completion_tokens": answer + 2}
        self.meter.after(before.call, usage, {"choices": [{"message": said}]})
        self.history.append(said)
        return before

    def holds(self, reading: Reading, *, slack: float = 0.0) -> bool:
        """Whether the interval of the newest call holds the truth, or the reading says that it does not know."""
        used, true = reading.used, self.true[-1]
        return used.low - slack <= true <= used.high + slack or bool(reading.basis.label)


def honest(true: Sequence[int]) -> int:
    return true[-1]


def cumulative(true: Sequence[int]) -> int:
    return sum(true)


def only_fresh(true: Sequence[int]) -> int:
    return true[-1] - (true[-2] if len(true) > 1 else 0)


def replayed(talk: Talk) -> Meter:
    meter = Meter(estimator=lambda text: float(len(text.split())), window=WINDOW)
    for event in talk.events:
        meter.apply(event)
    return meter


@pytest.mark.parametrize("report", [HUGE, 3, 0, -5, float("nan")])
def test_a_report_that_cant_be_true_is_named_and_not_used(report: float) -> None:
    talk = Talk(1)
    for _ in range(3):
        talk.turn(honest)
    talk.turn(report)
    reading = talk.meter.reading()
    assert "can't be true" in reading.basis.label
    assert reading.basis.last_input == talk.true[2]
    assert len(reading.notes) == 1
    step = talk.meter.steps[-1]
    assert step.actual is None
    assert step.refused == (report if report > 0 else None)
    assert abs(talk.turn(honest).used.tokens - talk.true[-1]) < 20
    assert talk.meter.reading().basis.label == ""
    assert talk.meter.reading().notes == ()


def test_a_first_report_that_cant_be_true_leaves_an_estimate() -> None:
    talk = Talk(2)
    talk.turn(HUGE)
    reading = talk.meter.reading()
    assert reading.basis.last_input is None
    assert "can't be true" in reading.basis.label
    assert "14,800,000" in reading.notes[0]
    assert reading.used.high < 1_000
    assert not reading.should_compact()


def test_a_first_report_of_less_than_is_certainly_in_the_request_is_not_used() -> None:
    talk = Talk(2)
    talk.turn(7)
    reading = talk.meter.reading()
    assert reading.basis.last_input is None
    assert reading.used.low > 40
    assert "reported 7 input tokens" in reading.notes[0]
    talk.turn(honest)
    assert talk.meter.reading().basis.last_input == talk.true[1]
    assert talk.meter.reading().notes == ()


@pytest.mark.parametrize("report", [50_000, 16_000])
def test_a_first_report_that_only_a_gateway_explains_is_believed_and_both_are_held(
    report: int,
) -> None:
    talk = Talk(2)
    talk.turn(report)
    reading = talk.meter.reading()
    assert reading.basis.last_input == report
    assert reading.used.low < talk.true[0] + 40 < report < reading.used.high
    assert f"{report:,}" in reading.notes[0]
    talk.turn(honest)
    assert talk.meter.reading().basis.last_input == talk.true[1]
    assert talk.meter.reading().notes == ()


@pytest.mark.parametrize("report", [50_000, 5_000])
def test_no_compaction_is_due_for_one_report_that_nothing_bears_out(report: int) -> None:
    first, later = Talk(2), Talk(2)
    later.turn(honest)
    later.turn(honest)
    for talk in (first, later):
        talk.meter.apply(SettingsChanged(settings={"trigger": 0.05}))
        talk.turn(report)
        reading = talk.meter.reading()
        assert reading.used.high >= report
        is_due = talk is first and report < WINDOW / 2
        assert reading.should_compact() == is_due
        assert ((reading.until_compaction or 0) <= 0) == is_due
        talk.turn(lambda true: report + true[-1] - true[-2])
        assert talk.meter.should_compact()


@pytest.mark.parametrize("param", sorted(ADDING))
def test_a_first_report_of_a_request_that_asks_for_more_content_is_believed(
    param: str,
) -> None:
    talk = Talk(2, **{param: [{"id": "web"}]})
    talk.turn(50_000)
    assert talk.meter.reading().basis.last_input == 50_000


def test_a_first_report_of_items_that_the_provider_keeps_is_believed() -> None:
    meter = Meter("gpt-5", wire="responses", window=WINDOW)
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x" * 400}
    question = {"type": "message", "role": "user", "content": "Go on."}
    before = meter.before({"model": "gpt-5", "input": [item, question]})
    meter.after(before.call, {"input_tokens": 30_000, "output_tokens": 3})
    assert meter.reading().basis.last_input == 30_000


@pytest.mark.parametrize("extra", [5_000, 25_000, 50_000])
def test_a_gateway_that_adds_more_than_is_usual_is_believed(extra: int) -> None:
    talk = Talk(2)
    for _ in range(3):
        talk.turn(lambda true: true[-1] + extra)
        assert talk.meter.reading().basis.last_input == talk.true[-1] + extra
    assert talk.meter.reading().notes == ()


@pytest.mark.parametrize("size", [20, 60, 400, 3_000])
def test_sums_of_all_calls_are_recognised_and_their_difference_is_used(size: int) -> None:
    talk = Talk(3)
    readings = [talk.turn(cumulative, size=size) for _ in range(10)]
    assert all(talk.true)
    for reading, true in zip(readings[2:], talk.true[2:], strict=True):
        assert reading.used.low <= true <= reading.used.high or reading.basis.label
    assert [step.actual for step in talk.meter.steps[4:]] == talk.true[4:]
    assert "sum of all calls" in talk.meter.reading().notes[0]


def test_an_endpoint_that_reports_sums_no_more_is_believed_again() -> None:
    talk = Talk(4)
    for _ in range(5):
        talk.turn(cumulative)
    talk.turn(honest)
    talk.turn(honest)
    assert talk.meter.steps[-1].actual == talk.true[-1]
    assert talk.meter.reading().notes == ()


def test_reports_of_what_no_cache_held_are_not_used() -> None:
    talk = Talk(5)
    for _ in range(8):
        reading = talk.turn(only_fresh, size=100)
        assert talk.holds(reading)
    assert "were expected" in talk.meter.reading().notes[0]
    assert talk.meter.reading().used.tokens > 900


def test_a_prompt_counted_for_each_choice_is_divided() -> None:
    talk = Talk(6, n=3)
    talk.turn(honest)
    for _ in range(3):
        talk.turn(lambda true: 3 * true[-1])
    assert [step.actual for step in talk.meter.steps] == talk.true
    assert "once for each answer" in talk.meter.reading().notes[0]


@pytest.mark.parametrize("size", [4, 100, 900])
def test_two_reports_that_agree_are_believed_against_the_ledger(size: int) -> None:
    """Such as after the provider, or a proxy, began to add instructions of its own."""
    talk = Talk(7)
    for _ in range(3):
        talk.turn(honest)
    extra = 30_000
    talk.turn(lambda true: true[-1] + extra, size=size)
    reading = talk.meter.reading()
    assert reading.basis.last_input == talk.true[2]
    assert "in doubt" in reading.basis.label
    assert "the interval holds both" in reading.notes[0]
    assert reading.used.low < talk.true[3] + 40 < extra < reading.used.high
    talk.turn(lambda true: true[-1] + extra, size=size)
    assert talk.meter.reading().basis.last_input == talk.true[4] + extra
    assert talk.meter.reading().notes == ()


def test_the_same_false_report_again_confirms_nothing() -> None:
    talk = Talk(8)
    for _ in range(12):
        talk.turn(HUGE)
    assert talk.meter.reading().used.high < 4_000


def test_a_surprising_report_widens_the_interval_until_the_next() -> None:
    talk = Talk(9)
    for _ in range(3):
        talk.turn(honest, size=300)
    talk.turn(lambda true: true[-1] + 400, size=300)
    reading = talk.meter.reading()
    assert "were expected" in reading.notes[0]
    assert reading.used.low <= talk.true[-1] + 32 <= reading.used.high
    talk.turn(honest, size=300)
    talk.turn(honest, size=300)
    assert talk.meter.reading().notes == ()


@pytest.mark.parametrize("first", ["missing", "nan", "tiny"])
def test_after_a_report_that_was_no_use_a_low_one_inside_the_interval_is_doubted(
    first: str,
) -> None:
    talk = Talk(1)
    talk.turn(REPORTS[first], size=324)
    talk.turn(only_fresh, size=520)
    reading = talk.meter.reading()
    assert reading.basis.last_input == talk.true[1] - talk.true[0]
    assert "were expected" in reading.notes[0]
    assert reading.used.low < talk.true[1] < reading.used.high
    talk.turn(honest, size=20)
    talk.turn(honest, size=20)
    assert talk.meter.reading().notes == ()


def test_content_that_the_provider_keeps_or_clears_is_not_known_better() -> None:
    stored = Talk(10, prompt={"id": "pmpt_1"})
    stored.turn(35_000)
    assert stored.meter.reading().basis.last_input == 35_000
    cleared = Talk(11, truncation="auto")
    for _ in range(3):
        cleared.turn(honest, size=3_000)
    cleared.turn(1_000)
    assert cleared.meter.reading().basis.last_input == 1_000


@pytest.mark.parametrize("kind", ["huge", "tiny", "nan", "negative", "fresh"])
def test_budgets_count_the_estimate_of_an_input_that_cant_be_true(kind: str) -> None:
    talk = Talk(8)
    for number in range(8):
        talk.turn(honest if number < 2 else REPORTS[kind], size=200)
    spent = talk.meter.reading().spend.all
    assert spent.in_budget - spent.output == pytest.approx(sum(talk.true), rel=0.1)


def test_a_summary_is_no_part_of_a_sum_and_one_that_is_impossible_counts_as_estimated() -> (
    None
):
    talk = Talk(9)
    for _ in range(5):
        talk.turn(cumulative, size=400)
    true, meter = sum(talk.true), talk.meter
    before = meter.reading().spend.all
    for reported, input_tokens, estimated in (
        (true + 900, 900, 0),
        (HUGE, 0, meter.reading().used.tokens),
    ):
        body = {"model": "some-model", "messages": list(talk.history)}
        call = meter.before(body, purpose="summary").call
        usage = {"prompt_tokens": reported, "completion_tokens": 9}
        meter.after(call, usage, purpose="summary")
        after = meter.reading().spend.all
        assert after.input - before.input == input_tokens
        assert after.estimated - before.estimated == pytest.approx(estimated)
        before = after


REPORTS = {
    "honest": honest,
    "huge": HUGE,
    "tiny": 3,
    "negative": -7,
    "nan": float("nan"),
    "missing": None,
    "fresh": only_fresh,
}


@settings(max_examples=examples(2_000), deadline=None)
@example(0, [("huge", 167), ("fresh", 74), ("honest", 48), ("huge", 142), ("fresh", 900)])
@given(
    st.integers(0, 99),
    st.lists(
        st.tuples(st.sampled_from(sorted(REPORTS)), st.integers(5, 900)), max_size=14
    ),
)
def test_honest_and_false_reports_in_any_order_leave_the_truth_in_the_interval(
    seed: int, turns: list[tuple[str, int]]
) -> None:
    kinds = [kind for kind, _ in turns]
    assume(("fresh", "fresh") not in pairwise(kinds))  # the test below
    talk = Talk(seed)
    undetected = 0.0
    widest = 2
    for kind, size in turns:
        reading = talk.turn(REPORTS[kind], size=size)
        # A report that is off by less can't be told from a true one of another tokenizer, and each rests on the one
        # before.
        unnoticed = SURPRISING_FROM + SURPRISING * talk.true[-1]
        slack = unnoticed + undetected
        assert talk.holds(reading, slack=slack), (kind, reading.used, talk.true)
        assert reading.used.high <= ceil(talk.true[-1] * widest + slack)
        assert not talk.meter.should_compact()
        if kind == "fresh":
            undetected += unnoticed
            widest = 3  # reports that contradict each other leave a wider interval, even after an honest one
        elif kind == "honest":
            undetected = 0.0
    assert replayed(talk).reading().used == talk.meter.reading().used


@pytest.mark.xfail(strict=True, reason="two such reports in a row agree with each other")
def test_the_second_report_in_a_row_of_new_tokens_alone_is_not_believed() -> None:
    """A known weakness (docs/meter.md): an endpoint that reports what is new alone, in the middle of a conversation."""
    talk = Talk(0)
    turns = [("fresh", 5), ("honest", 5), ("honest", 85), ("tiny", 74), ("fresh", 560)]
    for kind, size in turns:
        talk.turn(REPORTS[kind], size=size)
    reading = talk.turn(only_fresh, size=5)
    slack = SURPRISING_FROM + SURPRISING * talk.true[-1]
    assert talk.holds(reading, slack=slack)


PART = Expectation(tokens=100, low=90, high=110)
WHOLE = PART._replace(content=100.0, is_whole=True, window=WINDOW)
LATER = WHOLE._replace(last_input=80, is_explained=True)
HELD = PART._replace(last_input=80, is_held=True, may_clear=True, window=WINDOW)


def test_the_bounds_of_what_a_request_can_hold() -> None:
    cases: list[tuple[float, Expectation, bool]] = [
        (100, WHOLE, True),
        (WINDOW, WHOLE, True),
        (WINDOW + 1, WHOLE, False),
        (110 + 100_000, WHOLE._replace(window=1_000_000), True),
        (110 + 100_001, WHOLE._replace(window=1_000_000), False),
        (200_000, WHOLE._replace(window=1_000_000, adds_unseen=True), True),
        (WINDOW, PART, True),
        (33, WHOLE, False),
        (34, WHOLE, True),
        (33, WHOLE._replace(may_clear=True), True),
        (465, LATER, True),
        (466, LATER._replace(has_left=True), False),
        (466, LATER, False),
        (5_000, LATER._replace(is_explained=False), True),
        (900, LATER._replace(adds_unseen=True), True),
        (53, LATER, False),
        (54, LATER, True),
        (13, LATER._replace(has_left=True), True),
        (WINDOW, LATER._replace(is_whole=False), True),
        (WINDOW + 1, LATER._replace(is_whole=False), False),
        (1, LATER._replace(is_whole=False), True),
        (WINDOW + 1, LATER._replace(adds_unseen=True), False),
        (WINDOW, HELD._replace(last_input=None), True),
        (5_165, HELD, True),
        (5_166, HELD, False),
        (1, HELD, True),
        (24, LATER._replace(media=50.0), True),
        (23, LATER._replace(media=50.0), False),
        (3_000_000, WHOLE._replace(window=None), False),
        (3_000_000, WHOLE._replace(window=None, high=2_500_000, content=2e6), True),
        (2_000_000, PART, True),
    ]
    for reported, expected, can_be in cases:
        with case(reported, expected, can_be):
            assert is_possible(reported, expected) == can_be


def test_content_of_a_provider_s_own_tools_is_not_taken_for_a_sum() -> None:
    expected = LATER._replace(tokens=9_000, low=8_900, high=9_100, level=9_000)
    history = ReportHistory(last=9_000)
    assert judge(Report(18_000), expected, history).history.sums == 1
    hosted = expected._replace(adds_unseen=True)
    assert judge(Report(18_000), hosted, history).input == 18_000


def test_a_conversation_that_the_provider_holds_is_not_tested_for_sums() -> None:
    held = HELD._replace(tokens=9_000, low=8_900, high=9_100, level=9_000)
    assert judge(Report(18_000), held, ReportHistory(last=9_000)).history.sums == 0
    known = ReportHistory(last=9_000, sums=2)
    assert judge(Report(9_050), held, known).input == 9_050


def test_media_that_cost_less_than_estimated_are_not_taken_for_a_cache() -> None:
    expected = LATER._replace(tokens=700, low=600, high=800, content=100.0)
    without_cache = Report(110, says_cache=False)
    assert judge(without_cache, expected, ReportHistory()).input is None
    with_media = expected._replace(media=600.0)
    assert judge(without_cache, with_media, ReportHistory()).input == 110


@pytest.mark.parametrize("size", [60, 400])
def test_the_spend_holds_no_sums_and_nothing_that_is_impossible(size: int) -> None:
    talk = Talk(8)
    for number in range(6):
        talk.turn(HUGE if number == 3 else honest, size=size)
    spent = talk.meter.reading().spend.all
    assert spent.input == sum(talk.true) - talk.true[3]
    assert spent.unsaid["input"] == 1
    assert spent.estimated == pytest.approx(talk.true[3], rel=0.1)
    talk = Talk(9)
    for _ in range(6):
        talk.turn(cumulative, size=size)
    spent = talk.meter.reading().spend.all
    assert spent.input == sum(talk.true) - talk.true[1]
    assert spent.estimated == pytest.approx(talk.true[1], rel=0.3)
    label = talk.meter.reading().basis.label
    assert label == "estimated: the last call's usage is not its own alone"
