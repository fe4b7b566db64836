"""The validator against simulators that are as strict as the providers: no repaired request is refused."""

from collections import Counter

import pytest
from msgspec.structs import replace

from tests.codec.histories import broken_request, unforged
from tests.tiers import examples
from ullage.codec.history import encode
from ullage.codec.repair import repair
from ullage.messages import Request
from ullage_simulators.refusal import CallRefused
from ullage_simulators.scenario import Scenario
from ullage_simulators.simulators import simulators
from ullage_simulators.wire import CallInProgress, Memory

CASES = examples(3_200, thorough=50_000)

TARGETS = (
    ("messages", "anthropic", "claude-sonnet-4-5", "anthropic"),
    ("messages", "anthropic", "claude-opus-4-6", "anthropic"),
    ("messages", "anthropic", "claude-fable-5-1", "anthropic"),
    ("responses", "openai", "gpt-5.5", "openai"),
    ("chat", "openai", "gpt-4.1", "openai"),
    ("chat", "deepseek", "deepseek-v4-flash", "deepseek"),
    ("chat", "deepseek", "deepseek-reasoner", "deepseek"),
    ("chat", "xai", "grok-4.3", "xai"),
    ("chat", "openrouter", "anthropic/claude-sonnet-4.5", "openrouter"),
    ("chat", "moonshot", "kimi-k2.5", "moonshot"),
    ("chat", "mistral", "mistral-medium-latest", "mistral"),
    ("chat", "llama.cpp", "qwen3", "llamacpp"),
    ("chat", "vllm", "qwen3", "vllm"),
    ("chat", "azure", "gpt-4.1", "azure"),
    ("generateContent", "google", "gemini-2.5-pro", "gemini"),
    ("generateContent", "google", "gemini-3-flash-preview", "gemini"),
)
SIMULATORS = simulators()


def refusal_of(request: Request, simulator: str) -> str:
    """Why the simulator refuses the request; empty where it does not."""
    encoded = encode(request)
    path, _, query = encoded.path.partition("?")
    asked = dict(one.split("=") for one in query.split("&") if one)
    version = "/v1beta" if request.wire == "generateContent" else "/v1"
    found = (
        (wire, wire.route("POST", version + path, asked))
        for wire in SIMULATORS[simulator]
    )
    wire, endpoint = next(
        (wire, endpoint) for wire, endpoint in found if endpoint is not None
    )
    scenario = Scenario()
    memory = Memory(scenario, 0)
    try:
        body = wire.read(encoded.content)
        model = scenario.model(wire.named_model(body, endpoint), wire.family)
        assert model is not None, request.model
        wire.check(
            CallInProgress(
                memory,
                endpoint,
                encoded.headers,
                body,
                model,
                memory.numbers(model),
                False,
                1,
            )
        )
    except CallRefused as refusal:
        return f"{refusal.refused.name}: {refusal.refused.text}"
    return ""


def case(seed: int) -> tuple[Request, str]:
    wire, provider, model, simulator = TARGETS[seed % len(TARGETS)]
    request = replace(
        broken_request(seed), wire=wire, provider=provider, model=model, params={}
    )
    return unforged(request), simulator


@pytest.mark.slow
def test_no_double_refuses_a_repaired_history() -> None:
    for seed in range(CASES):
        request, simulator = case(seed)
        assert refusal_of(repair(request).request, simulator) == "", (
            f"seed {seed}, {simulator}"
        )


def test_the_doubles_refuse_most_of_them_unrepaired() -> None:
    refused: Counter[str] = Counter()
    for seed in range(640):
        request, simulator = case(seed)
        try:
            said = refusal_of(request, simulator)
        except (ValueError, RecursionError):  # it can't even be written down
            said = "unwritable"
        if said:
            refused[simulator] += 1
    assert refused.total() > 500
    assert len(refused) == len({simulator for *_, simulator in TARGETS})
