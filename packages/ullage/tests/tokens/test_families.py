import pytest

from tests.cases import case
from ullage.tokens.families import GENERIC, PLAIN, family_for, family_rows


def test_a_model_belongs_to_the_family_that_was_measured() -> None:
    cases: list[tuple[str, str, str, str]] = [
        ("messages", "anthropic", "claude-sonnet-4-5-20250929", "claude"),
        ("converse", "bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude"),
        ("messages", "anthropic", "claude-opus-4-5", "claude"),
        ("messages", "anthropic", "claude-opus-4-7", "claude-4.7"),
        ("messages", "anthropic", "claude-opus-4-8", "claude-5"),
        ("messages", "anthropic", "claude-sonnet-5-5", "claude-5"),
        ("chat", "openrouter", "anthropic/claude-haiku-4.5", "claude"),
        ("chat", "openai", "gpt-4o-mini", "gpt"),
        ("responses", "openai", "gpt-4.1", "gpt-responses"),
        ("chat", "openai", "gpt-3.5-turbo", "gpt-4-turbo"),
        ("chat", "openai", "gpt-4-0613", "gpt-4-turbo"),
        ("chat", "openai", "gpt-4.1-nano", "gpt"),
        ("chat", "azure", "o4-mini", "gpt-reasoning"),
        ("responses", "openai", "gpt-5.3-codex", "gpt-reasoning-responses"),
        ("responses", "openai", "gpt-5.4-mini", "gpt-later-responses"),
        ("chat", "vercel-gateway", "openai/gpt-5", "gpt-reasoning-vercel"),
        ("chat", "groq", "openai/gpt-oss-120b", "gpt-oss"),
        ("generateContent", "google", "gemini-2.0-flash", "gemini-2.0"),
        ("generateContent", "google", "gemini-2.5-pro", "gemini-2.5-pro"),
        ("generateContent", "google", "gemini-3-flash-preview", "gemini"),
        ("generateContent", "vertex", "gemini-3-flash-preview", "gemini-vertex"),
        ("xai-grpc", "xai", "grok-4-fast", "grok-grpc"),
        ("converse", "bedrock", "us.deepseek.r1-v1:0", "deepseek-r1"),
        ("chat", "groq", "deepseek-r1-distill-llama-70b", "llama"),
        ("chat", "deepseek", "deepseek-chat", "deepseek"),
        ("chat", "mistral", "Mistral-Small-Latest", "mistral"),
        ("chat", "venice", "mistral-small-3-2-24b-instruct", "mistral-venice"),
    ]
    for wire, provider, model, family in cases:
        with case(wire, provider, model, family):
            assert family_for(wire, provider, model).name == family


@pytest.mark.parametrize(
    ("model", "is_own"),
    [
        ("claude-3-5-haiku-20241022", True),
        ("claude-opus-5-5", True),
        ("claude-v2", False),
        ("gpt-4o", True),
        ("openai/gpt-oss-20b", True),
        ("gpt-6-astra", False),
        ("text-davinci-003", False),
        ("gemini-3-flash-preview", True),
        ("gemini-4-argon", False),
        ("mistral-small-latest", True),
        ("mistral-large-2407", False),
        ("Qwen/Qwen3-8B", True),
        ("Qwen2.5-VL-72B-Instruct", True),
        ("qwen3.6:latest", False),
        ("qwen3-5-9b", False),
        ("qwen-plus", False),
        ("glm-4.7", True),
        ("glm-5-turbo", False),
        ("kimi-k2.5", True),
        ("deepseek-v4-flash", True),
        ("deepseek-r1-distill-qwen-32b", False),
        ("llama-3.3-70b-versatile", True),
        ("llama-4-scout", False),
        ("grok-4", False),
        ("sonar", False),
        ("a-model-of-next-year", False),
    ],
)
def test_a_vocabulary_is_a_models_own_or_the_nearest_that_is_known(
    model: str, is_own: bool
) -> None:
    assert family_for("chat", "someone", model).is_own == is_own


@pytest.mark.parametrize("model", ["", "a-model-of-next-year", "\ud800"])
def test_an_unknown_model_gets_the_generic_family(model: str) -> None:
    assert family_for("chat", "someone", model) is GENERIC
    assert not GENERIC.is_known


def test_the_plain_family_adds_nothing_to_an_estimators_word() -> None:
    assert PLAIN.framing.step == 0
    assert PLAIN.framing.result == 0
    assert PLAIN.answering.call == 0


def test_no_row_stands_behind_one_that_takes_everything_from_it() -> None:
    keys = [(row.model, row.wire, row.provider) for row in family_rows()]
    assert len(keys) == len(set(keys))


def test_other_constants_hold_where_reasoning_is_sent_back() -> None:
    family = family_for("responses", "openai", "gpt-5")
    assert family.framing_for(kept=True) != family.framing_for(kept=False)
    assert (
        family_for("chat", "openai", "gpt-4o").framing_for(kept=True)
        is family_for("chat", "openai", "gpt-4o").framing
    )
