"""An answer that the application sends back otherwise than it came, and what else a next request may change unseen."""

from typing import Any

import pytest

from ullage.messages import (
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    TextPart,
    ToolCallPart,
)
from ullage.meter.meter import Meter
from ullage.tokens.text import counter_for
from ullage.usage import Usage

GPT = ("chat", "openai", "gpt-4o")
DEEPSEEK = ("chat", "groq", "deepseek-r1-distill-llama-70b")
CLAUDE = ("messages", "anthropic", "claude-sonnet-4-5")
COUNTER = counter_for("bpe")
SEARCH: dict[str, Any] = {"mcp_servers": [{"name": "search"}]}
LONG = "One sentence after another, all of them about alfajores. " * 20
SHORT = "It is about alfajores."


def asked(text: str, name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text=text),))


def answer(*parts: Part, name: str) -> Message:
    return Message(id=name, role="assistant", parts=parts)


def request(model: tuple[str, str, str], *messages: Message, **params: Any) -> Request:
    wire, provider, name = model
    return Request(
        wire=wire, provider=provider, model=name, messages=messages, params=params
    )


def next_input(
    model: tuple[str, str, str],
    came: tuple[Part, ...],
    goes: tuple[Part, ...],
    usage: Usage,
) -> int:
    """The reading of the second request, whose answer is ``goes`` where ``came`` was the model's."""
    meter = Meter(estimator="bpe")
    first = asked("What are alfajores?", "q1")
    call = meter.before(request(model, first)).call
    meter.after(call, usage, answer(*came, name="came"))
    second = request(model, first, answer(*goes, name="goes"), asked("And now?", "q2"))
    return meter.before(second).used.tokens


def test_an_answer_that_was_shortened_costs_what_is_left_of_it() -> None:
    long, short = TextPart(id="t", text=LONG), TextPart(id="t", text=SHORT)
    usage = Usage(input=100, output=1 + round(COUNTER.count(LONG, "o200k")))
    whole, cut = (next_input(GPT, (long,), (goes,), usage) for goes in (long, short))
    assert whole - cut == round(COUNTER.count(LONG, "o200k")) - round(
        COUNTER.count(SHORT, "o200k")
    )


def test_unreported_reasoning_that_is_not_sent_back_costs_nothing() -> None:
    thought, said = ReasoningPart(id="r", text=LONG), TextPart(id="t", text=SHORT)
    usage = Usage(input=21, output=1414)
    assert next_input(DEEPSEEK, (thought, said), (said,), usage) < 60


def test_an_edit_ends_with_the_call_that_reports_it() -> None:
    meter = Meter(estimator="bpe")
    first, last = asked("What are alfajores?", "q1"), asked("And now?", "q2")
    call = meter.before(request(GPT, first)).call
    answered = answer(TextPart(id="t", text=LONG), name="came")
    meter.after(call, Usage(input=100, output=200), answered)
    short = answer(TextPart(id="u", text=SHORT), name="goes")
    call = meter.before(request(GPT, first, short, last)).call
    settled = meter.after(call, Usage(input=120, output=1))
    assert settled.basis.last_input == 120
    assert settled.used.tokens < 130


def test_what_a_tool_of_the_provider_brought_is_not_known_before_the_next_call() -> None:
    readings = []
    for parts in (
        (TextPart(id="t", text=SHORT),),
        (ProviderItem(id="i"), TextPart(id="t", text=SHORT)),
    ):
        meter = Meter(estimator="bpe")
        call = meter.before(request(CLAUDE, asked("Search.", "q1"), **SEARCH)).call
        readings.append(
            meter.after(call, Usage(input=9_000, output=9), answer(*parts, name="a")).used
        )
    plain, searched = readings
    assert searched.low < plain.low - 5_000
    assert searched.high > plain.high + 5_000


def test_an_unseen_item_in_a_large_session_does_not_double_it() -> None:
    meter = Meter(estimator="bpe")
    call = meter.before(request(CLAUDE, asked("Search.", "q1"), **SEARCH)).call
    used = meter.after(
        call, Usage(input=150_000, output=9), answer(ProviderItem(id="i"), name="a")
    ).used
    assert 150_000 < used.high < 195_000


@pytest.mark.parametrize("after", [{}, {"response_format": {"type": "json_object"}}])
def test_a_changed_format_of_the_answer_is_a_doubt_even_where_it_costs_nothing(
    after: dict[str, Any],
) -> None:
    schema = {
        "type": "json_schema",
        "json_schema": {"schema": {"type": "object", "properties": {"a": {}}}},
    }
    widths = []
    for format_ in ({"response_format": schema}, after):
        meter = Meter(estimator="bpe")
        first = asked("Hello", "q1")
        call = meter.before(request(GPT, first, response_format=schema)).call
        said = answer(ToolCallPart(id="c", call_id="1", name="f"), name="a")
        meter.after(call, Usage(input=100, output=9), said)
        used = meter.before(
            request(GPT, first, said, asked("And now?", "q2"), **format_)
        ).used
        widths.append(used.high - used.low)
    same, changed = widths
    assert changed > same + 100
