import pytest

from ullage.codec.dialects import DIALECTS, dialect_for, hour_writes, normalise


def test_every_row_stands_under_its_name_and_names_a_public_page() -> None:
    for name, row in DIALECTS.items():
        assert row.name == name
        assert row.source.startswith("https://")
        assert row.input
        assert row.output


def test_reasoning_that_has_no_field_is_inside_or_what_is_left_of_the_total() -> None:
    for row in DIALECTS.values():
        if not row.reasoning:
            assert row.thinking in ("inside", "detect", "remainder")
        if row.thinking in ("detect", "remainder"):
            assert row.total


@pytest.mark.parametrize(
    ("wire", "provider", "model", "dialect"),
    [
        ("messages", "anthropic", "", "anthropic"),
        ("messages", "vertex", "", "anthropic"),
        ("messages", "bedrock", "", "anthropic"),
        ("converse", "bedrock", "", "bedrock"),
        ("chat", "openai", "", "openai-chat"),
        ("chat", "somebody", "", "openai-chat"),
        ("chat", "xai", "", "xai"),
        ("chat", "google", "", "gemini-chat"),
        ("chat", "vercel-gateway", "google/gemini-2.5-flash", "gateway-gemini"),
        ("chat", "vercel-gateway", "openai/gpt-5", "gateway"),
        ("chat(litellm)", "anthropic", "", "litellm"),
        ("responses", "openai", "", "openai-responses"),
        ("responses", "xai", "", "xai-responses"),
        ("generateContent", "google", "", "gemini"),
        ("generateContent", "vertex", "", "vertex"),
        ("cohere-v2", "cohere", "", "cohere"),
        ("ollama", "ollama", "", "ollama"),
        ("codex", "", "", "codex"),
        ("telepathy", "openai", "", "unknown"),
    ],
)
def test_the_dialect_follows_from_wire_and_provider(
    wire: str, provider: str, model: str, dialect: str
) -> None:
    assert dialect_for(wire, provider, model) == dialect


@pytest.mark.parametrize(
    ("writes", "kept"),
    [
        ({"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}, 200),
        ({"ephemeral_1h_input_tokens": 900}, 300),
        ({"ephemeral_1h_input_tokens": -5}, 0),
        ({"ephemeral_1h_input_tokens": "200"}, 0),
        ({"ephemeral_1h_input_tokens": True}, 0),
        ([{"ephemeral_1h_input_tokens": 200}], 0),
        (None, 0),
    ],
)
def test_of_the_cache_writes_those_for_an_hour_are_told_where_the_usage_lists_them(
    writes: object, kept: int
) -> None:
    raw = {"input_tokens": 1, "cache_creation_input_tokens": 300, "output_tokens": 1}
    usage = normalise("anthropic", raw | {"cache_creation": writes})
    assert hour_writes(usage) == kept


def test_langchains_usage_tells_the_writes_for_an_hour_as_well() -> None:
    details = {"cache_creation": 0, "ephemeral_1h_input_tokens": 100}
    details["ephemeral_5m_input_tokens"] = 400
    raw = {"input_tokens": 501, "output_tokens": 1, "total_tokens": 502}
    usage = normalise("langchain", raw | {"input_token_details": details})
    assert (usage.cache_write, hour_writes(usage)) == (500, 100)
