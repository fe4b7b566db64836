"""In which form a provider counts reasoning: encrypted, under the signature of a call, or as the text of a thought."""

import msgspec
import pytest
from msgspec.structs import replace

from tests.meter.session import request, result, said, usage
from ullage.messages import (
    Message,
    Part,
    ProviderData,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from ullage.meter.growth import is_proven
from ullage.meter.meter import Meter
from ullage.meter.reading import Used
from ullage.reasoning import Evidence, Maker, ReasoningRule, rule_for

XAI = ("responses", "xai")
GOOGLE = ("generateContent", "google")
THOUGHT = "The question is about two cities, and the forecast of both is needed. " * 6
ASKED = said("u1", "What is the weather in Tokyo?")
THANKS = said("u2", "Thank you. And tomorrow?")


def answered(
    place: tuple[str, str],
    model: str,
    *,
    thought: str = THOUGHT,
    opaque: int = 0,
    signed_call: bool = False,
    calls: bool = False,
    of_the_wire: bool = True,
) -> Message:
    """An answer with reasoning of that form, and a call or a text."""
    data = ProviderData(
        data=msgspec.Raw(b"{}"), wire=place[0], provider=place[1], model=model
    )
    parts: list[Part] = []
    if thought or opaque:
        parts.append(
            ReasoningPart(
                id="a1.r",
                text=thought,
                opaque_size=opaque,
                provider=data if of_the_wire else None,
            )
        )
    if calls:
        parts.append(
            ToolCallPart(
                id="a1.c",
                call_id="c1",
                name="weather",
                arguments='{"city":"Tokyo"}',
                opaque_size=400 if signed_call else 0,
            )
        )
    else:
        parts.append(TextPart(id="a1.t", text="It is sunny."))
    return Message(id="a1", role="assistant", parts=tuple(parts))


def next_reading(
    place: tuple[str, str],
    model: str,
    answer: Message,
    *new: Message,
    sent: Message | None = None,
) -> Used:
    """The reading of a second call, after one of 500 tokens whose answer took 300, 280 of them to reason."""
    meter = Meter()
    wire, provider = place

    def asks(*messages: Message) -> str:
        body = request(*messages, wire=wire, provider=provider, model=model)
        return meter.before(body).call

    meter.after(asks(ASKED), usage(500, 300, reasoning=280), answer)
    asks(ASKED, sent or answer, *new)
    return meter.reading().used


@pytest.mark.parametrize(
    ("model", "opaque", "is_counted"),
    [
        ("grok-4.3", 900, True),
        ("grok-4.3", 0, False),
        ("grok-3-mini", 0, True),
        ("grok-4-0709", 0, True),
    ],
)
@pytest.mark.parametrize("calls", [True, False])
def test_grok_counts_what_is_encrypted_and_older_models_plain_text_too(
    model: str, opaque: int, is_counted: bool, calls: bool
) -> None:
    answer = answered(XAI, model, opaque=opaque, calls=calls)
    new = result("r1", "c1", "sunny", name="weather") if calls else THANKS
    used = next_reading(XAI, model, answer, new)
    assert (used.tokens > 780) is is_counted
    is_sure = model == "grok-4.3" and opaque and calls
    assert (used.high - used.low > 280) is not is_sure, "both ways where few pairs say"


@pytest.mark.parametrize("is_steered", [True, False])
def test_whether_a_message_beside_results_begins_a_turn_of_gpt_is_held_both_ways(
    is_steered: bool,
) -> None:
    place = ("responses", "openai")
    answer = answered(place, "gpt-5.5", opaque=900, calls=True)
    new = [result("r1", "c1", "sunny", name="weather")] + [THANKS] * is_steered
    used = next_reading(place, "gpt-5.5", answer, *new)
    assert used.tokens > 780
    assert (used.low < 560) is is_steered
    assert used.high < 860


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-flash-preview"])
def test_the_text_of_a_thought_that_gemini_is_sent_is_charged_as_text(model: str) -> None:
    answer = answered(GOOGLE, model)
    with_it, without = (
        next_reading(GOOGLE, model, each, THANKS)
        for each in (answer, answered(GOOGLE, model, of_the_wire=False))
    )
    assert 60 < with_it.tokens - without.tokens < 120
    assert without.tokens < 540, "what a log shows of thoughts was not sent"


def test_the_reasoning_of_a_gemini_call_is_counted_under_its_signature() -> None:
    model, found = "gemini-3-flash-preview", result("r1", "c1", "sunny", name="weather")
    signed = answered(GOOGLE, model, thought="", calls=True, signed_call=True)
    bare = answered(GOOGLE, model, thought="", calls=True)
    in_loop, unsigned = (
        next_reading(GOOGLE, model, each, found) for each in (signed, bare)
    )
    assert in_loop.tokens - unsigned.tokens == 280
    text = answered(GOOGLE, model, thought="", opaque=900)
    after_text = next_reading(GOOGLE, model, text, THANKS)
    assert after_text.tokens < 540
    assert after_text.high > 780, "an answer without a call: too few pairs"


def test_where_a_turn_s_reasoning_may_stay_or_leave_the_interval_holds_both() -> None:
    found = result("r1", "c1", "sunny", name="weather")
    last = Message(
        id="a2", role="assistant", parts=(TextPart(id="a2.t", text="It is sunny."),)
    )

    def reading(model: str) -> Used:
        meter = Meter()
        signed = answered(GOOGLE, model, thought="", calls=True, signed_call=True)
        shown: list[Message] = [ASKED]
        for answer, new, reported in (
            (signed, found, usage(500, 300, reasoning=280)),
            (last, THANKS, usage(830, 12, reasoning=0)),
        ):
            body = request(*shown, wire="generateContent", provider="google", model=model)
            meter.after(meter.before(body).call, reported, answer)
            shown += [answer, new]
        meter.before(
            request(*shown, wire="generateContent", provider="google", model=model)
        )
        return meter.reading().used

    stays, leaves = reading("gemini-3.5-flash"), reading("gemini-3-flash-preview")
    assert stays.tokens - leaves.tokens == 280
    assert stays.low < leaves.tokens
    assert leaves.high < stays.tokens, "proven by enough pairs"


def test_an_edited_answer_with_a_call_is_held_with_and_without_the_edit() -> None:
    parts = (
        TextPart(id="a1.t", text="I will look up the weather in Tokyo for you now. " * 8),
        ToolCallPart(id="a1.c", call_id="c1", name="weather", arguments="{}"),
    )
    answer = Message(id="a1", role="assistant", parts=parts)
    place, model = ("chat", "cohere"), "command-a-03-2025"
    found = result("r1", "c1", "sunny", name="weather")
    whole = next_reading(place, model, answer, found)
    cut = replace(answer, parts=parts[1:])
    used = next_reading(place, model, answer, found, sent=cut)
    assert used.tokens < whole.tokens < used.high


@pytest.mark.parametrize(
    ("pairs", "proven"),
    [
        (Evidence(0), False),
        (Evidence(8), False),
        (Evidence(9), True),
        (Evidence(28, 1), False),
        (Evidence(29, 1), True),
    ],
)
def test_a_rule_is_proven_by_enough_pairs_that_hardly_contradict(
    pairs: Evidence, proven: bool
) -> None:
    rule = ReasoningRule(True, True, turns_pairs=pairs)
    assert is_proven(rule, begins=True) is proven
    assert not is_proven(rule, begins=False)


@pytest.mark.parametrize(
    ("asked", "begins", "proven"),
    [
        (Maker("messages", "anthropic", "claude-opus-4-5"), True, True),
        (Maker("messages", "anthropic", "claude-sonnet-5"), True, True),
        (Maker("responses", "openai", "gpt-5.5"), True, True),
        (Maker(*GOOGLE, "gemini-3-flash-preview"), True, True),
        (Maker(*GOOGLE, "gemini-3.5-flash"), True, False),
        (Maker(*XAI, "grok-4.3"), False, True),
        (Maker("chat", "deepseek", "deepseek-v4-flash"), False, False),
        (Maker("chat", "vercel-gateway", "google/gemini-3-pro"), False, False),
    ],
)
def test_which_rules_are_proven(asked: Maker, begins: bool, proven: bool) -> None:
    assert is_proven(rule_for(*asked), begins=begins) is proven
