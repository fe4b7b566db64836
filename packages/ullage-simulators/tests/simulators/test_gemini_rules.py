import copy
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
from ullage_simulators.gemini.rules import RULES

THREE = "/v1beta/models/gemini-3-flash-preview:generateContent"
TWO = "/v1beta/models/gemini-2.5-flash:generateContent"
TOOLS: list[Body] = [
    {"functionDeclarations": [{"name": "get_weather", "parameters": WEATHER}]}
]
HI: Body = {"role": "user", "parts": [{"text": "say get_weather"}]}
HM: Body = {"role": "model", "parts": [{"text": "Hm."}]}


def ask(*contents: Body, path: str = TWO, **more: Any) -> Ask:
    return Ask(path, {"contents": list(contents) or [HI], **more})


def call(count: int = 1, **more: Any) -> Body:
    return {
        "role": "model",
        "parts": [{"functionCall": {"name": "get_weather", "args": {}}, **more}] * count,
    }


def result(count: int = 1) -> Body:
    part = {"functionResponse": {"name": "get_weather", "response": {"result": "sunny"}}}
    return {"role": "user", "parts": [part] * count}


of = Usual(ask()).of


def thought(talk: Talk) -> Body:
    """An answer with a signature on a call."""
    given = talk.ok("gemini", ask(HI, path=THREE, tools=TOOLS))
    content: Body = given["candidates"][0]["content"]
    return content


def signature_missing(talk: Talk) -> Case:
    says = (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
        "correctly, and missing thought_signature may lead to degraded model performance. Additional data, function "
        "call `default_api:get_weather` , position 2. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )
    return Case(
        says,
        ask(HI, call(), result(), path=THREE),
        ask(HI, thought(talk), result(), path=THREE),
    )


def signature_corrupt(talk: Talk) -> Case:
    mended = thought(talk)
    broken = copy.deepcopy(mended)
    broken["parts"][0]["thoughtSignature"] = "c2lnbmVk"
    one, other = (ask(HI, each, result(), path=THREE) for each in (broken, mended))
    return Case("Corrupted thought signature.", one, other)


def signature_moved(talk: Talk) -> Case:
    mended = thought(talk)
    broken = copy.deepcopy(mended)
    broken["parts"][0]["functionCall"]["args"] = {"city": "Elsewhere"}
    one, other = (ask(HI, each, result(), path=THREE) for each in (broken, mended))
    return Case("Invalid thought signature.", one, other)


LONG: Body = {"role": "user", "parts": [{"text": "All work and no play. " * 500}]}


def caching(*contents: Body, **more: Any) -> Ask:
    body = {"model": "models/gemini-2.5-flash", "contents": list(contents), **more}
    return Ask("/v1beta/cachedContents", body)


def cached(talk: Talk, **more: Any) -> str:
    return str(talk.ok("gemini", caching(LONG, **more))["name"])


def cache_unknown(talk: Talk) -> Case:
    mended = ask(HI, cachedContent=cached(talk))
    broken = mended.but(cachedContent="cachedContents/gone")
    return Case("CachedContent not found (or permission denied)", broken, mended, 403)


def cache_holds(talk: Talk) -> Case:
    mended = ask(HI, cachedContent=cached(talk, tools=TOOLS))
    says = (
        "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."
        "\n\nProposed fix: move those values to CachedContent from GenerateContent request."
    )
    return Case(says, mended.but(tools=TOOLS), mended)


def cache_model(talk: Talk) -> Case:
    name = cached(talk)
    says = (
        "Model used by GenerateContent request (models/gemini-3-flash-preview) and CachedContent "
        "(models/gemini-2.5-flash) has to be the same."
    )
    broken = ask(HI, path=THREE, cachedContent=name)
    return Case(says, broken, ask(HI, cachedContent=name))


def cache_too_small(talk: Talk) -> Case:
    count = talk.ok(
        "gemini", Ask(TWO.replace("generateContent", "countTokens"), ask().body)
    )
    says = (
        f"Cached content is too small. total_token_count={count['totalTokens']}, "
        "min_total_token_count=1024"
    )
    return Case(says, caching(HI), caching(LONG))


CASES: dict[str, Maker] = {
    "cache_unknown": cache_unknown,
    "cache_holds": cache_holds,
    "cache_model": cache_model,
    "cache_too_small": cache_too_small,
    "bad_json": of("Invalid JSON payload received. no low surrogate in string: line 1 column 46 (char 45)",
        Ask(TWO, {}, raw=b'{"contents": [{"parts": [{"text": "say \\ud83d\\u0041"}]}]}')),
    "body_too_large": of("Request payload size exceeds the limit: 20971520 bytes.",
        ask({"parts": [{"text": "x" * 20_971_520}]})),
    "key_missing": of(
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
        "other form of API consumer identity to call this API.",
        ask()._replace(headers={"x-goog-api-key": None, "authorization": None}), status=403),
    "model_unknown": of(
        "models/gpt-5 is not found for API version v1beta, or is not supported for generateContent. Call "
        "ListModels to see the list of available models and their supported methods.",
        ask(path="/v1beta/models/gpt-5:generateContent"), status=404),
    "malformed": of("Request contains an invalid argument.", ask(contents=["hello"])),
    "field_unknown": of(
        "Invalid JSON payload received. Unknown name \"thoughtSignature\" at 'contents[1].parts[0].function_call': "
        "Cannot find field.", ask(HI,
        {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "thoughtSignature": "x"}}]}, result()),
        ask(HI, call(), result())),
    "no_contents": of("* GenerateContentRequest.contents: contents is not specified\n", ask(contents=[])),
    "role_unknown": of("Please use a valid role: user, model.", ask({**HI, "role": "assistant"})),
    "parts_empty": of("* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n",
        ask(HI, {"role": "model", "parts": []}, HI), ask(HI, HM, HI)),
    "part_empty": of(
        "* GenerateContentRequest.contents[1].parts[1].data: required oneof field 'data' must have one initialized "
        "field\n", ask(HI, {"role": "model", "parts": [{"text": "Hm."}, {"thought": True}]}, HI), ask(HI, HM, HI)),
    "tool_name_pattern": of(
        "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must start with a "
        "letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or "
        "dashes (-), with a maximum length of 64.\n", ask(tools=[{"functionDeclarations": [{"name": "1st"}]}]),
        ask(tools=TOOLS)),
    "no_struct": of(
        "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), "
        '"{"',
        ask(HI, {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": "{"}}]}, result()),
        ask(HI, call(), result())),
    "result_count": of(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the "
        "function call turn.", ask(HI, call(2), result(1)), ask(HI, call(2), result(2))),
    "result_without_call": of(
        "Please ensure that function response turn comes immediately after a function call turn.",
        ask(HI, HM, result()), ask(HI, call(), result())),
    "call_misplaced": of(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        ask(call(), result()), ask(HI, call(), result())),
    "signature_missing": signature_missing,
    "signature_corrupt": signature_corrupt,
    "signature_moved": signature_moved,
}  # fmt: skip


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES) - {"key_wrong", "too_many_tokens"}


@pytest.mark.parametrize("rule", CASES)
def test_a_violation_is_refused_and_its_twin_is_not(talk: Talk, rule: str) -> None:
    prove(talk, "gemini", rule, CASES[rule](talk))


@pytest.mark.parametrize("signature", ["c2lnbmVk", "no base64", ""])
def test_a_signature_is_read_in_the_current_turn(talk: Talk, signature: str) -> None:
    signed = call(thoughtSignature=signature)
    text = {"role": "model", "parts": [{"text": "Hm.", "thoughtSignature": signature}]}
    assert talk.status("gemini", ask(HI, signed, result(), path=THREE)) == 400
    talk.ok("gemini", ask(HI, signed, result(), path=TWO))
    talk.ok("gemini", ask(HI, signed, result(), text, HI, path=THREE))


def test_only_the_first_of_parallel_calls_needs_its_signature(talk: Talk) -> None:
    first = thought(talk)["parts"][0]
    second = {"functionCall": {"name": "get_weather", "args": {}}}
    both = ask(HI, {"role": "model", "parts": [first, second]}, result(2), path=THREE)
    assert talk.status("gemini", both) == 200
    swapped = ask(HI, {"role": "model", "parts": [second, first]}, result(2), path=THREE)
    assert "missing a thought_signature" in talk.send("gemini", swapped).text


def test_calls_of_earlier_turns_need_no_signature(talk: Talk) -> None:
    assert talk.status("gemini", ask(HI, call(), result(), HM, HI, path=THREE)) == 200


def test_history_from_elsewhere_passes_with_the_documented_word(talk: Talk) -> None:
    foreign = call(thoughtSignature="skip_thought_signature_validator")
    assert talk.status("gemini", ask(HI, foreign, result(), path=THREE)) == 200


def test_names_may_come_in_snake_case_too(talk: Talk) -> None:
    spoken = {
        "role": "model",
        "parts": [{"function_call": {"name": "get_weather", "args": {"snake_case": 1}}}],
    }
    heard = {"parts": [{"function_response": {"name": "get_weather", "response": {}}}]}
    body = {
        "contents": [HI, spoken, heard],
        "system_instruction": {"parts": [{"text": "x"}]},
    }
    assert talk.status("gemini", Ask(TWO, body)) == 200


@pytest.fixture(scope="module")
def tight() -> Iterator[Talk]:
    with tight_talk("gemini-2.5-flash") as talk:
        yield talk


def test_a_prompt_beyond_the_window_is_refused_with_its_count(tight: Talk) -> None:
    path = "/v1beta/models/small:{}"
    long = ask({"parts": [{"text": "far " * 2_000}]}, path=path.format("generateContent"))
    whole = {"generateContentRequest": {**long.body, "model": "models/small"}}
    count = tight.ok("gemini", Ask(path.format("countTokens"), whole))["totalTokens"]
    says = f"The input token count ({count}) exceeds the maximum number of tokens allowed (1000)."
    prove(
        tight,
        "gemini",
        "too_many_tokens",
        Case(says, long, ask(path=path.format("generateContent"))),
    )


def test_a_wrong_key_is_refused_with_its_reason(tight: Talk) -> None:
    broken = ask()._replace(headers={"x-goog-api-key": "wrong"})
    prove(
        tight,
        "gemini",
        "key_wrong",
        Case("API key not valid. Please pass a valid API key.", broken, ask()),
    )
    assert (
        tight.send("gemini", broken).json()["error"]["details"][0]["reason"]
        == "API_KEY_INVALID"
    )
