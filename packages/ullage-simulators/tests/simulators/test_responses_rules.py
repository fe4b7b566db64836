from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.asking import (
    WEATHER,
    Ask,
    Body,
    Case,
    Maker,
    Talk,
    Usual,
    prove,
    tight_talk,
)
from tests.simulators.compactions import altered_item
from ullage_simulators import running
from ullage_simulators.responses.rules import RULES
from ullage_simulators.scenario import read

PATH = "/responses"
TOOL: Body = {"type": "function", "name": "get_weather", "parameters": WEATHER}
HI: Body = {"role": "user", "content": "say get_weather"}
BAD = b'{"model": "gpt-5", "input": "\\udc00"}'
CALL: Body = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "get_weather",
    "arguments": "{}",
}
OUTPUT: Body = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}


def ask(*items: Body, **more: Any) -> Ask:
    return Ask(PATH, {"model": "gpt-5", "input": list(items) or "hello", **more})


of = Usual(ask()).of


def thought(talk: Talk, **more: Any) -> list[Body]:
    """The items of an answer that reasons and calls a tool."""
    items: list[Body] = talk.ok("openai", ask(HI, tools=[TOOL], **more))["output"]
    return items


def output(items: list[Body]) -> Body:
    return {**OUTPUT, "call_id": items[-1]["call_id"]}


def without(item: Body, name: str) -> Body:
    return {key: value for key, value in item.items() if key != name}


def reasoning_alone(talk: Talk) -> Case:
    reasoning, call = thought(talk)
    says = f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required following item."
    return Case(says, ask(HI, reasoning, HI), ask(HI, reasoning, call, output([call])))


def reasoning_left_out(talk: Talk) -> Case:
    reasoning, call = thought(talk)
    what = f"Item '{call['id']}' of type 'function_call'"
    says = (
        f"{what} was provided without its required 'reasoning' item: '{reasoning['id']}'."
    )
    return Case(
        says, ask(HI, call, output([call])), ask(HI, without(call, "id"), output([call]))
    )


def reasoning_altered(talk: Talk) -> Case:
    reasoning, call = thought(talk)
    sealed = reasoning["encrypted_content"]
    broken = {**reasoning, "encrypted_content": sealed[:40] + "AAAA" + sealed[44:]}
    says = (
        f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. Reason: Encrypted content could "
        "not be decrypted or parsed."
    )
    return Case(
        says,
        ask(HI, broken, call, output([call])),
        ask(HI, reasoning, call, output([call])),
    )


def item_not_kept(talk: Talk) -> Case:
    reasoning, call = thought(talk, store=False)
    bare = without(reasoning, "encrypted_content")
    says = (
        f"Item with id '{reasoning['id']}' not found. Items are not persisted when `store` is set to false. Try again "
        "with `store` set to true, or remove this item from your input."
    )
    broken, mended = (
        ask(HI, item, call, output([call]), store=False) for item in (bare, reasoning)
    )
    return Case(says, broken, mended, 404)


def item_unknown(talk: Talk) -> Case:
    items = thought(talk)
    known = [{"type": "item_reference", "id": item["id"]} for item in items]
    unknown = {"type": "item_reference", "id": "rs_unknown"}
    mended = ask(HI, *known, output(items))
    return Case(
        "Item with id 'rs_unknown' not found.",
        ask(HI, unknown, known[1], output(items)),
        mended,
        404,
    )


def item_twice(talk: Talk) -> Case:
    items = thought(talk)
    identity = items[0]["id"]
    says = f"Duplicate item found with id {identity}. Remove duplicate items from your input and try again."
    return Case(
        says, ask(HI, items[0], *items, output(items)), ask(HI, *items, output(items))
    )


def response_unknown(talk: Talk) -> Case:
    first = talk.ok("openai", ask(HI, tools=[TOOL]))
    given = output(first["output"])
    mended = ask(given, previous_response_id=first["id"])
    says = "Previous response with id 'resp_gone' not found."
    return Case(says, ask(given, previous_response_id="resp_gone"), mended)


def two_parents(talk: Talk) -> Case:
    first = talk.ok("openai", ask(HI))
    conversation = talk.ok("openai", Ask("/conversations", {}))["id"]
    mended = ask(HI, previous_response_id=first["id"])
    says = (
        "Mutually exclusive parameters. Ensure you are only providing one of: 'previous_response_id' or "
        "'conversation'."
    )
    return Case(says, mended.but(conversation=conversation), mended)


def response_gone(talk: Talk) -> Case:
    first = talk.ok("openai", ask(HI))
    broken, mended = (
        Ask(f"{PATH}/{identity}", {}, method="GET")
        for identity in ("resp_gone", first["id"])
    )
    return Case("Response with id 'resp_gone' not found.", broken, mended, 404)


def of_background(talk: Talk, path: str, method: str, **created: Any) -> Case:
    """A request about a response that was created so, and about one that may be streamed and cancelled."""
    broken = talk.ok("openai", ask(HI, **created))["id"]
    opening = talk.events("openai", ask(HI, background=True, stream=True))[0]
    mended = opening["response"]["id"]
    broken, mended = (
        Ask(f"{PATH}/{identity}{path}", {}, method=method)
        for identity in (broken, mended)
    )
    return Case("", broken, mended)


def not_background(talk: Talk) -> Case:
    says = "This response cannot be streamed because it was not created with background=true."
    return of_background(talk, "?stream=true", "GET")._replace(says=says)


def not_streamed(talk: Talk) -> Case:
    says = "This response cannot be streamed because it was not created with stream=true."
    made = of_background(talk, "?stream=true", "GET", background=True)
    return made._replace(says=says)


def not_cancellable(talk: Talk) -> Case:
    says = "Cannot cancel a synchronous response."
    return of_background(talk, "/cancel", "POST")._replace(says=says)


def conversation_unknown(talk: Talk) -> Case:
    known = talk.ok("openai", Ask("/conversations", {}))["id"]
    broken, mended = (ask(HI, conversation=each) for each in ("conv_gone", known))
    return Case("Conversation with id 'conv_gone' not found.", broken, mended, 404)


def array_too_long(talk: Talk) -> Case:
    broken, mended = (Ask("/conversations", {"items": [HI] * size}) for size in (21, 20))
    says = (
        "Invalid 'items': array too long. Expected an array with maximum length 20, but got an array with length "
        "21 instead."
    )
    return Case(says, broken, mended)


CASES: dict[str, Maker] = {
    "bad_json": of(
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
        "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you "
        "have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
        Ask(PATH, {}, raw=BAD)),
    "key_missing": of(RULES["key_missing"].text, ask()._replace(headers={"authorization": None}), status=401),
    "model_unknown": of("The requested model 'unheard-of' does not exist.", ask(model="unheard-of")),
    "param_missing": of("Missing required parameter: 'input'.", ask().but(input=None)),
    "param_unknown": of("Unknown parameter: 'messages'.", ask(messages=[])),
    "param_unsupported": of("Unsupported parameter: 'temperature' is not supported with this model.",
        ask(temperature=0.5), ask(temperature=0.5, model="gpt-4.1")),
    "malformed": of("Invalid type: a parameter has a value of the wrong type.",
        Ask(PATH, {"model": "gpt-5", "input": [1]})),
    "name_pattern": of(
        "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.", ask(tools=[{**TOOL, "name": "get.weather"}]), ask(tools=[TOOL])),
    "too_long": of(
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64, but got a string "
        "with length 94 instead.", ask(HI, {**CALL, "call_id": "c" * 94}, {**OUTPUT, "call_id": "c" * 94}),
        ask(HI, {**CALL, "call_id": "c" * 64}, {**OUTPUT, "call_id": "c" * 64})),
    "value_unknown": of("Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.",
        ask(HI, {"role": "assistant", "content": [{"type": "input_text", "text": "hm"}]}, HI),
        ask(HI, {"role": "assistant", "content": [{"type": "output_text", "text": "hm"}]}, HI)),
    "call_without_result": of("No tool output found for function call call_1.", ask(HI, CALL, HI),
        ask(HI, CALL, OUTPUT, HI)),
    "result_without_call": of("No tool call found for function call output with call_id call_1.",
        ask(HI, CALL, OUTPUT, OUTPUT), ask(HI, CALL, OUTPUT)),
    "reasoning_alone": reasoning_alone,
    "reasoning_left_out": reasoning_left_out,
    "reasoning_altered": reasoning_altered,
    "compaction_altered": altered_item,
    "trigger_misplaced": of("Invalid 'input[1]': an item of type 'compaction_trigger' must be the final input item.",
        ask(HI, {"type": "compaction_trigger"}, HI), ask(HI, HI, {"type": "compaction_trigger"})),
    "item_not_kept": item_not_kept,
    "item_unknown": item_unknown,
    "item_twice": item_twice,
    "id_prefix": of("Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
        ask(HI, {**CALL, "id": "call_1"}, OUTPUT), ask(HI, {**CALL, "id": "fc_1"}, OUTPUT)),
    "response_unknown": response_unknown,
    "effort_none": of(
        "Unsupported value: 'none' is not supported with the 'gpt-6.2-sol' model. Supported values are: 'low', "
        "'medium', 'high', 'xhigh', and 'max'.", ask(model="gpt-6.2-sol", reasoning={"effort": "none"}),
        ask(model="gpt-6.2-sol", reasoning={"effort": "low"})),
    "two_parents": two_parents,
    "response_gone": response_gone,
    "background_stateless": of("Background mode requires store=true.", ask(background=True, store=False),
        ask(background=True)),
    "not_background": not_background,
    "not_streamed": not_streamed,
    "not_cancellable": not_cancellable,
    "conversation_unknown": conversation_unknown,
    "array_too_long": array_too_long,
    "too_small": of(
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.",
        ask(max_output_tokens=15), ask(max_output_tokens=16)),
}  # fmt: skip


def test_every_rule_has_a_case() -> None:
    elsewhere = {"body_too_large", "key_wrong", "too_many_tokens"}
    assert set(CASES) == set(RULES) - elsewhere - {"array_empty"}  # the last is Chat's


@pytest.mark.parametrize("rule", CASES)
def test_a_violation_is_refused_and_its_twin_is_not(talk: Talk, rule: str) -> None:
    prove(talk, "openai", rule, CASES[rule](talk))


def test_a_temperature_is_accepted_where_reasoning_is_turned_off(talk: Talk) -> None:
    off = {"effort": "none", "summary": "auto"}
    talk.ok("openai", ask(model="gpt-5.4-nano", temperature=0.5, reasoning=off))


def test_an_output_answers_only_a_call_of_its_own_kind(talk: Talk) -> None:
    custom = {"type": "custom_tool_call", "call_id": "call_1", "name": "f", "input": ""}
    given = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "x"}
    talk.ok("openai", ask(HI, custom, given))
    for call, result, what in (
        (CALL, given, "custom tool call output"),
        (custom, OUTPUT, "function call output"),
    ):
        refused = talk.send("openai", ask(HI, call, result))
        says = f"No tool call found for {what} with call_id call_1."
        assert refused.json()["error"]["message"] == says
    refused = talk.send("openai", ask(HI, custom))
    says = "No tool output found for custom tool call call_1."
    assert refused.json()["error"]["message"] == says


def test_reasoning_before_the_call_of_another_answer_is_refused(talk: Talk) -> None:
    (reasoning, _), (_, call) = thought(talk), thought(talk)
    assert (
        "required following item"
        in talk.send("openai", ask(HI, reasoning, call, output([call]))).text
    )


def test_a_call_after_unstored_reasoning_may_have_another_id(talk: Talk) -> None:
    reasoning, call = thought(talk, store=False)
    renamed = {**call, "id": "fc_its_own"}
    talk.ok("openai", ask(HI, reasoning, renamed, output([call]), store=False))
    reasoning, call = thought(talk)
    renamed = {**call, "id": "fc_its_own"}
    refused = talk.send("openai", ask(HI, reasoning, renamed, output([call])))
    assert "required following item" in refused.text


def test_the_unfinished_reasoning_of_an_added_event_is_refused(talk: Talk) -> None:
    events = talk.events("openai", ask(HI, tools=[TOOL], stream=True))
    added = next(
        each["item"] for each in events if each["type"] == "response.output_item.added"
    )
    done = [
        each["item"] for each in events if each["type"] == "response.output_item.done"
    ]
    assert talk.status("openai", ask(HI, added, done[1], output(done))) == 400
    assert talk.status("openai", ask(HI, *done, output(done))) == 200


def test_invalid_arguments_are_passed_on_as_they_are(talk: Talk) -> None:
    assert talk.status("openai", ask(HI, {**CALL, "arguments": '{"city'}, OUTPUT)) == 200


@pytest.fixture(scope="module")
def tight() -> Iterator[Talk]:
    with tight_talk("gpt-5") as talk:
        yield talk


def test_a_prompt_beyond_the_window_is_refused(tight: Talk) -> None:
    says = "Your input exceeds the context window of this model. Please adjust your input and try again."
    broken = ask(model="small", input="far " * 2_000)
    prove(tight, "openai", "too_many_tokens", Case(says, broken, ask(model="small")))


def test_in_a_stream_the_same_comes_as_an_event_of_a_good_answer(tight: Talk) -> None:
    events = tight.events("openai", ask(model="small", input="far " * 2_000, stream=True))
    assert [each["type"] for each in events][-2:] == ["error", "response.failed"]
    assert events[-2]["error"]["code"] == "context_length_exceeded"


def test_a_body_over_the_limit_that_the_server_was_started_with_is_refused() -> None:
    says = "Request body is too large: the maximum is 10000 bytes."
    with running(read({"server": {"max_body_bytes": 10_000}})) as server:
        prove(
            Talk(server),
            "openai",
            "body_too_large",
            Case(says, ask(input="x" * 10_000), ask(), 413),
        )


def test_a_wrong_key_is_refused_and_not_repeated_in_full(tight: Talk) -> None:
    broken = ask(model="small")._replace(
        headers={"authorization": "Bearer sk-1234567890"}
    )
    says = (
        "Incorrect API key provided: sk-1*****7890. You can find your API key at "
        "https://platform.openai.com/account/api-keys."
    )
    prove(tight, "openai", "key_wrong", Case(says, broken, ask(model="small"), 401))
