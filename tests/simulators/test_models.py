import re
from typing import Any

import pytest
from ullage_simulators import running
from ullage_simulators.models import _NEWEST, MODELS, model_of_family

from tests.simulators.asking import Ask, Body, Talk

HI: Body = {"role": "user", "content": "hello"}


def of_family(name: str, family: str) -> str:
    """The known model that the name is treated as, told by what it counts and holds."""
    served = [model for model in MODELS if model.family == family]
    found = model_of_family(name, served)
    assert found is not None
    assert found.name == name
    like = [
        model.name
        for model in served
        if model.window == found.window and model.traits == found.traits
    ]
    return " ".join(like)


def test_names_of_models_are_unique() -> None:
    assert len({(model.family, model.name) for model in MODELS}) == len(MODELS)


@pytest.mark.parametrize(("beginning", "newest"), _NEWEST)
def test_the_newest_of_a_family_is_a_model_of_that_family(
    beginning: str, newest: str
) -> None:
    assert newest in {model.name for model in MODELS}
    assert re.match(beginning, newest.rpartition("/")[2])


@pytest.mark.parametrize(
    ("name", "family", "like"),
    [
        ("claude-opus-7", "anthropic", "claude-opus-5-5"),
        ("claude-fable-6", "anthropic", "claude-fable-5-2"),
        ("claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5"),
        ("claude-opus-4-1-20250805", "anthropic", "claude-sonnet-4-5"),
        ("anthropic/claude-opus-7", "openai", "anthropic/claude-sonnet-4.5"),
        ("gpt-7-luna", "openai", "gpt-6.2-sol"),
        ("openai/gpt-7", "openai", "gpt-6.2-sol"),
        ("gpt-6-luna", "openai", "gpt-6.1-sol"),
        ("gpt-5.6-terra", "openai", "gpt-6.1-sol"),
        ("gpt-5.3-codex", "openai", "gpt-5.5"),
        ("gpt-4o", "openai", "gpt-4.1"),
        ("gpt-4.1-mini", "openai", "gpt-4.1"),
        ("o9", "openai", "o4-mini"),
        ("qwen4-coder", "openai", "qwen3.7-max"),
        ("deepseek-v5", "openai", "deepseek-v4-pro"),
        ("gemini-5-neon", "gemini", "gemini-4-argon"),
        ("gemini-2.5-flash-lite", "gemini", "gemini-2.5-flash"),
    ],
)
def test_an_unknown_name_is_the_newest_of_its_family(
    name: str, family: str, like: str
) -> None:
    assert like in of_family(name, family).split()


@pytest.mark.parametrize("name", ["llama-9", "", "sonnet", "o", "/", "my-gpt-5"])
def test_a_name_of_no_family_is_no_model(name: str) -> None:
    assert model_of_family(name, MODELS) is None


ECHOES: dict[str, tuple[str, Ask, str]] = {
    "responses": (
        "openai",
        Ask("/responses", {"model": "gpt-5-2025-08-07", "input": "hello"}),
        "model",
    ),
    "chat": (
        "openai",
        Ask("/chat/completions", {"model": "gpt-5-2025-08-07", "messages": [HI]}),
        "model",
    ),
    "chat of an unknown model": (
        "vllm",
        Ask("/chat/completions", {"model": "qwen9-max", "messages": [HI]}),
        "model",
    ),
    "gemini": (
        "gemini",
        Ask(
            "/v1beta/models/gemini-9-preview:generateContent",
            {"contents": [{"parts": [{"text": "hello"}]}]},
        ),
        "modelVersion",
    ),
}


@pytest.mark.parametrize("case", ECHOES)
def test_an_answer_names_the_model_that_was_asked_for(talk: Talk, case: str) -> None:
    wire, ask, field = ECHOES[case]
    answer: Any = talk.ok(wire, ask)
    assert answer[field] == ask.body.get("model", "gemini-9-preview")


def test_a_model_of_a_known_family_is_shown_by_its_name() -> None:
    with running() as server:
        shown = Talk(server).ok("openai", Ask("/models/gpt-99", {}, method="GET"))
    assert shown["id"] == "gpt-99"
