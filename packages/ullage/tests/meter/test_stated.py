from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.meter.session import answer, said, usage
from ullage import Meter
from ullage.envelope import MOST_TOKENS
from ullage.events import (
    Amount,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    Event,
    LimitLearnt,
    MessageAdded,
    SessionStarted,
    SizeStated,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import COMPACTION, Message, ProviderItem, SystemBlock
from ullage.meter.window import Limit, Limits
from ullage_programs.facts import ClientLimit
from ullage_programs.limits import ClientLimits

STARTED: Final = SessionStarted(
    model="gpt-5.2",
    wire="responses",
    provider="openai",
    program="codex 0.142.5",
    unlogged=("tools",),
)
SEALED: Final = Message(
    id="s",
    role="user",
    parts=(ProviderItem(id="s/0", kind=COMPACTION),),
    origin="summary",
)
COMPACTED: Final[tuple[Event, ...]] = (
    STARTED,
    SystemChanged(system=(SystemBlock(text="be brief " * 500),)),
    MessageAdded(message=said("u", "some words " * 1_000)),
    CallStarted(call="c1"),
    CallEnded(call="c1", usage=usage(9_000, 50)),
    MessageAdded(message=answer("a", "yes", call="c1")),
    CompactionCommitted(compaction="k", summary=SEALED, summarised=("a",)),
)


def folded(*events: Event) -> Meter:
    meter = Meter()
    for event in events:
        meter.apply(event)
    return meter


def test_the_size_of_a_hidden_summary_is_what_the_program_counts_beyond_the_log() -> None:
    event = SizeStated(by="Codex", tokens=8_000, known=3_000)
    reading = folded(*COMPACTED, event).reading()
    used = reading.used
    assert abs(used.tokens - 14_000) < 100, "the first call, and 5,000 of the summary"
    assert 13_200 < used.low < used.tokens < used.high < 14_800
    assert reading.basis.label == "as Codex says"
    assert reading.basis.last_input is None
    summary = next(row for row in reading.rows if row.name == "Summary")
    assert abs(summary.tokens - 5_000) < 50


def test_a_subagent_may_have_fewer_tools_than_the_session_it_was_copied_from() -> None:
    started = replace(STARTED, is_subagent=True)
    event = SizeStated(by="Codex", tokens=3_500, known=3_000)
    used = folded(started, *COMPACTED[1:], event).reading().used
    assert used.tokens - used.low == pytest.approx(1_700, rel=0.01)


def test_where_nothing_is_unlogged_the_log_and_the_hidden_summary_are_all() -> None:
    whole = replace(STARTED, unlogged=())
    event = SizeStated(by="X", tokens=8_000, known=3_000)
    used = folded(whole, *COMPACTED[1:], event).reading().used
    shown = folded(whole, *COMPACTED[1:3]).reading().used
    assert used.tokens == pytest.approx(shown.tokens + 5_000, abs=100)


def test_a_number_alone_is_used_with_what_the_program_leaves_out_of_it() -> None:
    beside = Amount(tokens=3_000, low=2_000, high=4_500)
    event = SizeStated(by="Codex", tokens=8_000, beside=beside)
    used = folded(*COMPACTED, event).reading().used
    assert (used.low, used.tokens, used.high) == pytest.approx(
        (9_500, 11_000, 12_500), abs=20
    )


def test_what_a_program_says_is_less_than_a_report_and_more_than_an_estimate() -> None:
    event = SizeStated(by="Codex", tokens=30_000)
    reported = folded(*COMPACTED[:-1]).reading()
    assert folded(*COMPACTED[:-1], event).reading().used == reported.used
    estimated = folded(*COMPACTED[:3], event).reading()
    assert estimated.used.tokens == pytest.approx(30_000, abs=20)
    told = [each.basis.is_told for each in (folded(*COMPACTED[:3]).reading(), estimated)]
    assert told == [False, True]
    assert reported.basis.is_told
    later = folded(*COMPACTED, event, CallStarted(call="c2"))
    later.apply(CallEnded(call="c2", usage=usage(31_000, 5)))
    assert later.reading().used.tokens == pytest.approx(31_005, abs=20)
    assert later.reading().basis.label == ""
    assert later.steps[-1].estimated == pytest.approx(30_000, abs=20)


@pytest.mark.parametrize("tokens", [0, -5, 10**12])
def test_a_size_that_can_not_be_true_changes_nothing(tokens: int) -> None:
    before = folded(*COMPACTED).reading().used
    assert folded(*COMPACTED, SizeStated(by="X", tokens=tokens)).reading().used == before


def calls(*inputs: int, words: int = 600) -> Meter:
    """A conversation in which every call reports such an input, and is followed by a question of so many words."""
    meter = folded(STARTED, SystemChanged(system=()), ToolsChanged(tools=()))
    for number, used in enumerate(inputs):
        meter.apply(MessageAdded(message=said(f"u{number}", "some words " * words)))
        meter.apply(CallStarted(call=f"c{number}"))
        meter.apply(CallEnded(call=f"c{number}", usage=usage(used, 5)))
        meter.apply(MessageAdded(message=answer(f"a{number}", "yes", call=f"c{number}")))
    return meter


def test_inputs_that_stand_still_while_the_conversation_grows_are_cut_by_the_provider() -> (
    None
):
    grows = [8_000, 9_200, 10_400]
    for repeated, is_cut in ((2, False), (3, True), (9, True)):
        meter = calls(*grows, *[11_000] * repeated)
        meter.apply(MessageAdded(message=said("u", "some words " * 600)))
        reading = meter.reading()
        assert (reading.window.tokens == 11_000) == is_cut
        assert (reading.used.tokens == 11_000) == is_cut
        assert any("cuts off" in note for note in reading.notes) == is_cut
        if is_cut:
            assert reading.free is not None
            assert reading.free <= 0
            assert f"The last {repeated} calls reported 11,000" in reading.notes[0]


@pytest.mark.parametrize(
    ("constant", "words", "is_cut"),
    [
        (1_000, 150, False),
        (7_000, 1_000, False),
        (4_096, 1_200, True),
        (4_096, 200, False),
    ],
)
def test_inputs_that_never_moved_are_cut_where_they_are_a_window_that_the_messages_exceed(
    constant: int, words: int, is_cut: bool
) -> None:
    reading = calls(*[constant] * 6, words=words).reading()
    assert any("cuts off" in note for note in reading.notes) == is_cut
    assert (reading.window.tokens == constant) == is_cut


@pytest.mark.parametrize(
    ("repeated", "is_cut"), [(10_501, False), (11_000, True), (11_264, True)]
)
def test_a_report_that_is_repeated_is_a_cut_where_windows_have_its_size(
    repeated: int, is_cut: bool
) -> None:
    reading = calls(8_000, 9_200, 10_400, *[repeated] * 4).reading()
    assert any("cuts off" in note for note in reading.notes) == is_cut


def test_an_input_that_moves_again_is_cut_no_more() -> None:
    meter = calls(8_000, 9_200, 9_216, 9_216, 9_216, 10_500)
    assert meter.reading().window.tokens != 9_216
    assert meter.reading().used.tokens > 10_500


def test_the_same_input_for_a_repeated_request_is_not_cut() -> None:
    meter = calls(8_000, 8_000, 8_000, 8_000, words=1)
    assert not any("cuts off" in note for note in meter.reading().notes)


def test_a_program_whose_threshold_is_cut_off_does_not_compact() -> None:
    limits = Limits(
        window=Limit(tokens=200_000, source="log"),
        program="OpenCode",
        client=ClientLimits(threshold=ClientLimit(180_000, "documented", "")),
    )
    assert limits.denominators.compaction_point == 180_000
    cut = limits.with_cut(150_000).denominators
    assert (cut.window.tokens, cut.compaction_point) == (150_000, None)
    assert limits.with_cut(190_000).denominators.compaction_point == 180_000


def test_the_size_that_a_refusal_names_is_the_reading() -> None:
    meter = folded(*COMPACTED[:-1], CallStarted(call="c2"))
    meter.apply(CallEnded(call="c2", outcome="failed", counted=215_692))
    used = meter.reading().used
    assert used.tokens == pytest.approx(215_692, abs=20)
    assert used.low < used.tokens < used.high
    assert meter.reading().basis.label == "as the provider says"


HUGE: Final = (0, -5, 10**9 + 1, 2**63, 10**30, -(10**30), 10**400)
SAID: Final = st.one_of(st.integers(1, 20_000), st.sampled_from(HUGE))
ODD: Final = st.one_of(st.none(), SAID)


@given(
    SAID, ODD, st.lists(st.one_of(st.just(0), ODD), min_size=3, max_size=3), st.booleans()
)
def test_no_number_that_is_said_makes_a_reading_that_can_not_be(
    tokens: int, known: int | None, beside: list[int | None], provider: bool
) -> None:
    amount, low, high = (each or 0 for each in beside)
    event = SizeStated(
        by="X",
        is_provider=provider,
        tokens=tokens,
        known=known,
        beside=Amount(tokens=amount, low=low, high=high),
    )
    for before in (COMPACTED, COMPACTED[:-1]):
        used = folded(*before, event).reading().used
        assert 0 <= used.low <= used.tokens <= used.high <= 4 * MOST_TOKENS
        assert used.low < used.high


@pytest.mark.parametrize("counted", [5, 100, 900_000_000])
def test_a_refusal_that_counts_what_can_not_be_leaves_the_bill(counted: int) -> None:
    refused = CallEnded(call="c2", outcome="failed", error="too long", counted=counted)
    billed = COMPACTED[:-1]
    before = folded(*billed).reading().used
    assert folded(*billed, CallStarted(call="c2"), refused).reading().used == before


@pytest.mark.parametrize("limit", [4, 255, 2_000, MOST_TOKENS])
@pytest.mark.parametrize("is_window", [True, False])
def test_a_refusal_that_names_an_impossible_limit_changes_none(
    is_window: bool, limit: int
) -> None:
    """The request before held 9,000 tokens."""
    before = folded(*COMPACTED[:-1])
    refused = LimitLearnt(model="gpt-5.2", source="error", input_cap=limit)
    if is_window:
        refused = replace(refused, window=limit, input_cap=None)
    after = folded(*COMPACTED[:-1], refused)
    assert after.reading().window == before.reading().window
    assert after.reading().input_limit == before.reading().input_limit


@pytest.mark.parametrize("limit", [4_096, 8_000, 200_000, 1_000_000])
def test_a_smaller_window_than_the_table_says_is_believed_from_a_refusal(
    limit: int,
) -> None:
    refused = LimitLearnt(model="gpt-5.2", source="error", window=limit)
    assert folded(*COMPACTED[:-1], refused).reading().window.tokens == limit
