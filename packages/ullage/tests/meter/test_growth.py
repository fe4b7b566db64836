from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.meter.session import answer, result, said
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderItem,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.cost import (
    Added,
    AnswerTokens,
    Counted,
    MediaCost,
    Widths,
    message_cost,
)
from ullage.meter.growth import (
    Estimate,
    GrowthSituation,
    LastCall,
    counted_for,
    half_widths,
    hidden_reasoning,
    next_input,
)
from ullage.meter.policy import LEAST_CONTENT
from ullage.reasoning import Maker, begins_turn, rule_for
from ullage.tokens.calibration import Learnt, learn
from ullage.tokens.families import PLAIN, Family, family_for
from ullage.tokens.regression import Observation
from ullage.tokens.text import TextCounter, counter_for

WORDS = counter_for(lambda text: float(len(text.split())))
TWENTY = counter_for(lambda text: 20.0)

CLAUDE = Maker("messages", "anthropic", "claude-sonnet-4-5")
GPT5 = Maker("responses", "openai", "gpt-5")
GPT4O = Maker("chat", "openai", "gpt-4o")


def family(asked: Maker) -> Family:
    return family_for(*asked)


def tools(asked: Maker) -> GrowthSituation:
    return GrowthSituation(rule=rule_for(*asked))


def user(asked: Maker) -> GrowthSituation:
    return GrowthSituation(rule=rule_for(*asked), begins_turn=True)


def no_media(part: ImagePart | FilePart, in_result: bool) -> float:
    return 0.0


def added_by(
    message: Message,
    own: Family,
    counter: TextCounter,
    *,
    tool_names: dict[str, str] | None = None,
    media: MediaCost = no_media,
) -> Added:
    return message_cost(
        message, own, counter, tool_names=tool_names or {}, media=media
    ).added


def after(
    asked: Maker,
    *,
    input: int = 1000,
    output: int | None = None,
    situation: GrowthSituation | None = None,
    learnt: Learnt = Learnt(),  # noqa: B008
    added: Added = Added(),  # noqa: B008
    **last: Any,
) -> Estimate:
    """The next input after a call that this model answered; at a user's turn unless said otherwise."""
    call = LastCall(input=input, output=output, **last)
    return next_input(call, added, situation or user(asked), family(asked), learnt)


def low(estimate: Estimate) -> float:
    return estimate.exact - half_widths(estimate.doubt).below


def high(estimate: Estimate) -> float:
    return estimate.exact + half_widths(estimate.doubt).above


def test_the_seeds_example_gives_5120() -> None:
    added = added_by(result("r", "c", "whatever"), PLAIN, TWENTY)
    anchor = LastCall(input=5000, output=100)
    assert next_input(anchor, added, tools(Maker("", "", "")), PLAIN).exact == 5120


def test_a_tool_result_costs_its_text_and_its_wrapping() -> None:
    gpt = family(GPT4O)
    added = added_by(result("r", "c", "one two three", name="get_weather"), gpt, WORDS)
    # 3 words, 1 word of the tool's name, 2 for the first result; 4 for closing the answer stand outside.
    assert added.tokens(gpt) == 3 + 1 + gpt.framing.result
    anchor = LastCall(input=100, output=10)
    assert (
        next_input(anchor, added, tools(GPT4O), gpt).exact == 110 + 6 + gpt.framing.step
    )


def test_parallel_results_are_wrapped_as_a_batch() -> None:
    claude = family(CLAUDE)
    two = added_by(result("a", "1", "x"), claude, WORDS).plus(
        added_by(result("b", "2", "x"), claude, WORDS)
    )
    three = two.plus(added_by(result("c", "3", "x"), claude, WORDS))
    pair, further = claude.framing.pair, claude.framing.further
    # One word of the tool's name stands in each of several results.
    assert two.wrapping(claude) == pair + 2
    assert three.wrapping(claude) == pair + further + 3


def test_the_tools_name_is_taken_from_the_call_where_the_result_lacks_it() -> None:
    gpt = family(GPT4O)
    nameless = result("r", "c", "done", name="")
    assert added_by(nameless, gpt, WORDS, tool_names={"c": "get the weather"}).names == 3
    called = AnswerTokens(names=2.0, calls=1)
    last = LastCall(input=1, output=9, answer=called)
    by_call = next_input(last, added_by(nameless, gpt, WORDS), tools(GPT4O), gpt)
    without = next_input(
        LastCall(input=1, output=9), added_by(nameless, gpt, WORDS), tools(GPT4O), gpt
    )
    assert by_call.exact - without.exact == 2


@st.composite
def messages(draw: st.DrawFn) -> Message:
    text = draw(st.text(max_size=40))
    made: Message = draw(
        st.sampled_from(
            [
                said("m", text),
                result("m", "c", text),
                answer("m", text, reasoning="hm", calls=2),
            ]
        )
    )
    return made


@given(st.lists(messages(), max_size=8), st.lists(messages(), max_size=8))
def test_taking_away_undoes_adding(first: list[Message], second: list[Message]) -> None:
    claude = family(CLAUDE)
    before = Added()
    for each in first:
        before = before.plus(added_by(each, claude, WORDS))
    after = before
    for each in second:
        after = after.plus(added_by(each, claude, WORDS))
    for each in second:
        after = after.plus(added_by(each, claude, WORDS), -1)
    assert after.tokens(claude) == pytest.approx(before.tokens(claude))
    assert (after.users, after.results) == (before.users, before.results)


def test_reasoning_is_never_part_of_what_a_message_adds() -> None:
    claude = family(CLAUDE)
    with_it = answer("a", "yes", reasoning="because of many things", calls=1)
    assert added_by(with_it, claude, WORDS) == added_by(
        answer("a", "yes", calls=1), claude, WORDS
    )


def test_media_cost_what_their_formula_says_and_carry_their_doubt() -> None:
    claude = family(CLAUDE)
    image, file = ImagePart(id="i", width=10, height=10), FilePart(id="f")
    in_result = ToolResultPart(id="t", call_id="c", content=(image,))
    calls: list[bool] = []

    def media(part: ImagePart | FilePart, within: bool) -> float:
        calls.append(within)
        return 100.0

    message = Message(id="m", role="user", parts=(image, file, in_result))
    added = added_by(message, claude, WORDS, media=media)
    assert added.media == 300
    assert calls == [False, False, True]
    assert added.under > 100
    assert added.over > 1000


def test_an_item_that_lives_with_the_provider_may_cost_thousands() -> None:
    claude = family(CLAUDE)
    message = Message(id="m", role="user", parts=(ProviderItem(id="p", kind="file"),))
    added = added_by(message, claude, WORDS)
    estimate = next_input(LastCall(input=500, output=10), added, user(CLAUDE), claude)
    assert high(estimate) > 5000
    assert estimate.exact < 600


@pytest.mark.parametrize(
    ("asked", "is_tool_turn", "expected"),
    [
        (GPT5, True, True),
        (GPT5, False, False),
        (CLAUDE, True, True),
        (CLAUDE, False, False),
        (GPT4O, True, True),
    ],
)
def test_reasoning_is_kept_in_a_tool_loop_and_left_at_a_user_turn(
    asked: Maker, is_tool_turn: bool, expected: bool
) -> None:
    own = family(asked)
    situation = tools(asked) if is_tool_turn else user(asked)
    thought = AnswerTokens(text=20.0, thoughts=1)
    anchor = LastCall(input=1000, output=600, reasoning=500, answer=thought)
    estimate = next_input(anchor, Added(), situation, own)
    assert (estimate.reasoning_kept > 0) is expected
    assert estimate.answer_kept == pytest.approx(600 if expected else 100, abs=70)


@pytest.mark.parametrize(
    ("reported", "output", "hidden"),
    [(64, 150, 127), (64, 100, 80), (0, 45, 25), (128, 130, 128)],
)
def test_reasoning_floored_to_64_is_restored_from_what_is_visible(
    reported: int, output: int, hidden: float
) -> None:
    own = family(GPT5)
    anchor = LastCall(
        input=1, output=output, reasoning=reported, answer=AnswerTokens(text=17.0)
    )  # 20 with its wrapping
    assert hidden_reasoning(anchor, own) == hidden


def test_unreported_reasoning_is_the_output_that_is_not_visible() -> None:
    own = family(CLAUDE)
    shown = AnswerTokens(text=50.0, thoughts=1)
    visible = shown.visible(own)
    assert hidden_reasoning(
        LastCall(input=1, output=200, answer=shown), own
    ) == pytest.approx(200 - visible)
    last = LastCall(input=1, output=200, answer=replace(shown, thoughts=0))
    assert hidden_reasoning(last, own) == 0
    assert hidden_reasoning(LastCall(input=1, output=None, answer=shown), own) == 0


def test_a_placeholder_is_told_by_its_size_and_the_answer_counted_instead() -> None:
    shown = AnswerTokens(text=400.0, calls=1, parameters=2)
    placeholder, honest = (
        after(CLAUDE, input=5000, output=output, answer=shown, situation=tools(CLAUDE))
        for output in (3, 470)
    )
    assert (placeholder.degraded, honest.degraded) == (True, False)
    assert placeholder.answer_kept == pytest.approx(shown.visible(family(CLAUDE)))
    assert honest.answer_kept == 470
    assert sum(half_widths(placeholder.doubt)) > sum(half_widths(honest.doubt))


@pytest.mark.parametrize("marked", [{}, {"output": 39, "placeholder": True}])
def test_a_placeholder_that_is_marked_or_missing_counts_the_answer_too(
    marked: Any,
) -> None:
    estimate = after(GPT4O, input=100, answer=AnswerTokens(text=40.0), **marked)
    assert (estimate.degraded, estimate.answer_kept) == (True, 40)


def test_a_signature_tells_of_reasoning_whose_text_is_a_summary() -> None:
    plain = AnswerTokens(text=100.0, reasoning=50.0, thoughts=1, opaque_size=300)
    short, long = (
        after(CLAUDE, input=1, answer=each, situation=tools(CLAUDE)).answer_kept
        for each in (plain, replace(plain, opaque_size=10_000))
    )
    visible = plain.visible(family(CLAUDE))
    assert short == pytest.approx(visible + 0.98 * 50 + 5)
    assert long == pytest.approx(visible + 0.19 * 10_000 - 40)


def test_output_that_was_never_seen_is_not_sent_back() -> None:
    shown = AnswerTokens(text=50.0)
    hidden, near = (after(CLAUDE, output=each, answer=shown) for each in (90, 57))
    assert hidden.answer_kept == pytest.approx(shown.visible(family(CLAUDE)))
    assert near.answer_kept == 57


def test_what_was_learnt_corrects_text_and_offset() -> None:
    own = family(CLAUDE)
    learnt = Learnt()
    for content, residual in ((30.0, 7.0), (2000.0, 200.0)) * 6:
        seen = Observation(
            content=content,
            residual=residual,
            corrected=residual,
            expected=50.0,
        )
        learnt = learn(learnt, seen)
    added = Added(text=1000.0, results=1)
    plain, corrected = (
        next_input(LastCall(input=5000, output=100), added, tools(CLAUDE), own, each)
        for each in (Learnt(), learnt)
    )
    assert corrected.exact == pytest.approx(
        plain.exact + learnt.offset(is_user=False) + 1000 * (learnt.ratio - 1)
    )
    assert learnt.ratio > 1.04


@example([(30.0, -100.0, True)] * 8, 5.0, Maker("chat", "vllm", "some-model"))
@given(
    st.lists(
        st.tuples(st.floats(0, 3_000), st.floats(-5_000, 5_000), st.booleans()),
        max_size=12,
    ),
    st.floats(0, 3_000),
    st.sampled_from([CLAUDE, GPT4O, Maker("chat", "vllm", "some-model")]),
)
def test_added_text_grows_the_input_whatever_was_learnt(
    reports: list[tuple[float, float, bool]], text: float, asked: Maker
) -> None:
    own = family(asked)
    learnt = Learnt()
    for content, residual, is_user in reports:
        seen = Observation(
            content=content,
            residual=residual,
            corrected=residual,
            expected=50.0,
            is_user=is_user,
            is_known=own.is_known,
        )
        learnt = learn(learnt, seen)
    last = LastCall(input=500, output=100)
    estimate = next_input(last, Added(text=text), tools(asked), own, learnt)
    least = 500 + estimate.answer_kept + LEAST_CONTENT * text
    assert estimate.exact > least - 1e-6


def test_what_is_counted_instead_of_reported_is_corrected_as_text_and_calls() -> None:
    own = family(CLAUDE)
    answer = AnswerTokens(text=200.0, names=3.0, arguments=40.0, calls=2, thoughts=1)
    last = LastCall(input=1000, output=900, answer=answer)
    assert counted_for(last, own) == Counted(243.0, 2)
    assert counted_for(replace(last, reasoning=500), own) == Counted()
    assert counted_for(replace(last, output=None), own) == Counted()
    earlier = replace(user(CLAUDE), counted=Counted(50.0, 1))
    assert next_input(last, Added(), earlier, own).counted == Counted(293.0, 3)


THOUGHT = AnswerTokens(text=90.0, thoughts=1)


def test_a_flipped_rule_keeps_what_would_have_left() -> None:
    learnt = Learnt(flipped=(f"{user(CLAUDE).rule.name} turn",))
    flipped = after(CLAUDE, output=600, reasoning=500, answer=THOUGHT, learnt=learnt)
    assert (flipped.flipped, flipped.answer_kept) == (True, 600)


def test_where_a_rule_is_a_guess_the_interval_holds_both_ways() -> None:
    unknown = Maker("chat", "a host", "a model")
    last = {"output": 600, "reasoning": 500, "answer": THOUGHT}
    staying = replace(user(unknown), earlier=Widths(300.0, 0.0))
    settled = Learnt(settled=(f"{staying.rule.name} turn",))
    guessed, sure, in_loop = (
        half_widths(after(unknown, situation=situation, learnt=learnt, **last).doubt)  # type: ignore[arg-type]
        for situation, learnt in (
            (staying, Learnt()),
            (user(unknown), settled),
            (tools(unknown), Learnt()),
        )
    )
    assert guessed.below >= 800
    assert guessed.above == sure.above
    assert sure.below < 200
    assert in_loop.below >= 500


def test_a_model_that_forgets_its_answer_is_charged_for_the_new_message_alone() -> None:
    r1 = Maker("converse", "bedrock", "us.deepseek.r1-v1:0")
    added = added_by(said("m", "and now"), family(r1), WORDS)
    assert (
        next_input(LastCall(input=12, output=700), added, user(r1), family(r1)).exact < 30
    )


@given(
    st.integers(0, 10**7),
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(0, 10**6),
    st.floats(0, 1e5),
    st.sampled_from([CLAUDE, GPT5, GPT4O, Maker("", "", "")]),
    st.booleans(),
    st.booleans(),
)
def test_the_interval_holds_the_estimate_and_nothing_is_negative(
    spent: int,
    output: int | None,
    reasoning: int | None,
    text: float,
    asked: Maker,
    user_turn: bool,
    tool_turn: bool,
) -> None:
    anchor = LastCall(
        input=spent, output=output, reasoning=reasoning, answer=AnswerTokens(text=text)
    )
    rule = rule_for(*asked)
    here = GrowthSituation(
        rule=rule, begins_turn=begins_turn(rule, user_turn=user_turn, tool_turn=tool_turn)
    )
    estimate = next_input(
        anchor, Added(text=text, results=int(tool_turn)), here, family(asked)
    )
    assert low(estimate) < estimate.exact < high(estimate)
    assert estimate.exact >= 0


def test_every_kind_of_part_has_its_place_in_an_answer() -> None:
    own = family(CLAUDE)
    parts = (
        TextPart(id="t", text="a b"),
        ReasoningPart(id="r", text="c d e", opaque_size=9),
        ToolCallPart(id="c", call_id="1", name="f g", arguments='{"x": "h i j"}'),
    )
    message = Message(id="m", role="assistant", parts=parts)
    made = message_cost(message, own, WORDS, tool_names={}, media=no_media).answer
    assert made is not None
    assert (made.text, made.reasoning, made.names, made.arguments) == (2, 3, 2, 4)
    assert (made.calls, made.parameters, made.thoughts, made.opaque_size) == (1, 1, 1, 9)
