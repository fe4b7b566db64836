from typing import Any

import pytest

from ullage import Meter
from ullage.tokens.hidden_prompts import NONE, HiddenPrompt, hidden_prompt, rows_for

ASK = {"role": "user", "content": "What is an angel's share?"}


def found(
    wire: str,
    provider: str,
    model: str,
    *,
    has_system: bool = False,
    has_tools: bool = False,
    **params: object,
) -> HiddenPrompt:
    rows = rows_for(wire, provider, model)
    return hidden_prompt(rows, params, has_system=has_system, has_tools=has_tools)


def test_a_hosts_prompt_depends_on_whether_the_request_has_its_own() -> None:
    alone = found("chat", "venice", "qwen3-5-9b")
    beside = found("chat", "venice", "qwen3-5-9b", has_system=True)
    assert (alone.tokens, beside.tokens) == (1556, 935)
    assert alone.below == alone.above > 0


def test_tools_may_come_with_another_prompt() -> None:
    assert found("responses", "xai", "grok-3-mini").tokens == 184
    assert found("responses", "xai", "grok-3-mini", has_tools=True).tokens < 0
    assert found("responses", "xai", "grok-4.3") is NONE


@pytest.mark.parametrize(
    ("reasoning", "tokens"), [({"mode": "pro"}, 1530), ({"effort": "low"}, 0), ("pro", 0)]
)
def test_a_mode_of_the_provider_has_its_own_prompt(
    reasoning: object, tokens: float
) -> None:
    assert (
        found("responses", "openai", "gpt-5.6-sol", reasoning=reasoning).tokens == tokens
    )


@pytest.mark.parametrize(
    ("params", "low", "high"),
    [
        ({"thinking": {"type": "disabled"}}, 0, 0),
        ({"reasoning_effort": "low"}, 0, 0),
        ({"thinking": {"type": "enabled"}}, 0, 79),
        ({}, 0, 80),
    ],
)
def test_deepseeks_instruction_may_be_there_or_not_unless_it_cannot_be(
    params: dict[str, Any], low: float, high: float
) -> None:
    hidden = found("chat", "deepseek", "deepseek-v4-flash", **params)
    assert (hidden.tokens - hidden.below, hidden.tokens + hidden.above) == (low, high)


def test_deepseeks_responses_always_have_the_instruction_so_far() -> None:
    hidden = found("responses", "deepseek", "deepseek-v4-flash")
    assert (hidden.tokens, hidden.below, hidden.above) == (79, 79, 0)


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_groq_describes_the_form_of_the_answer(kind: str) -> None:
    hidden = found(
        "chat", "groq", "llama-3.3-70b-versatile", response_format={"type": kind}
    )
    assert hidden.tokens > hidden.below > 0


def test_no_other_request_has_a_hidden_prompt() -> None:
    assert found("chat", "openai", "gpt-4o") is NONE
    assert found("messages", "anthropic", "claude-sonnet-4-5", has_system=True) is NONE


def first_call(meter: Meter, body: dict[str, Any]) -> tuple[int, int, int]:
    used = meter.before(body).used
    return used.low, used.tokens, used.high


def test_a_first_call_holds_what_the_host_adds() -> None:
    model = "mistral-small-3-2-24b-instruct"
    body = {"model": model, "messages": [ASK]}
    _, elsewhere, _ = first_call(Meter(model, provider="mistral", wire="chat"), body)
    low, tokens, high = first_call(Meter(model, provider="venice", wire="chat"), body)
    assert tokens == elsewhere + 1556
    assert low < tokens < high < tokens + 100


def test_content_that_the_server_keeps_may_fill_the_window_until_it_was_billed() -> None:
    body = {
        "model": "gemini-2.5-flash",
        "cachedContent": "cachedContents/1",
        "contents": [{"role": "user", "parts": [{"text": "What is in it?"}]}],
    }
    meter = Meter("google:gemini-2.5-flash")
    before = meter.before(body)
    assert before.used.low <= before.used.tokens < 20
    assert before.used.high > 1_000_000
    meter.after(before.call, {"promptTokenCount": 5_776, "candidatesTokenCount": 10})
    answer = {"role": "model", "parts": [{"text": "A list of casks."}]}
    more = {"role": "user", "parts": [{"text": "How many?"}]}
    body["contents"] = [*body["contents"], answer, more]
    low, _, high = first_call(meter, body)
    assert 5_776 < low <= high < 5_900


def test_an_estimator_of_the_applications_own_is_taken_at_its_word() -> None:
    body = {"model": "qwen3-5-9b", "messages": [ASK]}
    own = Meter("qwen3-5-9b", provider="venice", wire="chat", estimator=len)
    assert first_call(own, body)[1] == len(str(ASK["content"]))
