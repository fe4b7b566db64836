"""What ships of the first calls of programs, and which of it is taken."""

import pytest

from tests.meter.session import said
from ullage.events import FirstCall, MessageAdded, SessionStarted
from ullage.meter.meter import Meter
from ullage.meter.overhead import LearntOverhead, learnt_overhead, typical_overhead
from ullage.meter.reading import Reading
from ullage.meter.shares import UNLOGGED
from ullage.meter.typical import (
    TypicalFirstCall,
    nearest_rows,
    typical_rows,
    version_number,
)
from ullage.tokens.families import family_for


def known(program: str, **about: object) -> LearntOverhead:
    found = typical_overhead(program, FirstCall(**about), lambda row: 1.0)  # type: ignore[arg-type]
    assert found is not None
    return found


def begun(program: str, model: str, *, is_subagent: bool = False) -> Reading:
    meter = Meter()
    started = SessionStarted(
        session="s",
        program=program,
        model=model,
        wire="messages",
        provider="anthropic",
        unlogged=("system", "tools"),
        is_subagent=is_subagent,
    )
    meter.apply(started)
    meter.apply(MessageAdded(message=said("u", "Which cask is full?")))
    return meter.reading()


@pytest.mark.parametrize(
    "row", typical_rows(), ids=lambda row: f"{row.program} {row.since} {row.situation}"
)
def test_each_row_is_in_order_and_of_a_model_that_is_known(row: TypicalFirstCall) -> None:
    if row.situation == "first call":
        assert 0 < row.low < row.tokens
        assert row.tokens < row.high
    assert row.low <= row.tokens <= row.high and row.low < row.high
    assert row.n >= 1 and row.source
    assert version_number(row.since) <= version_number(row.until)
    assert not row.model or family_for(row.wire, row.provider, row.model).is_known


def test_a_version_has_the_row_of_its_range_and_others_the_nearest_with_a_wider_interval() -> (
    None
):
    inside, above = known("claude-code 2.1.80"), known("claude-code 2.1.76")
    assert inside.tokens == above.tokens
    assert above.below == pytest.approx(2 * inside.below)
    assert known("claude-code 2.1.40").tokens > 1.5 * inside.tokens
    assert "2.1.77 to 2.1.111" in inside.source


def test_a_row_of_this_very_model_comes_before_those_of_others() -> None:
    sonnet, opus = (
        known("claude-code 2.1.217", model=model, provider="anthropic")
        for model in ("claude-sonnet-5", "claude-opus-5")
    )
    assert sonnet.tokens > opus.tokens + 5_000


def test_a_version_that_is_not_named_is_the_newest_one() -> None:
    assert known("codex").source == known("codex 0.171.0").source


def test_a_bare_installation_widens_what_users_have_and_stands_alone_without_them() -> (
    None
):
    logged = {"prompt": 4_433}
    codex, qwen = known("codex 0.169.0", logged=logged), known("qwen-code 0.24.4")
    assert codex.tokens > 5_500
    assert codex.tokens - codex.below < 1_600
    measured = known("codex 0.142.0", logged=logged)
    assert measured.tokens - measured.below > 4_900
    assert "at the simulators" in qwen.source
    # Users of 1.0.64 had 4,426 tokens beside 8,700 of the prompt; bare, 1.0.102 has 9,000 beside 6,268.
    copilot = known("copilot-cli 1.0.103", logged={"prompt": 6_268})
    assert copilot.tokens > 8_500
    assert known("codex 0.80.0").tokens < 3_500  # users of 0.47 are nearer than 0.169


def test_a_provider_that_is_not_listed_is_expected_to_add_nothing_of_its_own() -> None:
    about = {"logged": {"prompt": 4_433}, "model": "gpt-5.5"}
    elsewhere = known("codex 0.171.0", **about)
    openai = known("codex 0.171.0", provider="openai", **about)
    assert elsewhere.tokens < 1_700
    assert openai.tokens > 5_500
    for each in (elsewhere, openai):  # both hold what the other one expects
        assert each.tokens - each.below < 1_600
        assert each.tokens + each.above > openai.tokens


def test_a_subagent_has_its_own_row_or_a_wider_one_of_its_program() -> None:
    own = known("claude-code 2.1.80", is_subagent=True)
    assert own.tokens < known("claude-code 2.1.80").tokens
    (rows,) = nearest_rows("pi", is_subagent=True)
    assert not rows.is_measured


def test_a_program_that_was_not_measured_has_nothing() -> None:
    assert typical_overhead("barrel-code 1.0", FirstCall(), lambda row: 1.0) is None
    reading = begun("barrel-code 1.0", "claude-opus-4-6")
    assert reading.used.high - reading.used.tokens >= 2_000


def test_a_cold_first_call_names_its_source_and_is_not_sure_of_itself() -> None:
    reading = begun("claude-code 2.1.87", "claude-opus-4-6")
    row = next(row for row in reading.rows if row.name == UNLOGGED)
    assert row.note == "typical of claude-code 2.1.77 to 2.1.111: public logs, n = 84"
    assert 15_000 < reading.used.low < 20_000 < reading.used.tokens < 21_000
    assert reading.used.high > 25_000
    assert not any("lower bound" in note for note in reading.notes)


def test_another_models_tokens_are_converted() -> None:
    earlier, later = (
        begun("claude-code 2.1.87", model).used
        for model in ("claude-opus-4-6", "claude-opus-4-8")
    )
    assert 1.1 < later.tokens / earlier.tokens < 1.5
    assert later.high - later.low > 1.5 * (earlier.high - earlier.low)


def test_what_a_log_holds_is_not_expected_again() -> None:
    listed = {"skills": 1_000, "agents": 500}
    bare, told = known("claude-code 2.1.80"), known("claude-code 2.1.80", logged=listed)
    assert told.tokens == bare.tokens - 1_500


def test_what_another_model_was_sent_does_not_outweigh_what_is_typical() -> None:
    """Two small sessions of another model made 6,977 (4,361 to 11,757) of a first call of 45,259."""

    def expected(tokens: int, model: str) -> LearntOverhead:
        facts = {"program": "claude-code 2.1.42", "unlogged": "system+tools"}
        earlier = [
            FirstCall(id=name, session=name, tokens=tokens, model=model, **facts)  # type: ignore[arg-type]
            for name in "ab"
        ]
        now = FirstCall(session="now", model="claude-opus-4-6", **facts)  # type: ignore[arg-type]
        found = learnt_overhead(earlier, now, known)
        assert found is not None
        return found

    usual = known("claude-code 2.1.42")
    assert expected(6_977, "another-model") == usual
    assert expected(6_977, "claude-opus-4-6").tokens == 6_977
    within = round(0.9 * usual.tokens)
    assert expected(within, "another-model").tokens == within
