"""Requests and answers of Google ADK as JSON, with the SDK's own types in place of ADK's."""

from types import SimpleNamespace
from typing import Any

from google.genai import types

from ullage.plugins.adk_requests import (
    MADE_ID,
    answer_json,
    body_of,
    content_json,
    conversation_of,
    summary_config,
)


def part(**fields: Any) -> types.Part:
    return types.Part(**fields)


def call(number: int, **fields: Any) -> types.Part:
    given = types.FunctionCall(name="use", args={"number": number}, **fields)
    return part(function_call=given)


def result(number: int, **fields: Any) -> types.Part:
    response = {"result": f"result {number}"}
    given = types.FunctionResponse(name="use", response=response, **fields)
    return part(function_response=given)


def content(role: str, *parts: types.Part) -> types.Content:
    return types.Content(role=role, parts=list(parts))


def request(*contents: types.Content, **config: Any) -> Any:
    made = types.GenerateContentConfig(**config)
    return SimpleNamespace(
        model="nobody-knows-this", contents=list(contents), config=made
    )


def context(**changes: Any) -> Any:
    invocation = {
        "app_name": "app",
        "user_id": "person",
        "session": SimpleNamespace(id="s1"),
        "branch": None,
        "isolation_scope": None,
        "agent": SimpleNamespace(name="valves"),
    }
    made = SimpleNamespace(**(invocation | changes))
    return SimpleNamespace(get_invocation_context=lambda: made)


def test_a_request_is_the_body_that_the_sdk_would_send() -> None:
    declared = types.FunctionDeclaration(
        name="use", parameters_json_schema={"type": "object"}
    )
    body = body_of(
        request(
            content("user", part(text="Hi")),
            system_instruction="Look after the valves.",
            tools=[types.Tool(function_declarations=[declared])],
            max_output_tokens=500,
        )
    )
    assert body == {
        "model": "nobody-knows-this",
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "systemInstruction": {
            "role": "user",
            "parts": [{"text": "Look after the valves."}],
        },
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "use", "parametersJsonSchema": {"type": "object"}}
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 500},
    }


def test_calls_without_ids_get_the_ids_of_their_results() -> None:
    body = body_of(
        request(
            content("model", call(1)),
            content("user", result(1)),
            content("model", call(2), call(3)),
            content("user", result(2), result(3)),
        )
    )
    ids = []
    for each in body["contents"]:
        for one in each["parts"]:
            ids.append(next(iter(one.values()))["id"])
    one, two, three = (f"{MADE_ID}{number}" for number in (1, 2, 3))
    assert ids == [one, one, two, three, two, three]


def test_a_call_that_never_got_its_result_takes_no_result_of_a_later_one() -> None:
    body = body_of(
        request(
            content("model", call(1)),
            content("user", part(text="Never mind.")),
            content("model", call(2)),
            content("user", result(2)),
        )
    )
    assert (
        body["contents"][3]["parts"][0]["functionResponse"]["id"]
        == body["contents"][2]["parts"][0]["functionCall"]["id"]
    )


def test_ids_that_are_there_stay() -> None:
    body = body_of(
        request(
            content("model", call(1, id="call-a")),
            content("user", result(1, id="call-a")),
        )
    )
    assert body["contents"][0]["parts"][0]["functionCall"]["id"] == "call-a"
    assert content_json(body["contents"][1]) == body["contents"][1]


def test_a_content_goes_back_without_the_ids_that_were_made() -> None:
    own = content(
        "model",
        part(text="I will look.", thought_signature=b"\x00\xff signed"),
        call(1),
    )
    item = body_of(request(own))["contents"][0]
    assert types.Content.model_validate(content_json(item)) == own


def test_a_summary_keeps_the_config_that_the_cache_of_the_provider_holds() -> None:
    asked = request(
        content("user", part(text="Hi")),
        system_instruction="Look after the valves.",
        tools=[types.Tool(google_search=types.GoogleSearch())],
        response_mime_type="application/json",
    )
    changes = summary_config(asked, body_of(asked))
    assert changes["response_mime_type"] is None
    assert "system_instruction" not in changes
    assert "tools" not in changes
    assert "tool_config" not in changes


def test_a_summary_of_pieces_has_its_own_system_prompt_and_no_tools() -> None:
    asked = request(
        content("user", part(text="Hi")),
        system_instruction="Look after the valves.",
        tools=[types.Tool(google_search=types.GoogleSearch())],
    )
    system = {"parts": [{"text": "Sum up."}]}
    changes = summary_config(
        asked,
        {
            "contents": [],
            "systemInstruction": system,
            "generationConfig": {"maxOutputTokens": 300},
        },
    )
    made = types.GenerateContentConfig.model_validate(changes)
    assert changes["tools"] is None
    assert made.max_output_tokens == 300
    assert made.system_instruction == types.Content(parts=[part(text="Sum up.")])


def test_an_answer_is_the_providers_json() -> None:
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=7, candidates_token_count=2, total_token_count=9
    )
    response = SimpleNamespace(
        content=content("model", part(text="Done.")),
        finish_reason=types.FinishReason.STOP,
        usage_metadata=usage,
    )
    assert answer_json(response) == {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Done."}]},
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 7,
            "candidatesTokenCount": 2,
            "totalTokenCount": 9,
        },
    }


def test_each_agent_branch_user_and_session_is_a_conversation() -> None:
    contexts = (
        context(),
        context(agent=SimpleNamespace(name="pumps")),
        context(branch="root.valves"),
        context(user_id="somebody"),
        context(session=SimpleNamespace(id="s2")),
        context(isolation_scope="call-1"),
        context(app_name="app/person", user_id=""),
    )
    assert len({conversation_of(each) for each in contexts}) == len(contexts)
    assert conversation_of(context()) == conversation_of(context())
