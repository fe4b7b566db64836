import pytest

from tests.cases import case
from ullage.meter.limits import Prices, Rate, corrections, lookup

K = 1_000
ARN = "arn:aws:bedrock:us-east-1:012345678901:"


def window(provider: str, model: str) -> int | None:
    found = lookup(provider, model)
    return None if found is None else found.window


def test_a_model_is_found_under_the_ids_people_use_for_it() -> None:
    cases: list[tuple[str, str, int]] = [
        ("anthropic", "claude-sonnet-4-5", 200 * K),
        ("anthropic", "claude-sonnet-4-5-20250929", 200 * K),
        ("anthropic", "claude-sonnet-4-5[1m]", 1_000 * K),
        ("anthropic", "claude-opus-4-5-20251101", 200 * K),
        ("anthropic", "claude-opus-4-6", 1_000 * K),
        ("anthropic", "claude-haiku-4-5-20251001", 200 * K),
        ("anthropic", "claude-3-5-haiku-latest", 200 * K),
        ("anthropic", "claude-3-opus-20240229", 200 * K),
        ("anthropic", "Claude-Sonnet-5", 1_000 * K),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200 * K),
        ("bedrock", "global.anthropic.claude-sonnet-4-6", 1_000 * K),
        ("bedrock", "anthropic.claude-v2", 100 * K),
        (
            "bedrock",
            ARN + "inference-profile/us.anthropic.claude-3-7-sonnet-20250219-v1:0",
            200 * K,
        ),
        ("bedrock", "us.amazon.nova-2-lite-v1:0", 1_000 * K),
        ("vertex", "claude-3-7-sonnet@20250219", 200 * K),
        ("vertex", "publishers/google/models/gemini-2.5-pro", 1_048_576),
        ("google", "models/gemini-3-flash-preview", 1_048_576),
        ("google", "gemini-2.5-flash-image", 32_768),
        ("google", "gemini-2.0-flash-001", 1_048_576),
        ("openai", "gpt-5", 400 * K),
        ("openai", "gpt-5-mini-2025-08-07", 400 * K),
        ("openai", "gpt-5.4", 1_050 * K),
        ("openai", "gpt-5-chat-latest", 128 * K),
        ("openai", "gpt-4.1-mini-2025-04-14", 1_047_576),
        ("openai", "gpt-4o-2024-08-06", 128 * K),
        ("openai", "gpt-4", 8_192),
        ("openai", "gpt-3.5-turbo", 16_385),
        ("openai", "o4-mini", 200 * K),
        ("azure", "gpt-5.2-chat", 128 * K),
        ("azure", "gpt-4o-mini-2024-07-18", 128 * K),
        ("xai", "grok-4.3", 1_000 * K),
        ("groq", "openai/gpt-oss-120b", 131_072),
        ("openrouter", "anthropic/claude-sonnet-4.5", 200 * K),
        ("openrouter", "google/gemini-2.0-flash-exp:free", 1_048_576),
        ("vercel-gateway", "openai/gpt-5", 400 * K),
        ("", "anthropic/claude-haiku-4.5", 200 * K),
        ("", "claude-opus-4-5", 200 * K),
        ("", "gpt-5", 400 * K),
        ("", "us.anthropic.claude-sonnet-4-20250514-v1:0", 200 * K),
        ("deepseek", "deepseek-v4-flash", 1_000 * K),
        ("zai", "glm-4.7", 200 * K),
    ]
    for provider, model, tokens in cases:
        with case(provider, model, tokens):
            assert window(provider, model) == tokens


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("", ""),
        ("openai", ""),
        ("openai", "gpt-5-but-ours"),
        ("anthropic", "claude"),
        ("", "my-model"),
        ("", "somebody/claude-sonnet-4-5"),
        ("ollama", "qwen3"),
        ("ollama", "gpt-oss:20b"),
        ("llamacpp", "openai/gpt-oss-20b"),
        ("vllm", "meta-llama/Llama-3.2-1B-Instruct"),
        ("snowflake", "claude-sonnet-4-6"),
        ("azure", "grok-4-1-fast-non-reasoning"),
        ("azure", "my-deployment"),
        ("bedrock", ARN + "application-inference-profile/mi1dadi0g15f"),
        ("nobody-knows", "gpt-oss-20b"),
    ],
)
def test_what_is_in_no_table_is_unknown_and_not_guessed(
    provider: str, model: str
) -> None:
    assert lookup(provider, model) is None


def test_an_input_cap_smaller_than_the_window_is_known() -> None:
    found = lookup("openai", "gpt-5.4-mini")
    assert found is not None
    assert found.window == 400 * K
    assert found.input_cap == 272 * K
    assert found.max_output == 128 * K
    larger = lookup("openai", "gpt-5.5")
    assert larger is not None
    assert (larger.window, larger.input_cap) == (1_050 * K, 922 * K)


def test_a_corrected_window_names_its_page_and_keeps_the_price() -> None:
    found = lookup("openrouter", "anthropic/claude-sonnet-4.5")
    assert found is not None
    assert found.source.startswith("https://platform.claude.com/")
    assert found.prices is not None
    assert found.prices.at(1_000) == Rate(0, 3, 15, 0.3, 3.75)


def test_every_correction_has_a_page_and_fits_some_id() -> None:
    for one in corrections():
        assert one.source.startswith("https://")
        assert one.input_cap is None or one.window is None or one.input_cap <= one.window
        assert (one.window or 1) > 0


def test_a_price_tier_starts_above_its_bound() -> None:
    prices = Prices((Rate(0, 1, 2, None, None), Rate(200_000, 3, 4, None, None)))
    assert prices.at(0).input == prices.at(200_000).input == 1
    assert prices.at(200_001).input == 3


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("opencode", "gpt-5.3-codex", 400_000),
        ("opencode", "claude-sonnet-4-5", 200_000),
        ("opencode", "kimi-k2.5", 262_144),
        ("openai-compatible", "gpt-5", 400_000),
        ("my-proxy", "claude-sonnet-4-5", 200_000),
        ("my-proxy", "gpt-oss-120b", None),
        ("my-proxy", "kimi-k2.5", None),
        ("github-copilot", "gpt-5", None),
        ("vllm", "gpt-5", None),
    ],
)
def test_a_gateway_and_an_unknown_name_have_the_vendors_limits_where_nobody_else_runs_the_model(
    provider: str, model: str, window: int | None
) -> None:
    limits = lookup(provider, model)
    assert (None if limits is None else limits.window) == window
