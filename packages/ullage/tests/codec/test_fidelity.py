"""Wire to words to ledger to wire: every datum of a provider comes back byte for byte, and only where it is from."""

import json
from typing import Any

import pytest

from tests.codec.streams import (
    CHAT,
    GEMINI,
    GOLDEN,
    MESSAGES,
    RESPONSES,
    play,
    request,
    user,
)
from ullage.codec.blocks import Encoded, Options
from ullage.codec.decode import decoder_for
from ullage.codec.history import encode, encode_compaction
from ullage.codec.repair import repair
from ullage.encoding import decode_event
from ullage.encoding import encode as write
from ullage.errors import InvalidRequest
from ullage.events import MessageAdded
from ullage.messages import (
    Message,
    ProviderItem,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import ReasoningPolicy

PLAIN = Options(cache=None)


def stored(message: Message) -> Message:
    """The message after the ledger had it: as JSON and back."""
    event = decode_event(write(MessageAdded(message=message)))
    assert isinstance(event, MessageAdded)
    return event.message


def results(message: Message) -> list[Message]:
    made: list[Message] = []
    for at, call in enumerate(message.of_type(ToolCallPart)):
        content = (TextPart(id=f"r{at}.2", text="12 °C"),)
        part = ToolResultPart(
            id=f"r{at}.1", call_id=call.call_id, name=call.name, content=content
        )
        made.append(Message(id=f"r{at}", role="tool", parts=(part,)))
    return made


def replay(
    wire: str,
    events: list[object],
    *,
    to: str = "",
    provider: str = "",
    model: str = "",
    from_provider: str = "",
    from_model: str = "",
    policy: ReasoningPolicy = ReasoningPolicy(),  # noqa: B008
) -> Encoded:
    """The next request after this answer, with results for its calls, repaired as every request is."""
    answer = stored(
        play(wire, events, provider=from_provider, model=from_model).answer.message
    )
    history = (user(), answer, *results(answer))
    repaired = repair(
        request(to or wire, *history, provider=provider, model=model), policy=policy
    )
    return encode(repaired.request, options=PLAIN)


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def ended(*delta: dict[str, object]) -> list[object]:
    return [
        *({"choices": [{"index": 0, "delta": one}]} for one in delta),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        b"[DONE]",
    ]


# -- Anthropic --


def test_anthropic_thinking_goes_back_signed_also_redacted_or_empty() -> None:
    assert body(replay("messages", MESSAGES))["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Let me look.", "signature": "EqQBCkYIBRgC+/=="},
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3=="},
        {"type": "thinking", "thinking": "", "signature": "omitted+text=="},
        {"type": "text", "text": "Zürich, dann 🦉."},
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "weather",
            "input": {"city": "ZRH", "n": 1.0},
        },
    ]


def test_anthropic_arguments_go_back_as_they_were_written() -> None:
    assert b'"input":{"city": "ZRH", "n": 1.0}' in replay("messages", MESSAGES).content


def test_anthropic_thinking_goes_to_every_host_of_claude_and_to_nobody_else() -> None:
    assert b"EqQBCkYIBRgC" in replay("messages", MESSAGES, provider="bedrock").content
    assert (
        b"EqQBCkYIBRgC"
        not in replay("messages", MESSAGES, provider="moonshot", model="kimi-k2").content
    )


def test_a_half_thought_is_left_out() -> None:
    behind = [
        str(event).replace('"index":3', '"index":1').replace('"index":4', '"index":2')
        for event in MESSAGES[12:]
    ]
    cut = [*MESSAGES[:5], *behind]
    sent = body(replay("messages", cut))["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["text", "tool_use"]
    assert b"Let me look" not in replay("messages", cut).content


def test_blocks_of_anthropics_own_tools_go_back_byte_for_byte() -> None:
    result = (
        '{"type":"web_search_tool_result","tool_use_id":"srv_1",'
        '"content":[{"encrypted_content":"E+/==", "n":1.50}]}'
    )
    call = '{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query": "x"}}'
    events: list[object] = ['{"type":"message_start","message":{}}']
    for at, raw in enumerate((call, result)):
        events += [
            f'{{"type":"content_block_start","index":{at},"content_block":{raw}}}',
            f'{{"type":"content_block_stop","index":{at}}}',
        ]
    events += [
        '{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"So."}}',
        '{"type":"content_block_stop","index":2}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{}}',
        '{"type":"message_stop"}',
    ]
    content = replay("messages", events).content
    assert call.encode() in content
    assert result.encode() in content


# -- Responses --


def test_responses_items_go_back_with_id_encrypted_content_and_phase() -> None:
    sent = body(replay("responses", RESPONSES))["input"]
    items = [
        json.loads(str(event))["item"]
        for event in RESPONSES
        if "output_item.done" in str(event)
    ]
    assert sent[1:4] == items
    expected = {"type": "function_call_output", "call_id": "call_1", "output": "12 °C"}
    assert sent[4] == expected


def test_reasoning_goes_to_no_other_host_and_its_followers_lose_their_names() -> None:
    sent = body(replay("responses", RESPONSES, provider="xai", model="grok-4"))["input"]
    kinds = ["message", "message", "function_call", "function_call_output"]
    assert [item["type"] for item in sent] == kinds
    assert all("id" not in item for item in sent)


def test_reasoning_kept_back_by_the_policy_takes_its_followers_names_with_it() -> None:
    closed = [event for event in RESPONSES if '"output_index":2' not in str(event)]
    answer = stored(play("responses", closed).answer.message)
    asked = request("responses", user(), answer, user("more", "u2"))
    kept = body(encode(asked, options=PLAIN))["input"]
    repaired = repair(asked, policy=ReasoningPolicy(include_in_context=False))
    left_out = body(encode(repaired.request, options=PLAIN))["input"]
    assert [item.get("id") for item in kept] == [None, "rs_1", "msg_1", None]
    assert [(item["type"], item.get("id")) for item in left_out] == [
        ("message", None)
    ] * 3
    assert left_out[1]["phase"] == "commentary"


@pytest.mark.parametrize(
    "kind", ["web_search_call", "mcp_list_tools", "compaction", "from_the_future"]
)
def test_items_without_a_word_go_back_byte_for_byte(kind: str) -> None:
    raw = f'{{"type":"{kind}",  "id":"x_1","n":1.50,"deep":{{"a":[1, 2 ,null]}}}}'
    events: list[object] = [
        f'{{"type":"response.output_item.done","output_index":0,"item":{raw}}}',
        {"type": "response.completed", "response": {"status": "completed"}},
    ]
    assert raw.encode() in replay("responses", events).content


def test_a_custom_tools_result_is_of_its_kind() -> None:
    item = {
        "type": "custom_tool_call",
        "id": "ct",
        "call_id": "c",
        "name": "sh",
        "input": "ls  -l",
    }
    events: list[object] = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed"}},
    ]
    assert body(replay("responses", events))["input"][1:] == [
        item,
        {"type": "custom_tool_call_output", "call_id": "c", "output": "12 °C"},
    ]


@pytest.mark.parametrize(
    ("wire", "host"), [("responses", "openai"), ("chat", "openai"), ("chat", "deepseek")]
)
def test_arguments_that_are_text_go_back_as_they_were_written(
    wire: str, host: str
) -> None:
    assert (
        b'{\\"city\\": \\"ZRH\\"}'
        in replay(wire, GOLDEN[wire], provider=host, from_provider=host).content
    )


# -- Gemini --


def test_gemini_parts_go_back_one_by_one_with_their_signatures() -> None:
    assert body(replay("generateContent", GEMINI))["contents"][1] == {
        "role": "model",
        "parts": [
            {"text": "Let me look.", "thought": True},
            {"text": "Zürich, dann 🦉."},
            {"text": " Ende.", "thoughtSignature": "text/sig+=="},
            {
                "functionCall": {"name": "weather", "args": {"city": "ZRH", "n": 1.0}},
                "thoughtSignature": "CiQBcsjafd==",
            },
            {"functionCall": {"name": "clock", "args": {}, "id": "fx-2"}},
            {"text": "", "thoughtSignature": "last=="},
        ],
    }


def test_gemini_arguments_go_back_as_they_were_written() -> None:
    assert (
        b'"args":{"city": "ZRH", "n": 1.0}' in replay("generateContent", GEMINI).content
    )


def test_ids_that_we_made_for_gemini_do_not_go_back() -> None:
    content = replay("generateContent", GEMINI).content
    assert b"~m1" not in content
    assert body(replay("generateContent", GEMINI))["contents"][2]["parts"] == [
        {"functionResponse": {"name": "weather", "response": {"output": "12 °C"}}},
        {
            "functionResponse": {
                "name": "clock",
                "id": "fx-2",
                "response": {"output": "12 °C"},
            }
        },
    ]


@pytest.mark.parametrize(
    "part",
    [
        '{"text":"b","thoughtSignature":"S+/=="}',
        '{"thoughtSignature":"S+/=="}',
        '{"text":"","thought":true,"thoughtSignature":"S+/=="}',
        '{"executableCode":{"language":"PYTHON","code":"1 + 1"},"thoughtSignature":"S+/=="}',
        '{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="},"thoughtSignature":"S+/=="}',
        '{"partFromTheFuture":{"n":1.50, "a":[ 1]}}',
    ],
)
def test_a_part_of_gemini_goes_back_as_it_came(part: str) -> None:
    events = [
        '{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}]}',
        f'{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}}}}]}}',
        '{"candidates":[{"content":{"role":"model","parts":[{"text":"c"}]},"finishReason":"STOP"}]}',
    ]
    sent = body(replay("generateContent", list(events)))["contents"][1]["parts"]
    assert sent == [{"text": "a"}, json.loads(part), {"text": "c"}]


def test_a_signature_of_another_model_is_replaced_by_the_documented_stand_in() -> None:
    sent = replay("generateContent", GEMINI, from_model="gemini-2.5-pro")
    assert b"CiQBcsjafd" not in sent.content
    assert b"skip_thought_signature_validator" in sent.content


# -- Chat --


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
DETAILS = [
    {
        "type": "reasoning.text",
        "text": "Hm.",
        "signature": "Sig+/==",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {
        "type": "reasoning.encrypted",
        "data": "E+/==",
        "id": "r1",
        "format": "openai-responses-v1",
        "index": 1,
    },
]
SO: dict[str, object] = {"content": "So."}
SIGNED = {
    "id": "a",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
    "extra_content": {"google": {"thought_signature": "S+/=="}},
}


def called(name: str, tool: str, arguments: str) -> dict[str, object]:
    function = {"name": tool, "arguments": arguments}
    return {"id": name, "type": "function", "function": function}


@pytest.mark.parametrize(
    ("host", "model", "events", "sent"),
    [
        (
            "deepseek",
            "deepseek-chat",
            CHAT,
            {
                "content": "Zürich, dann 🦉.",
                "reasoning_content": "Let me look.",
                "tool_calls": [
                    called("call_1", "weather", '{"city": "ZRH"}'),
                    called("call_2", "clock", "{}"),
                ],
            },
        ),
        (
            "openrouter",
            "x/y",
            ended(
                {"reasoning": "Hm.", "reasoning_details": DETAILS[:1]},
                {"reasoning_details": DETAILS[1:]},
                SO,
            ),
            {"content": "So.", "reasoning_details": DETAILS},
        ),
        ("vllm", "q", ended({"reasoning": "Hm."}, SO), {**SO, "reasoning": "Hm."}),
        (
            "mistral",
            "magistral",
            ended({"content": [THOUGHT]}, SO),
            {"content": [THOUGHT, {"type": "text", "text": "So."}]},
        ),
        (
            "google",
            "gemini-3-pro",
            ended({"tool_calls": [{"index": 0, **SIGNED}]}),
            {"content": None, "tool_calls": [SIGNED]},
        ),
    ],
    ids=["deepseek", "openrouter", "vllm", "mistral", "google"],
)
def test_what_a_host_of_chat_gave_goes_back_to_it_as_it_came(
    host: str, model: str, events: list[object], sent: dict[str, object]
) -> None:
    made = replay(
        "chat", events, provider=host, model=model, from_provider=host, from_model=model
    )
    assert body(made)["messages"][1] == {"role": "assistant", **sent}


# -- between wires --


@pytest.mark.parametrize("there", GOLDEN)
@pytest.mark.parametrize("here", GOLDEN)
def test_opaque_data_and_reasoning_go_to_no_other_wire(here: str, there: str) -> None:
    if here == there:
        return
    content = replay(here, GOLDEN[here], to=there).content
    secrets = "EqQBCkYIBRgC EmwKAhgB omitted+text gAAA CiQBcsjafd text/sig rs_1 msg_1"
    for secret in (*secrets.split(), "Let me look", "First."):
        assert secret.encode() not in content
    assert "Zürich, dann 🦉.".encode() in content
    assert b"weather" in content


@pytest.mark.parametrize("there", GOLDEN)
@pytest.mark.parametrize("here", GOLDEN)
def test_what_went_to_another_wire_comes_back_whole(here: str, there: str) -> None:
    answer = stored(play(here, GOLDEN[here]).answer.message)
    history = (user(), answer, *results(answer))
    away = repair(request(there, *history))
    encode(away.request, options=PLAIN)
    back = repair(request(here, *history))
    assert back.request.messages == history or not back.repairs
    assert (
        encode(back.request, options=PLAIN).content == replay(here, GOLDEN[here]).content
    )


@pytest.mark.parametrize("wire", GOLDEN)
def test_each_request_extends_the_one_before(wire: str) -> None:
    answer = stored(play(wire, GOLDEN[wire]).answer.message)
    question = user("and more", "u3")
    steps = [(user(),), (answer, *results(answer)), (user("more", "u2"),), (question,)]
    history: tuple[Message, ...] = ()
    earlier = None
    for step in steps:
        history += step
        encoded = encode(request(wire, *history), options=Options())
        if earlier is not None:
            assert encoded.extends(earlier)
            assert not earlier.extends(encoded)
        earlier = encoded


@pytest.mark.parametrize("wire", GOLDEN)
def test_the_same_request_is_the_same_bytes(wire: str) -> None:
    answer = play(wire, GOLDEN[wire]).answer.message
    one, other = (
        encode(request(wire, user(), message)) for message in (answer, stored(answer))
    )
    assert one.content == other.content
    assert one.blocks == other.blocks


# -- compactions --

COMPACTED: dict[str, object] = {
    "type": "compaction",
    "content": "Two casks leak.",
    "signature": "EuYBCkQY+/==",
}


def compaction_stream() -> list[object]:
    """https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand: the block comes whole, no deltas."""
    usage = {"input_tokens": 0, "output_tokens": 0}
    once = {"type": "compaction", "input_tokens": 144, "output_tokens": 276}
    message = {"id": "msg_1", "model": "claude-opus-4-6", "usage": usage}
    return [
        {"type": "message_start", "message": message},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": COMPACTED},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "compaction"},
            "usage": {**usage, "iterations": [once]},
        },
        {"type": "message_stop"},
    ]


def in_front(answer: Message) -> Message:
    """The compaction as a summary stands in a history."""
    return Message(id="s", role="user", origin="summary", parts=stored(answer).parts)


def test_anthropics_compaction_goes_back_first_as_it_came_and_with_its_header() -> None:
    played = play("messages", compaction_stream())
    (item,) = played.parts
    assert isinstance(item, ProviderItem)
    assert (item.kind, item.text) == ("compaction", "Two casks leak.")
    next_request = request("messages", in_front(played.answer.message), user())
    made = encode(repair(next_request).request, options=PLAIN)
    (turn,) = body(made)["messages"]
    assert turn["content"] == [COMPACTED, {"type": "text", "text": "go"}]
    assert made.headers["anthropic-beta"] == "compact-2026-09-04"
    betas = Options(cache=None, betas=("other-1", "compact-2026-09-04"))
    made = encode(repair(next_request).request, options=betas)
    assert made.headers["anthropic-beta"] == "other-1,compact-2026-09-04"


def test_a_compaction_at_a_threshold_has_no_signature_and_asks_for_no_header() -> None:
    """https://platform.claude.com/docs/en/build-with-claude/compaction-threshold: it comes in pieces."""
    start = {"type": "compaction", "content": ""}
    events = compaction_stream()
    events[2] = {"type": "content_block_start", "index": 0, "content_block": start}
    pieces = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "compaction_delta", "content": text},
        }
        for text in ("Two casks ", "leak.")
    ]
    played = play("messages", [*events[:3], *pieces, *events[3:]])
    asked = request("messages", user(), played.answer.message, user("on", "u2"))
    made = encode(asked, options=PLAIN)
    assert body(made)["messages"][1]["content"] == [
        {"type": "compaction", "content": "Two casks leak."}
    ]
    assert "anthropic-beta" not in made.headers


WINDOW_OF_OPENAI: list[dict[str, object]] = [
    {
        "id": "msg_1",
        "type": "message",
        "status": "completed",
        "role": "user",
        "content": [{"type": "input_text", "text": "Which leak?"}],
    },
    {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAAAB+/=="},
]


def test_openais_compacted_window_goes_back_item_by_item() -> None:
    answer = {
        "id": "resp_1",
        "object": "response.compaction",
        "created_at": 1,
        "output": WINDOW_OF_OPENAI,
        "usage": {"input_tokens": 139, "output_tokens": 438, "total_tokens": 577},
    }
    decoded = decoder_for(request("responses"), message_id="a").read(
        json.dumps(answer).encode()
    )
    assert decoded.outcome == "finished"
    assert decoded.usage.output == 438
    repaired = repair(request("responses", in_front(decoded.message), user()))
    made = encode(repaired.request, options=PLAIN)
    assert body(made)["input"][:2] == WINDOW_OF_OPENAI


@pytest.mark.parametrize(
    ("wire", "model"),
    [("messages", "claude-sonnet-4-5"), ("responses", "gpt-5"), ("chat", "gpt-5")],
)
def test_another_model_gets_a_compactions_text(wire: str, model: str) -> None:
    played = play("messages", compaction_stream())
    repaired = repair(request(wire, in_front(played.answer.message), user(), model=model))
    made = encode(repaired.request, options=PLAIN)
    assert "Two casks leak." in made.content.decode()
    assert '"compaction"' not in made.content.decode()
    assert "EuYBCkQY" not in made.content.decode()


def test_a_request_for_a_compaction_leaves_out_what_would_do_nothing() -> None:
    params: dict[str, object] = {
        "stop_sequences": ["END"],
        "context_management": {"edits": []},
        "tool_choice": {"type": "any"},
        "output_config": {"effort": "low", "format": {"type": "json_schema"}},
    }
    asked = request("messages", user(), params=params)
    made = encode_compaction(asked, encode(asked, options=PLAIN), "Keep the names.")
    sent = body(made)
    assert sent["compaction"] == {"type": "summarize", "instructions": "Keep the names."}
    assert sent["output_config"] == {"effort": "low"}
    assert not sent.keys() & {"stop_sequences", "context_management", "tool_choice"}
    asked = request("responses", user(), params={"prompt_cache_key": "k", "top_p": 0.5})
    made = encode_compaction(asked, encode(asked, options=PLAIN), "")
    assert made.path == "/responses/compact"
    assert body(made).keys() == {"model", "input", "prompt_cache_key"}


def test_a_wire_without_a_compaction_says_so() -> None:
    asked = request("chat", user())
    with pytest.raises(InvalidRequest, match="no compaction of its own"):
        encode_compaction(asked, encode(asked, options=PLAIN), "")
