import pytest

from ullage.meter.opening import EXACT
from ullage.tokens import template
from ullage.tokens.families import GENERIC, family_for
from ullage.tokens.template import UNKNOWN, template_for


def test_openai_opens_the_answer_with_three_tokens_and_each_message_with_four() -> None:
    chat = template_for("chat", "openai", "gpt-4o-mini")
    assert (chat.base, chat.message) == (3, 4)


@pytest.mark.parametrize(
    "model", ["o3-mini", "o4-mini", "gpt-5", "gpt-5.4-nano", "openai/gpt-5-mini"]
)
def test_reasoning_models_open_the_answer_with_one_token_less(model: str) -> None:
    assert template_for("chat", "openai", model).base == 2
    assert template_for("responses", "openai", model).base == 2


def test_gpt_4o_is_no_o_series_model() -> None:
    assert template_for("chat", "openai", "gpt-4o").base == 3


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("claude-3-5-haiku-latest", "claude-sonnet-4-20250514"),
        (
            "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
        ("anthropic/claude-sonnet-4", "anthropic/claude-haiku-4.5"),
    ],
)
def test_the_hidden_tool_prompt_of_claude_grew_with_the_generations(
    older: str, newer: str
) -> None:
    assert (
        template_for("messages", "", older).tools.once
        < template_for("messages", "", newer).tools.once
    )


@pytest.mark.parametrize(
    ("model", "once"),
    [
        ("claude-opus-4-7", 675),
        ("claude-opus-4-8", 290),
        ("claude-opus-5-20260801", 286),
        ("claude-fable-5", 290),
        ("anthropic/claude-sonnet-5", 354),
    ],
)
def test_the_hidden_tool_prompt_of_newer_claude_differs_by_model(
    model: str, once: float
) -> None:
    template = template_for("messages", "anthropic", model)
    assert (template.tools.once, template.stratum) == (once, "claude")


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5.2", "haiku-6"])
def test_a_newer_claude_may_have_any_tool_prompt_that_is_known(model: str) -> None:
    template = template_for("messages", "anthropic", model)
    half = EXACT[template.stratum].tools.tokens
    assert template.tools.once - half < 286
    assert template.tools.once + half > 675


def test_claude_costs_the_same_wherever_it_is_served() -> None:
    names = {
        ("messages", "anthropic", "claude-sonnet-4-5"),
        ("converse", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("chat", "openrouter", "anthropic/claude-sonnet-4.5"),
    }
    assert len({template_for(*name) for name in names}) == 1


def test_vertex_charges_less_for_tools_than_ai_studio() -> None:
    assert (
        template_for("generateContent", "vertex", "gemini-2.5-flash").tools.style
        == "words"
    )
    studio = template_for("generateContent", "google", "gemini-2.5-flash").tools
    assert (
        studio.each
        > template_for("generateContent", "vertex", "gemini-2.5-flash").tools.each
    )


def test_a_deployment_named_at_will_on_azure_is_taken_for_openai() -> None:
    assert template_for("chat", "azure", "my-deployment") == template_for(
        "chat", "openai", "gpt-4o"
    )


def test_a_model_nobody_knows_gets_the_generic_framing() -> None:
    assert template_for("chat", "somewhere", "brand-new-1") is template.UNKNOWN
    assert template_for("", "", "") is template.UNKNOWN


def test_every_row_can_be_reached_and_says_what_it_rests_on() -> None:
    for row in template.template_rows():
        assert row.template.stratum in {*EXACT, "other"}
        assert row.template.n >= 0


def test_a_simulated_model_counts_as_no_model_was_measured_whatever_its_name() -> None:
    assert template_for("messages", "anthropic", "claude-simulated") is UNKNOWN
    assert family_for("messages", "anthropic", "claude-simulated") is GENERIC
