"""Bodies for Anthropic Messages."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from tests.codec.streams import request, user
from tests.tiers import first_of
from ullage.codec.blocks import CacheMarks, Encoded, Options
from ullage.codec.bodies import read_body
from ullage.codec.history import History, encode, encode_count
from ullage.codec.repair import repair
from ullage.codec.tool_references import reference_to
from ullage.codec.wires.anthropic.encode import settle
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import ReasoningPolicy

BARE = Options(cache=None)

BODY: dict[str, Any] = {
    "model": "claude-opus-4-6",
    "max_tokens": 100,
    "temperature": 0.5,
    "tool_choice": {"type": "auto"},
    "system": [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind."},
    ],
    "tools": [
        {
            "name": "read",
            "description": "Reads",
            "input_schema": {"type": "object", "properties": {"p": {}}},
        },
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"name": "later", "input_schema": {}, "defer_loading": True},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                {
                    "type": "document",
                    "source": {"type": "file", "file_id": "file_1"},
                    "title": "a.pdf",
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "S"},
                {"type": "redacted_thinking", "data": "D"},
                {"type": "text", "text": "so", "citations": [{"cited_text": "x"}]},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": 1.0}},
                {"type": "tool_use", "id": "t2", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [
                        {"type": "text", "text": "two"},
                        {
                            "type": "image",
                            "source": {"type": "url", "url": "https://x/z.png"},
                        },
                    ],
                    "is_error": True,
                },
                {"type": "text", "text": "go on"},
            ],
        },
    ],
}


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def test_a_body_that_was_read_is_written_as_it_was() -> None:
    assert body(encode(read_body(BODY), options=BARE)) == BODY


def test_where_it_goes_and_in_which_version() -> None:
    encoded = encode(read_body(BODY), options=Options(betas=("a-2026", "b-2026")))
    assert encoded.path == "/messages"
    assert encoded.headers == {
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "anthropic-beta": "a-2026,b-2026",
    }


def test_what_the_server_is_to_clear_goes_with_the_beta_that_it_needs() -> None:
    asked = request("messages", user(), params={"context_management": {"edits": []}})
    encoded = encode(asked, options=Options(betas=("a-2026",)))
    assert encoded.headers["anthropic-beta"] == "a-2026,context-management-2025-06-27"
    assert body(encoded)["context_management"] == {"edits": []}


def test_a_stream_is_asked_for_as_such() -> None:
    assert body(encode(request("messages", user(), stream=True)))["stream"] is True
    assert "stream" not in body(encode(request("messages", user())))


def test_the_output_limit_is_always_said() -> None:
    assert body(encode(request("messages", user())))["max_tokens"] == 16_000
    assert (
        body(encode(request("messages", user(), params={"max_tokens": 5})))["max_tokens"]
        == 5
    )
    assert (
        body(
            encode(
                request("messages", user(), params={"max_tokens": 5}),
                options=Options(max_output=7),
            )
        )["max_tokens"]
        == 7
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            Options(thinking_budget=2_000),
            {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
        ),
        (Options(effort="high"), {"output_config": {"effort": "high"}}),
        (Options(effort="none"), {"thinking": {"type": "disabled"}}),
        (Options(temperature=0.0), {"temperature": 0.0}),
        (Options(), {}),
    ],
)
def test_options_are_spelt_for_this_wire(
    options: Options, expected: dict[str, object]
) -> None:
    sent = body(encode(request("messages", user()), options=options))
    assert {
        key: sent[key] for key in sent if key not in ("model", "messages", "max_tokens")
    } == expected


def test_effort_leaves_the_rest_of_its_object_alone() -> None:
    sent = body(
        encode(
            request("messages", user(), params={"output_config": {"format": 1}}),
            options=Options(effort="low"),
        )
    )
    assert sent["output_config"] == {"format": 1, "effort": "low"}


def marks(encoded: Encoded) -> list[str]:
    """Where the markers stand, as paths."""
    found: list[str] = []

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            if "cache_control" in value:
                found.append(path)
            for key, item in value.items():
                walk(item, f"{path}.{key}" if path else key)
        elif isinstance(value, list):
            for at, item in enumerate(value):
                walk(item, f"{path}[{at}]")

    walk(body(encoded), "")
    return found


def conversation(*texts: str) -> Request:
    messages = [
        Message(
            id=f"m{at}",
            role="assistant" if at % 2 else "user",
            parts=(TextPart(id=f"m{at}.1", text=text),),
        )
        for at, text in enumerate(texts)
    ]
    system = (SystemBlock(text="S"), SystemBlock(text="T"))
    return request(
        "messages", *messages, system=system, tools=(Tool(name="f"), Tool(name="g"))
    )


def test_the_end_of_the_system_prompt_and_the_last_two_user_turns_are_marked() -> None:
    assert marks(encode(conversation("a", "b", "c", "d", "e"))) == [
        "system[1]",
        "messages[2].content[0]",
        "messages[4].content[0]",
    ]


def test_without_a_system_prompt_the_tools_are_marked() -> None:
    bare = msgspec.structs.replace(conversation("a"), system=())
    assert marks(encode(bare)) == ["tools[1]", "messages[0].content[0]"]


def test_markers_are_at_most_four_and_can_be_left_out() -> None:
    many = conversation(*"abcdefghijk")
    assert len(marks(encode(many, options=Options(cache=CacheMarks(messages=9))))) == 4
    assert (
        len(
            marks(
                encode(many, options=Options(cache=CacheMarks(system=False, messages=9)))
            )
        )
        == 4
    )
    assert marks(encode(many, options=BARE)) == []


def test_an_hour_is_said() -> None:
    sent = body(encode(conversation("a"), options=Options(cache=CacheMarks(ttl="1h"))))
    assert sent["system"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_markers_are_no_part_of_the_blocks() -> None:
    assert (
        encode(conversation("a", "b", "c")).blocks
        == encode(conversation("a", "b", "c"), options=BARE).blocks
    )


def test_own_markers_replace_those_that_came_with_the_words() -> None:
    marked: dict[str, Any] = {
        **BODY,
        "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
    }
    words = read_body(marked)
    assert body(encode(words, options=BARE))["system"] == marked["system"]
    assert marks(encode(words)) == [
        "system[0]",
        "messages[0].content[2]",
        "messages[2].content[2]",
    ]


def test_a_result_and_the_users_next_word_are_one_message_of_two_blocks() -> None:
    call = Message(
        id="a",
        role="assistant",
        parts=(ToolCallPart(id="a.1", call_id="t", name="f", arguments="{}"),),
    )
    result = Message(id="r", role="tool", parts=(ToolResultPart(id="r.1", call_id="t"),))
    before = encode(request("messages", user(), call, result))
    after = encode(request("messages", user(), call, result, user("wait", "u2")))
    assert [block["type"] for block in body(after)["messages"][2]["content"]] == [
        "tool_result",
        "text",
    ]
    assert after.extends(before)


def test_a_note_of_the_program_is_told_apart_from_the_user() -> None:
    note = Message(
        id="s", role="system", parts=(TextPart(id="s.1", text="Low on room."),)
    )
    sent = body(encode(request("messages", user(), note), options=BARE))["messages"]
    assert sent[0]["content"][1]["text"] == "<system>\nLow on room.\n</system>"


def test_arguments_are_an_object_whatever_was_written() -> None:
    def sent(arguments: str) -> object:
        call = ToolCallPart(id="a.1", call_id="t", name="f", arguments=arguments)
        return body(
            encode(request("messages", Message(id="a", role="assistant", parts=(call,))))
        )["messages"][0]["content"][0]["input"]

    assert sent("") == {}
    assert sent('{"a": 1}') == {"a": 1}
    assert sent('{"a": ') == {"unreadable_arguments": '{"a": '}
    assert sent("[1]") == {"unreadable_arguments": "[1]"}


def thinking(
    text: str, data: bytes, *, redacted: bool = False, model: str = "claude-opus-4-6"
) -> Message:
    data_of = ProviderData(
        data=msgspec.Raw(data), provider="anthropic", wire="messages", model=model
    )
    part = ReasoningPart(id="a.1", text=text, redacted=redacted, provider=data_of)
    return Message(id="a", role="assistant", parts=(part, TextPart(id="a.2", text="so")))


def blocks_of(message: Message, **more: Any) -> list[str]:
    sent = body(
        encode(
            request("messages", user(), message, user("more", "u2"), **more), options=BARE
        )
    )
    return [block["type"] for block in sent["messages"][1]["content"]]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (thinking("hm", b'{"signature":"S"}'), ["thinking", "text"]),
        (thinking("", b'{"signature":"S"}'), ["thinking", "text"]),
        (thinking("", b'{"data":"D"}', redacted=True), ["redacted_thinking", "text"]),
        (thinking("hm", b'{"signature":""}'), ["text"]),
        (thinking("hm", b"{}"), ["text"]),
        (thinking("", b"{}", redacted=True), ["text"]),
    ],
)
def test_thinking_is_sent_whole_or_not_at_all(
    message: Message, expected: list[str]
) -> None:
    assert blocks_of(message) == expected


def test_thinking_without_a_signature_goes_to_look_alikes_of_this_wire() -> None:
    data = ProviderData(
        data=msgspec.Raw(b'{"signature":""}'),
        provider="minimax",
        wire="messages",
        model="MiniMax-M2",
    )
    part = ReasoningPart(id="a.1", text="hm", provider=data)
    message = Message(
        id="a", role="assistant", parts=(part, TextPart(id="a.2", text="so"))
    )
    assert blocks_of(message, provider="minimax", model="MiniMax-M2") == [
        "thinking",
        "text",
    ]


def test_the_policy_decides_what_reasoning_is_sent() -> None:
    asked = request(
        "messages", user(), thinking("hm", b'{"signature":"S"}'), user("more", "u2")
    )
    sent = body(
        encode(repair(asked, policy=ReasoningPolicy(strip="all")).request, options=BARE)
    )
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text"]


def media(part: ImagePart | FilePart, **content: bytes) -> Any:
    asked = request("messages", Message(id="u", role="user", parts=(part,)))
    encoded = encode(
        asked,
        options=Options(
            cache=None,
            media={name.replace("_", ":"): data for name, data in content.items()},
        ),
    )
    return body(encoded)["messages"][0]["content"][0], encoded.unsent


@pytest.mark.parametrize(
    ("part", "source"),
    [
        (
            ImagePart(id="i", source="data:image/jpeg;base64,AAAA"),
            {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"},
        ),
        (
            ImagePart(id="i", source="https://x/y.png"),
            {"type": "url", "url": "https://x/y.png"},
        ),
        (ImagePart(id="i", source="file_123"), {"type": "file", "file_id": "file_123"}),
        (
            ImagePart(id="i", mime="image/gif", source="blake2b:1"),
            {"type": "base64", "media_type": "image/gif", "data": "aGk="},
        ),
        (
            FilePart(id="i", mime="application/pdf", source="blake2b:1"),
            {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
        ),
        (
            FilePart(id="i", text="words"),
            {"type": "text", "media_type": "text/plain", "data": "words"},
        ),
    ],
)
def test_media_are_sent_from_their_source(
    part: ImagePart | FilePart, source: dict[str, str]
) -> None:
    sent, unsent = media(part, blake2b_1=b"hi")
    assert (sent["source"], unsent) == (source, ())


def test_media_whose_bytes_are_not_here_are_named() -> None:
    sent, unsent = media(
        ImagePart(id="i", mime="image/png", width=640, height=480, source="blake2b:gone")
    )
    assert sent == {
        "type": "text",
        "text": "[image, image/png, 640×480: its content is not available]",
    }
    assert unsent == ("content of i",)


def test_a_tool_of_another_provider_is_left_out_and_named() -> None:
    tool = Tool(
        name="googleSearch",
        kind="googleSearch",
        schema=msgspec.Raw(b'{"googleSearch":{}}'),
    )
    encoded = encode(request("messages", user(), tools=(tool,)))
    assert "tools" not in body(encoded)
    assert encoded.unsent == ("tool googleSearch",)


def test_counting_sends_what_is_counted_and_no_markers_of_output() -> None:
    counted = encode_count(
        read_body({**BODY, "thinking": {"type": "adaptive"}, "stream": True}),
        options=BARE,
    )
    assert counted is not None
    assert counted.path == "/messages/count_tokens"
    assert set(body(counted)) == {
        "model",
        "system",
        "tools",
        "messages",
        "tool_choice",
        "thinking",
    }
    assert body(counted)["messages"] == BODY["messages"]


def test_a_thinking_budget_is_a_parameter_before_the_history_is_checked() -> None:
    request = Request(wire="messages", model="claude-sonnet-4-5")
    asked, options = settle(request, Options(thinking_budget=2048))
    assert asked.params == {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    assert options == Options()
    assert (
        encode(asked, options=options).content
        == encode(request, options=Options(thinking_budget=2048)).content
    )


def test_no_effort_switches_thinking_off_whatever_the_budget() -> None:
    asked, options = settle(
        Request(wire="messages", model="m"), Options(effort="none", thinking_budget=2048)
    )
    assert asked.params == {"thinking": {"type": "disabled"}}
    assert options == Options()


DROPS = {"prefix_mismatch_behavior": "drop_block"}


@pytest.mark.parametrize(
    ("model", "options", "sent", "unsent"),
    [
        (
            "claude-opus-4-7",
            Options(thinking_budget=2048),
            {"thinking": {"type": "adaptive"}},
            ("thinking_budget",),
        ),
        (
            "claude-fable-5-2",
            Options(effort="none"),
            {
                "thinking": {"type": "adaptive", "block_binding": DROPS},
                "output_config": {"effort": "low"},
            },
            (),
        ),
        (
            "claude-sonnet-5-5",
            Options(effort="none", thinking_budget=2048),
            {"thinking": {"type": "between_tools"}},
            (),
        ),
        (
            "claude-opus-5",
            Options(effort="none"),
            {"thinking": {"type": "disabled"}},
            (),
        ),
    ],
)
def test_a_model_that_takes_no_budget_or_always_thinks_is_asked_for_the_least_it_takes(
    model: str, options: Options, sent: dict[str, object], unsent: tuple[str, ...]
) -> None:
    encoded = encode(request("messages", user(), model=model), options=options)
    assert {name: body(encoded).get(name) for name in sent} == sent
    assert encoded.unsent == unsent


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, {"type": "adaptive", "block_binding": DROPS}),
        (
            {"type": "adaptive", "display": "omitted"},
            {"type": "adaptive", "display": "omitted", "block_binding": DROPS},
        ),
        (
            {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
            {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}},
        ),
        ({"type": "between_tools"}, {"type": "between_tools"}),
    ],
)
def test_a_model_that_binds_thinking_is_asked_to_drop_what_it_would_refuse(
    given: dict[str, object] | None, sent: dict[str, object]
) -> None:
    params = {} if given is None else {"thinking": given}
    asked = msgspec.structs.replace(
        request("messages", user("hi"), params=params),
        model="claude-fable-5-2",
        provider="anthropic",
    )
    encoded = encode(asked)
    assert encoded.body["thinking"] == sent
    has_beta = "thinking-binding-controls-2026-08-01" in encoded.headers.get(
        "anthropic-beta", ""
    )
    assert has_beta is (sent["type"] == "adaptive")
    counted = encode_count(asked)
    assert counted is not None
    assert counted.body["thinking"] == sent


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-opus-5", "anthropic"), ("claude-fable-5-2", "somebody-else")],
)
def test_another_model_or_host_is_asked_for_nothing_of_the_kind(
    model: str, provider: str
) -> None:
    asked = msgspec.structs.replace(
        request("messages", user("hi")), model=model, provider=provider
    )
    assert "thinking" not in encode(asked).body
    bound = msgspec.structs.replace(asked, model="claude-fable-5-2", provider="anthropic")
    assert "thinking" not in encode(bound, options=Options(drops_unbound=False)).body


NOTE = Message(id="n", role="system", parts=(TextPart(id="n.t", text="Be brief."),))
ANSWER = Message(id="a", role="assistant", parts=(TextPart(id="a.t", text="Half full."),))


def note(number: int) -> Message:
    name = f"n{number}"
    return Message(
        id=name, role="system", parts=(TextPart(id=f"{name}.t", text="Be brief."),)
    )


def spoken(
    *messages: Message, model: str = "claude-fable-5-2", provider: str = "anthropic"
) -> list[str]:
    """The roles of the wire messages; ``note`` is a system message that is written as text of the user's."""
    asked = Request(wire="messages", model=model, provider=provider, messages=messages)
    encoded = encode(repair(asked).request, options=BARE)
    roles: list[str] = []
    for each in body(encoded)["messages"]:
        has_note = "<system>" in str(each["content"])
        roles.append("note" if has_note else each["role"])
    return roles


def test_a_system_message_behind_a_users_is_one_of_its_own() -> None:
    assert spoken(user(), NOTE) == ["user", "system"]
    assert spoken(user(), NOTE, ANSWER, user(id="u2")) == [
        "user", "system", "assistant", "user"
    ]  # fmt: skip
    assert spoken(user(), NOTE, note(2), ANSWER, user(id="u2"))[1:3] == [
        "system", "assistant"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "messages",
    [
        (NOTE, user()),
        (user(), ANSWER, NOTE, user(id="u2")),
        (user(), NOTE, user(id="u2"), ANSWER, user(id="u3")),
        (user(), NOTE, note(2), user(id="u2")),
    ],
)
def test_a_system_message_where_none_may_stand_is_text_of_the_users(
    messages: tuple[Message, ...],
) -> None:
    roles = spoken(*messages)
    assert "note" in roles and "system" not in roles


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-sonnet-5", "anthropic"), ("claude-fable-5-2", "openrouter")],
)
def test_a_system_message_is_text_of_the_users_where_the_model_takes_none(
    model: str, provider: str
) -> None:
    roles = spoken(user(), NOTE, ANSWER, user(id="u2"), model=model, provider=provider)
    assert roles == ["note", "assistant", "user"]


def _random_history(random: Random, length: int) -> list[Message]:
    """Questions, notes, calls with results, and answers in any order, as failed and interrupted turns leave them."""
    made: list[Message] = []
    for number in range(length):
        name = f"m{number}"
        kind = random.choice(("user", "user", "system", "system", "answer", "call"))
        if kind == "call":
            call = ToolCallPart(id=f"{name}.c", call_id=name, name="look")
            result = ToolResultPart(id=f"{name}.r", call_id=name, name="look")
            made.append(Message(id=name, role="assistant", parts=(call,)))
            made.append(Message(id=f"{name}.m", role="tool", parts=(result,)))
        elif kind == "answer":
            text = TextPart(id=f"{name}.t", text=f"Answer {number}.")
            made.append(Message(id=name, role="assistant", parts=(text,)))
        elif kind == "system":
            made.append(note(number))
        else:
            made.append(user(f"Question {number}", id=name))
    return made


@pytest.mark.parametrize("seed", first_of(range(300), 40))
def test_system_messages_stand_where_they_may_and_nothing_in_front_of_an_answer_changes(
    seed: int,
) -> None:
    """Requests of a history that grows: what stood in front of an answer is written alike in all later ones."""
    random = Random(seed)
    whole = _random_history(random, 14)
    grown = History()
    fronts: dict[str, list[Any]] = {}
    for end in range(1, len(whole) + 1):
        messages = tuple(whole[:end])
        if messages[-1].parts and isinstance(messages[-1].parts[-1], ToolCallPart):
            continue
        asked = Request(
            wire="messages",
            model="claude-fable-5-1",
            provider="anthropic",
            messages=messages,
        )
        sent = body(grown.prepare(asked, options=BARE).encoded)["messages"]
        assert sent == body(History().prepare(asked, options=BARE).encoded)["messages"]
        for at, each in enumerate(sent):
            around = [one["role"] for one in sent[max(0, at - 1) : at + 2]]
            if each["role"] == "system":
                assert around in (["user", "system"], ["user", "system", "assistant"])
            elif each["role"] == "assistant":
                front = fronts.setdefault(str(each), sent[:at])
                assert sent[:at] == front


TOOLS = (
    Tool(name="tool_search", schema=msgspec.Raw(b'{"type":"object"}')),
    Tool(name="look", schema=msgspec.Raw(b'{"type":"object"}'), deferred=True),
)


def searched(*names: str) -> tuple[Message, ...]:
    """A search that found these tools."""
    references = [
        reference_to(
            name, id=name, wire="messages", provider="anthropic", model="claude-fable-5-2"
        )
        for name in names
    ]
    text = TextPart(id="text", text="Two tools.")
    result = ToolResultPart(
        id="r", call_id="c1", name="tool_search", content=(*references, text)
    )
    call = ToolCallPart(id="c", call_id="c1", name="tool_search", arguments="{}")
    return (
        user(),
        Message(id="a", role="assistant", parts=(call,)),
        Message(id="t", role="tool", parts=(result,)),
    )


def found_in(tools: tuple[Tool, ...], *names: str) -> Any:
    """The content of the search's result, with these tools declared."""
    asked = Request(
        wire="messages",
        model="claude-fable-5-2",
        provider="anthropic",
        tools=tools,
        messages=searched(*names),
    )
    sent = body(encode(repair(asked).request, options=BARE))
    return sent["messages"][-1]["content"][0]["content"]


def test_a_search_result_holds_references_to_deferred_tools_and_nothing_beside_them() -> (
    None
):
    assert found_in(TOOLS, "look") == [{"type": "tool_reference", "tool_name": "look"}]


def test_a_tool_that_is_gone_is_not_referred_to() -> None:
    assert found_in(TOOLS, "gone", "look") == [
        {"type": "tool_reference", "tool_name": "look"}
    ]
    assert found_in(TOOLS, "gone") == "Two tools."
    assert found_in(TOOLS[:1], "look") == "Two tools."


def test_a_reference_bears_the_name_that_the_tool_is_sent_under() -> None:
    odd = Tool(name="look at", schema=msgspec.Raw(b'{"type":"object"}'), deferred=True)
    asked = Request(
        wire="messages",
        model="claude-fable-5-2",
        provider="anthropic",
        tools=(*TOOLS, odd),
        messages=searched("look at"),
    )
    sent = body(History().prepare(asked, options=BARE).encoded)
    (reference,) = sent["messages"][-1]["content"][0]["content"]
    assert reference["tool_name"] == sent["tools"][-1]["name"] != "look at"


def test_a_history_is_written_again_when_a_tool_that_it_refers_to_is_gone() -> None:
    history = History()
    for tools, expected in ((TOOLS, list), (TOOLS[:1], str)):
        asked = Request(
            wire="messages",
            model="claude-fable-5-2",
            provider="anthropic",
            tools=tools,
            messages=searched("look"),
        )
        sent = body(history.prepare(asked, options=BARE).encoded)
        assert isinstance(sent["messages"][-1]["content"][0]["content"], expected)


def test_a_deferred_tool_bears_no_cache_marker() -> None:
    asked = Request(wire="messages", model="claude-fable-5-2", tools=TOOLS)
    tools = body(encode(asked))["tools"]
    assert [("cache_control" in tool) for tool in tools] == [True, False]
