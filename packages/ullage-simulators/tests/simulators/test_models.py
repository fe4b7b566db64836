import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk
from ullage_simulators import running
from ullage_simulators.models import _NEWEST, MODELS, model_of_family
from ullage_simulators.scenario import Scenario

ROOT = Path(__file__).parents[4]
SERVED = (
    "openai",
    "google",
    "x-ai",
    "deepseek",
    "mistral",
    "moonshotai",
    "zai",
    "minimax",
    "groq",
)
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
def test_the_newest_of_a_family_is_of_that_family(beginning: str, newest: str) -> None:
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
        ("gpt-4-turbo", "openai", "gpt-4o"),
        ("gpt-5.4-mini", "openai", "gpt-5-mini"),
        ("kimi-k3.1-pro", "openai", "kimi-k3"),
        ("zai-glm-5-3", "openai", "glm-5.3"),
        ("gemini-pro-1.5", "gemini", "gemini-2.5-pro"),
        ("meta-llama/llama-4-scout", "openai", "mistral-medium-latest"),
        ("gpt-4.1-mini", "openai", "gpt-4.1"),
        ("o9", "openai", "o4-mini"),
        ("qwen4-coder", "openai", "qwen3.7-max"),
        ("deepseek-v5", "openai", "deepseek-v4-pro"),
        ("gemini-5-neon", "gemini", "gemini-4-argon"),
        ("gemini-2.5-flash-lite", "gemini", "gemini-2.5-flash"),
    ],
)
def test_an_unknown_name_has_a_family(name: str, family: str, like: str) -> None:
    assert like in of_family(name, family).split()


@pytest.mark.parametrize("name", ["lama-9", "", "sonnet", "o", "/", "my-gpt-5"])
def test_a_name_of_no_family_is_no_model(name: str) -> None:
    assert model_of_family(name, MODELS) is None


NO_CHAT = re.compile(
    r"(text-)?(embed|ada|babbage|curie|davinci)|ft:|claude|whisper|orpheus|playai"
)
"""Models of the catalogue that answer on none of the wires here, or on another one than their provider's."""


def catalogued() -> list[tuple[str, str]]:
    """The names that the catalogue spells out, each with the family of its provider's wire."""
    text = (ROOT / "packages/ullage/src/ullage/models/catalogue.json").read_text("utf-8")
    providers = json.loads(text)["providers"]
    names = []
    for provider in SERVED:
        family = "gemini" if provider == "google" else "openai"
        for patterns, *_ in providers[provider]:
            for pattern in patterns.split():
                name = pattern[1:]
                if pattern[0] in "=^" and not NO_CHAT.match(name.rpartition("/")[2]):
                    names.append((name, family))
    return names


def test_every_chat_model_of_the_catalogue_is_served_by_its_name() -> None:
    """The catalogue is ullage's; the simulators have no list of names of their own."""
    unknown = []
    for name, family in catalogued():
        if Scenario().model(name, family) is None:
            unknown.append(name)
    assert len(catalogued()) > 300
    assert unknown == []


ECHOES: dict[str, tuple[str, Ask, str]] = {
    "responses": ("openai", Ask("/responses", {"model": "gpt-5-2025-08-07", "input": "hello"}), "model"),
    "chat": ("openai", Ask("/chat/completions", {"model": "gpt-5-2025-08-07", "messages": [HI]}), "model"),
    "chat of an unknown model": ("vllm", Ask("/chat/completions", {"model": "qwen9-max", "messages": [HI]}), "model"),
    "gemini": ("gemini",
        Ask("/v1beta/models/gemini-9-preview:generateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
        "modelVersion"),
}  # fmt: skip


@pytest.mark.parametrize("case", ECHOES)
def test_an_answer_names_the_model_that_was_asked_for(talk: Talk, case: str) -> None:
    wire, ask, field = ECHOES[case]
    answer: Any = talk.ok(wire, ask)
    assert answer[field] == ask.body.get("model", "gemini-9-preview")


def test_a_model_of_a_known_family_is_shown_by_its_name() -> None:
    with running() as server:
        shown = Talk(server).ok("openai", Ask("/models/gpt-99", {}, method="GET"))
    assert shown["id"] == "gpt-99"
