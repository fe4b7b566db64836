"""Google's own SDK as an independent client: parts as they came are accepted, altered or merged ones are not."""

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import types

from tests.simulators.asking import WEATHER
from ullage_simulators import Server, running

MODELS = ["gemini-3-flash-preview", "gemini-2.5-flash"]
ASKED = types.Content(
    role="user", parts=[types.Part(text="please get_weather for Paris")]
)
DECLARED = types.FunctionDeclaration(
    name="get_weather", description="The weather.", parameters_json_schema=WEATHER
)
CONFIG = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[DECLARED])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    thinking_config=types.ThinkingConfig(include_thoughts=True),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=13) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: Server) -> genai.Client:
    return genai.Client(
        api_key="any", http_options=types.HttpOptions(base_url=server.url("gemini"))
    )


def stream(
    client: genai.Client, model: str, contents: list[types.Content]
) -> tuple[types.Content, Any]:
    """All parts of a streamed answer as they came, and the last usage."""
    parts: list[types.Part] = []
    usage = None
    asked: Any = contents
    for chunk in client.models.generate_content_stream(
        model=model, contents=asked, config=CONFIG
    ):
        usage = chunk.usage_metadata or usage
        for candidate in chunk.candidates or []:
            parts += (candidate.content.parts if candidate.content else None) or []
    return types.Content(role="model", parts=parts), usage


def history(answer: types.Content) -> list[types.Content]:
    given = types.FunctionResponse(name="get_weather", response={"result": "sunny"})
    return [
        ASKED,
        answer,
        types.Content(role="user", parts=[types.Part(function_response=given)]),
    ]


@pytest.mark.parametrize("model", MODELS)
def test_a_streamed_tool_loop_with_thoughts_runs_to_its_end(
    client: genai.Client, server: Server, model: str
) -> None:
    answer, usage = stream(client, model, [ASKED])
    second, _ = stream(client, model, history(answer))
    said = "".join(part.text or "" for part in second.parts or [] if not part.thought)
    assert said == "Done: get_weather gave sunny"
    one, two = server.truth().bills[-2:]
    assert usage.prompt_token_count == one.input
    assert usage.candidates_token_count + usage.thoughts_token_count == one.output
    rules = server.truth().drawn[model]
    assert two.kept + two.dropped == one.reasoning
    if model == "gemini-3-flash-preview":
        assert bool(two.kept) is rules.loop


def test_a_signature_may_stand_on_joined_text(client: genai.Client) -> None:
    answer, _ = stream(
        client, MODELS[0], [types.Content(role="user", parts=[types.Part(text="hello")])]
    )
    spoken = [part for part in answer.parts or [] if not part.thought]
    merged = types.Part(
        text="".join(part.text or "" for part in spoken),
        thought_signature=spoken[-1].thought_signature,
    )
    assert merged.thought_signature
    joined = types.Content(role="model", parts=[merged])
    for model in MODELS:
        _, usage = stream(client, model, [ASKED, joined, ASKED])
        assert usage.prompt_token_count


def test_counting_agrees_with_the_bill(client: genai.Client) -> None:
    asked: Any = [ASKED]
    counted = client.models.count_tokens(model=MODELS[1], contents=asked)
    answer = client.models.generate_content(model=MODELS[1], contents=asked)
    assert answer.usage_metadata is not None
    assert counted.total_tokens == answer.usage_metadata.prompt_token_count


def test_models_are_listed_with_their_limits(client: genai.Client) -> None:
    model = client.models.get(model=MODELS[0])
    assert model.input_token_limit == 1_048_576
