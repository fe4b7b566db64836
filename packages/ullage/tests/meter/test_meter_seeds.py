"""The examples and edge cases of the documents the project started from."""

import logging

import pytest

from tests.meter.session import answer, request, result, said, tool, usage
from ullage import Meter
from ullage.events import CompactionCommitted, PolicyChanged
from ullage.reasoning import ReasoningPolicy


def twenty(text: str) -> float:
    return 20.0


def per_word(text: str) -> float:
    return float(len(text.split()))


def words(count: int) -> str:
    return "word " * count


class TestTheWeatherExample:
    """Last input 5,000 + last output 100 + new 20 = 5,120; the actual is 5,115."""

    @pytest.fixture
    def meter(self) -> Meter:
        meter = Meter("claude-haiku-4-5", wire="messages", estimator=twenty)
        question = said("q", "What's the weather in NYC?")
        first = meter.before(request(question))
        meter.after(first.call, usage(5000, 100), answer("a", "I'll check", calls=1))
        given = result("r", "a-0", "NYC: 72°F, sunny")
        self.history = (question, meter.messages[-1], given)
        return meter

    def test_the_actual_is_reported_as_plus_5_in_the_log_and_on_the_reading(
        self, meter: Meter, caplog: pytest.LogCaptureFixture
    ) -> None:
        second = meter.before(request(*self.history))
        with caplog.at_level(logging.INFO, logger="ullage.meter"):
            reading = meter.after(
                second.call, usage(5115, 50), answer("b", "The weather is 72°F")
            )
        assert (
            "Context estimate: estimated=5120, actual=5115, error=+5 (+0.1%)"
            in caplog.text
        )
        # System prompt and tools are unknown here: a ratio of 5,115 to 20 would say nothing.
        assert "Context calibration" not in caplog.text
        assert (reading.accuracy.error, reading.accuracy.error_percent) == (5, 0.1)
        assert reading.used.tokens == 5115 + 50


def test_without_a_call_everything_is_estimated_and_says_so() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    reading = meter.before(request(said("q", words(30)), system=words(10)))
    assert reading.used.tokens == 40
    assert reading.basis.last_input is None
    assert "estimated" in reading.basis.label
    assert {row.source for row in reading.rows} == {"estimated"}


def test_after_compaction_the_reading_is_neither_zero_nor_the_old_one() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(900)), system=words(100)))
    before = meter.after(first.call, usage(1000, 50), answer("a", words(50))).used.tokens
    meter.apply(
        CompactionCommitted(
            compaction="c",
            summary=said("s", words(30)),
            summarised=("q",),
            summary_tokens=30,
        )
    )
    reading = meter.reading()
    assert before == 1050
    assert reading.used.tokens == 1000 + 50 - 900 + 30
    assert reading.compactions == 1
    assert reading.used.low < reading.used.tokens < reading.used.high
    assert "estimated" in reading.basis.label


def test_rows_above_the_reported_total_are_corrected_by_it() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(5)), system=words(500)))
    meter.after(first.call, usage(200, 10), answer("a", words(10)))
    assert [row.tokens for row in meter.reading().rows] == [202, 8]


def test_the_ratio_of_the_messages_is_logged_where_system_prompt_and_tools_are_known(
    caplog: pytest.LogCaptureFixture,
) -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(1_100)), system=words(500)))
    with caplog.at_level(logging.INFO, logger="ullage.meter"):
        meter.after(first.call, usage(1_622, 10), answer("a", words(10)))
    assert "actual=1122, estimate=1100, ratio=1.02" in caplog.text


def test_a_changed_system_prompt_moves_the_number_at_once_by_difference() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    question = said("q", words(5))
    first = meter.before(request(question, system=words(100)))
    meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    reading = meter.before(
        request(*meter.messages, said("n", words(3)), system=words(160))
    )
    assert reading.basis.changed == 60
    assert reading.used.tokens == 1000 + 10 + 3 + 60


def test_changed_tools_move_the_number_at_once_by_difference() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    question = said("q", words(5))
    first = meter.before(request(question, tools=(tool("read"),)))
    meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    reading = meter.before(
        request(*meter.messages, tools=(tool("read"), tool("write", words(40))))
    )
    assert reading.basis.changed >= 40
    assert reading.used.tokens == 1010 + reading.basis.changed


def test_missing_usage_leaves_the_last_actual_and_estimates_the_rest() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(5))))
    meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    second = meter.before(request(*meter.messages, said("n", words(30))))
    reading = meter.after(second.call, None, answer("b", words(20)))
    assert reading.used.tokens == 1000 + 10 + 30 + 20
    assert reading.basis.last_input == 1000


def test_an_error_response_changes_nothing_but_the_spend() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(5))))
    before = meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    second = meter.before(request(*meter.messages))
    after = meter.after(second.call, usage(9999, 0), outcome="failed")
    assert after.used == before.used
    assert after.spend.by_purpose["failed"].calls == 1


def test_classification_and_summary_calls_are_spend_only() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(5))))
    before = meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    helper = meter.before(request(said("x", "classify")), purpose="other")
    after = meter.after(helper.call, usage(70, 1), purpose="other")
    assert after.used == before.used
    assert after.spend.by_purpose["other"].input == 70


def test_a_cancelled_call_keeps_what_was_shown_as_an_estimate() -> None:
    meter = Meter("claude-haiku-4-5", estimator=per_word)
    first = meter.before(request(said("q", words(5))))
    meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    second = meter.before(request(*meter.messages, said("n", words(5))))
    reading = meter.after(second.call, None, answer("b", words(40)), outcome="cancelled")
    assert reading.used.tokens == 1000 + 10 + 5 + 40


def test_an_injected_system_message_is_new_content() -> None:
    meter = Meter("gpt-4o", wire="chat", estimator=per_word)
    first = meter.before(
        request(said("q", words(5)), model="gpt-4o", wire="chat", provider="openai")
    )
    meter.after(first.call, usage(1000, 10), answer("a", words(10)))
    note = said("n", words(12), role="system")
    reading = meter.before(
        request(*meter.messages, note, model="gpt-4o", wire="chat", provider="openai")
    )
    assert reading.used.tokens == 1022


class TestReasoningThatIsNotSentBack:
    """100k of content, 50k or 60k of reasoning: what is not sent is not counted."""

    def meter(
        self, reasoning: int, *, included: bool, window: int | None = None
    ) -> Meter:
        policy = ReasoningPolicy(include_in_context=included)
        meter = Meter(
            "claude-opus-4-5",
            estimator=per_word,
            policy=policy,
            window=window,
            trigger=1.0,
            reserve=0,
        )
        answered = answer("a", words(50_000), reasoning=words(reasoning))
        meter.before(request(said("q", words(50_000)), answered, model="claude-opus-4-5"))
        return meter

    def test_raw_160k_effective_100k_limit_150k_does_not_compact_until_reasoning_is_included(
        self,
    ) -> None:
        meter = self.meter(60_000, included=False, window=150_000)
        assert not meter.should_compact()
        meter.apply(PolicyChanged(include_in_context=True))
        assert meter.should_compact()
        assert meter.reading().should_compact()


def test_an_answer_that_is_counted_by_its_text_is_shown_with_both_numbers() -> None:
    meter = Meter(
        "claude-opus-4-5", wire="messages", provider="anthropic", estimator="pretoken"
    )
    first = meter.before(request(said("q", "go"), model="claude-opus-4-5"))
    basis = meter.after(first.call, usage(5_000, 300), answer("a", "I look.")).basis
    assert basis.reported_output == 300
    assert basis.last_output < 100
    assert (
        f"reported as 300, and is charged by its text when sent back, {basis.last_output}"
        in basis.label
    )
