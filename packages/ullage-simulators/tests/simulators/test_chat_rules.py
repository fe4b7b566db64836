import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.asking import WEATHER, Ask, Body, Case, Maker, Talk, prove
from ullage_simulators import running
from ullage_simulators.chat import rules
from ullage_simulators.chat.simulator import Chat
from ullage_simulators.chat.variants import VARIANTS
from ullage_simulators.responses.simulator import Responses
from ullage_simulators.scenario import read

PATH = "/chat/completions"
HI: Body = {"role": "user", "content": "say get_weather"}
TOOL: Body = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": WEATHER},
}
MODELS = {name: variant.models[0] for name, variant in VARIANTS.items()} | {
    "deepseek": "deepseek-reasoner"
}
BAD = b'{"model": "gpt-5", "messages": [{"role": "user", "content": "\\ud800 "}]}'


def ask(wire: str, *messages: Body, **more: Any) -> Ask:
    return Ask(PATH, {"model": MODELS[wire], "messages": list(messages) or [HI], **more})


def call(identity: str = "call_1", arguments: str = "{}", **more: Any) -> Body:
    function = {"name": "get_weather", "arguments": arguments}
    made = {
        "role": "assistant",
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }
    return {**made, "content": None, **more}


def result(identity: str = "call_1") -> Body:
    return {"role": "tool", "tool_call_id": identity, "content": "sunny"}


def of(
    wire: str, says: str, broken: Ask, mended: Ask | None = None, status: int = 400
) -> Maker:
    return lambda talk: Case(says, broken, mended or ask(wire), status, wire)


def in_loop(wire: str, says: str) -> Maker:
    """A tool loop whose call came without its reasoning."""
    broken = ask(wire, HI, call(), result())
    return of(wire, says, broken, ask(wire, HI, call(reasoning_content="Hm."), result()))


def details_altered(talk: Talk) -> Case:
    given = talk.ok("openrouter", ask("openrouter", HI, tools=[TOOL]))["choices"][0][
        "message"
    ]
    after = result(given["tool_calls"][0]["id"])
    [detail] = given["reasoning_details"]
    broken = {**given, "reasoning_details": [{**detail, "signature": "c2lnbmVk"}]}
    one, other = (ask("openrouter", HI, each, after) for each in (broken, given))
    return Case("Provider returned error", one, other, wire="openrouter")


NINE = "a1B2c3D4e"
MISTRAL_LOOP = [HI, call(NINE), result(NINE)]
CASES: dict[str, dict[str, Maker]] = {
    "openai": {
        "bad_json": of("openai",
            "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. (Common "
            "errors include trailing commas, missing closing brackets, missing quotation marks, etc.)",
            Ask(PATH, {}, raw=BAD)),
        "body_too_large": of("moonshot", "Request body is too large: the maximum is 50000000 bytes.",
            ask("moonshot", user="x" * 50_000_000), status=413),
        "key_missing": of("openai", rules.RULES["key_missing"].text,
            ask("openai")._replace(headers={"authorization": None}), status=401),
        "model_unknown": of("openai", "The model `unheard-of` does not exist or you do not have access to it.",
            ask("openai", model="unheard-of"), status=404),
        "param_missing": of("openai", "Missing required parameter: 'messages'.", ask("openai").but(messages=None)),
        "param_unknown": of("openai", "Unknown parameter: 'input'.", ask("openai", input="x")),
        "malformed": of("openai", "Invalid type: a parameter has a value of the wrong type.",
            ask("openai", messages=["hello"])),
        "name_pattern": of("openai",
            "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the "
            "pattern '^[a-zA-Z0-9_-]+$'.", ask("openai", tools=[{"type": "function", "function": {"name": "a b"}}]),
            ask("openai", tools=[{"type": "function", "function": {"name": "a_b"}}])),
        "too_long": of("openai",
            "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but "
            "got a string with length 64 instead.", ask("openai", HI, call("c" * 64), result("c" * 64)),
            ask("openai", HI, call("c" * 40), result("c" * 40))),
        "array_empty": of("openai",
            "Invalid 'messages[1].tool_calls': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.", ask("openai", HI, {"role": "assistant", "content": "hm", "tool_calls": []}, HI),
            ask("openai", HI, {"role": "assistant", "content": "hm"}, HI)),
        "value_unknown": of("openai",
            "Invalid value: 'human'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
            "'developer'.", ask("openai", {"role": "human", "content": "x"})),
        "call_without_result": of("openai",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
            ask("openai", HI, call(), HI, result()), ask("openai", HI, call(), result(), HI)),
        "result_without_call": of("openai",
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.", ask("openai", HI, call(), result(), result()), ask("openai", HI, call(), result())),
        "content_null": of("openai", "Invalid value for 'content': expected a string, got null.",
            ask("openai", {"role": "user", "content": None})),
        "use_completion_tokens": of("openai",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.", ask("openai", max_tokens=100), ask("openai", max_completion_tokens=100)),
        "output_cap": of("openai",
            "max_tokens is too large: 32769. This model supports at most 32768 completion tokens, whereas you provided "
            "32769.", ask("openai", model="gpt-4.1", max_tokens=32_769), ask("openai", model="gpt-4.1",
            max_tokens=32_768)),
        "too_small": of("openai",
            "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
            ask("openai", max_completion_tokens=0), ask("openai", max_completion_tokens=1)),
        "options_without_stream": of("openai",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            ask("openai", stream_options={"include_usage": True}),
            ask("openai", stream_options={"include_usage": True}, stream=True)),
    },
    "deepseek": {
        "schema_refused": of("deepseek", "This response_format type is unavailable now",
            ask("deepseek", response_format={"type": "json_schema"}),
            ask("deepseek", response_format={"type": "json_object"})),
        "bad_json": of("deepseek",
            "Failed to parse the request body as JSON: no low surrogate in string: line 1 column 68 (char 67)",
            Ask(PATH, {}, raw=BAD)),
        "model_unknown": of("deepseek", "Model Not Exist", ask("deepseek", model="unheard-of")),
        "reasoning_left_out": in_loop("deepseek",
            "The `reasoning_content` in the thinking mode must be passed back to the API."),
        "call_without_result": of("deepseek",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. (insufficient tool messages following tool_calls message)",
            ask("deepseek", HI, call(), HI), ask("deepseek", HI, call(), result(), HI)),
        "result_without_call": of("deepseek",
            "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
            ask("deepseek", HI, result())),
    },
    "moonshot": {
        "reasoning_left_out": in_loop("moonshot",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"),
        "content_blank": of("moonshot", "text content is empty",
            ask("moonshot", HI, {"role": "assistant", "content": ""}, HI),
            ask("moonshot", HI, {"role": "assistant", "content": "ok"}, HI)),
    },
    "mistral": {
        "call_id_pattern": of("mistral", "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            ask("mistral", HI, call(), result()), ask("mistral", *MISTRAL_LOOP)),
        "call_without_result": of("mistral", "Not the same number of function calls and responses",
            ask("mistral", HI, call(NINE), HI), ask("mistral", *MISTRAL_LOOP)),
        "result_without_call": of("mistral", "Unexpected role 'tool' after role 'user'",
            ask("mistral", HI, result(NINE))),
        "user_after_tool": of("mistral", "Unexpected role 'user' after role 'tool'",
            ask("mistral", *MISTRAL_LOOP, HI),
            ask("mistral", *MISTRAL_LOOP, {"role": "assistant", "content": "ok"}, HI)),
    },
    "xai": {},
    "openrouter": {"reasoning_altered": details_altered},
    "llamacpp": {
        "arguments_invalid": of("llamacpp",
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, "
            "column 2: syntax error while parsing value", ask("llamacpp", HI, call(arguments="{"), result()),
            ask("llamacpp", HI, call(), result()), 500),
    },
    "vllm": {
        "arguments_invalid": of("vllm", "Expecting ',' delimiter: line 1 column 14 (char 13)",
            ask("vllm", HI, call(arguments='{"say": "so" "said"}'), result()), ask("vllm", HI, call(), result())),
    },
    "azure": {
        "options_refused": of("azure",
            "Extra parameters ['stream_options'] are not allowed when extra-parameters is not set or set to be "
            "'error'. Set extra-parameters to 'pass-through' to pass to the model.",
            ask("azure", stream=True, stream_options={"include_usage": True}), ask("azure", stream=True)),
    },
}  # fmt: skip
ALL = [(wire, rule) for wire, cases in CASES.items() for rule in cases]


@pytest.mark.parametrize("wire", VARIANTS)
def test_every_rule_of_a_variant_has_a_case(wire: str) -> None:
    own = rules.RULES if wire == "openai" else VARIANTS[wire].rules
    # param_unsupported is the Responses simulator's
    elsewhere = {"too_many_tokens", "too_many_images", "key_wrong", "param_unsupported"}
    assert set(CASES[wire]) == set(own) - elsewhere


@pytest.mark.parametrize(("wire", "rule"), ALL, ids=lambda each: each)
def test_a_violation_is_refused_not_its_twin(talk: Talk, wire: str, rule: str) -> None:
    prove(talk, wire, rule, CASES[wire][rule](talk))


def test_openai_itself_takes_as_much_as_it_has_written_down() -> None:
    """https://developers.openai.com/api/docs/guides/images-vision"""
    assert (
        Chat(VARIANTS["openai"]).max_body_bytes == Responses.max_body_bytes == 512_000_000
    )


def test_a_server_that_was_started_with_a_limit_on_images_takes_no_more() -> None:
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="},
    }
    with running(read({"server": {"max_images": 2}})) as server:
        refused, taken = (
            ask("vllm", {"role": "user", "content": [image] * count}) for count in (3, 2)
        )
        says = "At most 2 image(s) may be provided in one request."
        prove(Talk(server), "vllm", "too_many_images", Case(says, refused, taken))


def test_a_model_may_ask_for_the_reasoning_of_earlier_turns(talk: Talk) -> None:
    history = [HI, call(), result(), {"role": "assistant", "content": "It is sunny."}, HI]
    assert talk.status("deepseek", ask("deepseek", *history)) == 200
    later = talk.send("deepseek", ask("deepseek", *history, model="deepseek-v4-flash"))
    assert "`reasoning_content` in the thinking mode must be passed back" in later.text


def test_with_thinking_switched_off_no_reasoning_is_asked_for(talk: Talk) -> None:
    quiet = ask("deepseek", HI, call(), result(), thinking={"type": "disabled"})
    assert talk.status("deepseek", quiet) == 200


OVERFLOWS = {
    "openai": "This model's maximum context length is 1000 tokens. However, your messages resulted in {n} tokens. "
    "Please reduce the length of the messages.",
    "deepseek": "This model's maximum context length is 1000 tokens. However, you requested {sum} tokens ({n} in the "
    "messages, 50 in the completion). Please reduce the length of the messages or completion.",
    "mistral": "Prompt contains {n} tokens and 0 draft tokens, too large for model with 1000 maximum context length",
    "xai": "This model's maximum prompt length is 1000 but the request contains {n} tokens.",
    "openrouter": "This endpoint's maximum context length is 1000 tokens. However, you requested about {sum} tokens "
    '({n} of text input, 50 in the output). Please reduce the length of either one, or use the "middle-out" '
    "transform to compress your prompt automatically.",
    "llamacpp": "the request exceeds the available context size, try increasing it",
    "vllm": "This model's maximum context length is 1000 tokens. However, you requested {sum} tokens ({n} in the "
    "messages, 50 in the completion). Please reduce the length of the messages or completion.",
}


@pytest.fixture(scope="module")
def tight() -> Iterator[Talk]:
    models = [
        {"name": "small", "like": "gpt-4.1", "window": 1_000},
        {"name": "twin", "like": "gpt-4.1"},
    ]
    pins = {"factor": 1.0, "request": 0, "message": 0}
    with running(
        read({"models": models, "drawn": pins, "server": {"key": "any"}}), seed=7
    ) as server:
        yield Talk(server)


@pytest.mark.parametrize("wire", OVERFLOWS)
def test_an_overflow_has_the_words_of_the_variant(tight: Talk, wire: str) -> None:
    long = ask(
        wire, {"role": "user", "content": "far " * 2_000}, model="small", max_tokens=50
    )
    count = tight.ok(wire, long.but(model="twin"))["usage"]["prompt_tokens"]
    says = OVERFLOWS[wire].format(n=count, sum=count + 50)
    prove(tight, wire, "too_many_tokens", Case(says, long, ask(wire, model="small")))


@pytest.mark.parametrize("wire", ["deepseek", "openrouter", "vllm"])
def test_where_the_answer_counts_a_long_one_is_refused(tight: Talk, wire: str) -> None:
    assert tight.status(wire, ask(wire, model="small", max_tokens=1_000)) == 400
    assert tight.status("llamacpp", ask(wire, model="small", max_tokens=1_000)) == 200


@pytest.mark.parametrize(
    ("wire", "says"),
    [
        (
            "openai",
            "Incorrect API key provided: sk-1*****7890. You can find your API key at "
            "https://platform.openai.com/account/api-keys.",
        ),
        ("deepseek", "Authentication Fails, Your api key: sk-1*****7890 is invalid"),
    ],
)
def test_a_wrong_key_is_refused(tight: Talk, wire: str, says: str) -> None:
    broken = ask(wire, model="small")._replace(
        headers={"authorization": "Bearer sk-1234567890"}
    )
    prove(tight, wire, "key_wrong", Case(says, broken, ask(wire, model="small"), 401))


@pytest.mark.parametrize(
    ("name", "path", "field"),
    [
        ("llamacpp", "/chat/completions/input_tokens", "input_tokens"),
        ("vllm", "/tokenize", "count"),
    ],
)
def test_own_servers_count(talk: Talk, name: str, path: str, field: str) -> None:
    asked = ask(name, HI)
    counted = talk.ok(name, asked._replace(path=path))
    assert counted[field] == talk.ok(name, asked)["usage"]["prompt_tokens"]
    with running(read({"server": {"counts": False}})) as server:
        refused = Talk(server).send(name, asked._replace(path=path))
        assert refused.status_code == 404


def test_other_servers_do_not_count_chat(talk: Talk) -> None:
    for path in ("/chat/completions/input_tokens", "/tokenize"):
        assert talk.status("openai", ask("openai", HI)._replace(path=path)) == 404


def test_mistral_streams_a_call_in_one_chunk_with_its_name(talk: Talk) -> None:
    """mistralai 3.7 refuses a chunk whose call lacks ``function.name`` or ``function.arguments``."""
    streamed = ask("mistral", HI, tools=[TOOL], stream=True)
    said = talk.events("mistral", streamed)
    calls: list[Body] = []
    for each in said:
        assert {"id", "model", "choices"} <= set(each)
        for choice in each["choices"]:
            calls += choice["delta"].get("tool_calls") or []
    (call,) = calls
    assert call["index"] == 0
    assert len(call["id"]) == 9
    assert call["function"]["name"] == "get_weather"
    assert json.loads(call["function"]["arguments"]) == {"city": HI["content"]}
