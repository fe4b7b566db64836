from __future__ import annotations

import pytest

from ullage.codec.dialects import DIALECTS, dialect_for


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
