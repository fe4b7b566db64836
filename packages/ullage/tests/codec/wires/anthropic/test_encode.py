import json
from random import Random
from typing import Any

import msgspec
import pytest

from tests.codec.streams import call, message, request, result, text, user
from tests.tiers import first_of
from ullage.codec.blocks import CacheMarks, Encoded, Options
from ullage.codec.bodies import read_body
from ullage.codec.history import History, encode, encode_count
from ullage.codec.repair import repair
from ullage.codec.tool_references import reference_to
from ullage.codec.wires.anthropic.encode import settle
from ullage.messages import (
    Message,
    ProviderData,
    ReasoningPart,
    Request,
    SystemBlock,
    Tool,
    ToolCallPart,
)

BARE = Options(cache=None)

BODY: dict[str, Any] = json.loads(
    """
    {
      "model": "claude-opus-4-6",
      "max_tokens": 100,
      "temperature": 0.5,
      "tool_choice": {"type": "auto"},
      "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}],
      "tools": [
        {"name": "read", "description": "Reads", "input_schema": {"type": "object", "properties": {"p": {}}}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"name": "later", "input_schema": {}, "defer_loading": true}
      ],
      "messages": [
        {
          "role": "user",
          "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "title": "a.pdf"}
          ]
        },
        {
          "role": "assistant",
          "content": [
            {"type": "thinking", "thinking": "hm", "signature": "S"},
            {"type": "redacted_thinking", "data": "D"},
            {"type": "text", "text": "so", "citations": [{"cited_text": "x"}]},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"p": 1.0}},
            {"type": "tool_use", "id": "t2", "name": "read", "input": {}}
          ]
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
                {"type": "image", "source": {"type": "url", "url": "https://x/z.png"}}
              ],
              "is_error": true
            },
            {"type": "text", "text": "go on"}
          ]
        }
      ]
    }
    """
)


def body(encoded: Encoded) -> Any:
    return json.loads(encoded.content)


def test_a_body_that_was_read_is_written_as_it_was() -> None:
    assert body(encode(read_body(BODY), options=BARE)) == BODY


def test_what_the_server_is_to_clear_goes_with_the_beta_that_it_needs() -> None:
    asked = request("messages", user(), params={"context_management": {"edits": []}})
    encoded = encode(asked, options=Options(betas=("a-2026",)))
    assert encoded.headers["anthropic-beta"] == "a-2026,context-management-2025-06-27"
    assert body(encoded)["context_management"] == {"edits": []}


@pytest.mark.parametrize(
    ("params", "options", "sent"),
    [
        ({}, Options(), {"max_tokens": 16_000}),
        ({"max_tokens": 5}, Options(), {"max_tokens": 5}),
        ({"max_tokens": 5}, Options(max_output=7), {"max_tokens": 7}),
        (
            {"output_config": {"format": 1}},
            Options(effort="low"),
            {"output_config": {"format": 1, "effort": "low"}},
        ),
    ],
)
def test_the_output_limit_is_always_said_and_effort_beside_what_is_there(
    params: dict[str, object], options: Options, sent: dict[str, object]
) -> None:
    made = body(encode(request("messages", user(), params=params), options=options))
    assert {name: made[name] for name in sent} == sent


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
        message(f"m{at}", "assistant" if at % 2 else "user", text(words, f"m{at}.1"))
        for at, words in enumerate(texts)
    ]
    system = (SystemBlock(text="S"), SystemBlock(text="T"))
    tools = (Tool(name="f"), Tool(name="g"))
    return request("messages", *messages, system=system, tools=tools)


def test_the_end_of_the_system_prompt_and_the_last_two_user_turns_are_marked() -> None:
    expected = ["system[1]", "messages[2].content[0]", "messages[4].content[0]"]
    assert marks(encode(conversation("a", "b", "c", "d", "e"))) == expected


def test_markers_are_at_most_four_may_last_an_hour_and_can_be_left_out() -> None:
    many = conversation(*"abcdefghijk")
    for own in (CacheMarks(messages=9), CacheMarks(system=False, messages=9)):
        assert len(marks(encode(many, options=Options(cache=own)))) == 4
    assert marks(encode(many, options=BARE)) == []
    hour = Options(cache=CacheMarks(ttl="1h"))
    sent = body(encode(conversation("a"), options=hour))
    assert sent["system"][1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_own_markers_replace_those_that_came_with_the_words() -> None:
    marked: dict[str, Any] = {
        **BODY,
        "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
    }
    words = read_body(marked)
    assert body(encode(words, options=BARE))["system"] == marked["system"]
    expected = ["system[0]", "messages[0].content[2]", "messages[2].content[2]"]
    assert marks(encode(words)) == expected


def test_thinking_without_a_signature_goes_to_look_alikes_of_this_wire() -> None:
    host: dict[str, Any] = {"provider": "minimax", "model": "MiniMax-M2"}
    data = ProviderData(data=msgspec.Raw(b'{"signature":""}'), wire="messages", **host)
    part = ReasoningPart(id="a.1", text="hm", provider=data)
    history = (user(), message("a", "assistant", part, text("so")), user("more", "u2"))
    sent = body(encode(request("messages", *history, **host), options=BARE))
    kinds = [block["type"] for block in sent["messages"][1]["content"]]
    assert kinds == ["thinking", "text"]


def test_counting_sends_what_is_counted_and_no_markers_of_output() -> None:
    read = read_body({**BODY, "thinking": {"type": "adaptive"}, "stream": True})
    counted = encode_count(read, options=BARE)
    assert counted is not None
    assert counted.path == "/messages/count_tokens"
    counts = {"model", "system", "tools", "messages", "tool_choice", "thinking"}
    assert set(body(counted)) == counts
    assert body(counted)["messages"] == BODY["messages"]


def test_a_thinking_budget_is_a_parameter_before_the_history_is_checked() -> None:
    request = Request(wire="messages", model="claude-sonnet-4-5")
    asked, options = settle(request, Options(thinking_budget=2048))
    assert asked.params == {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    assert options == Options()
    encoded = encode(request, options=Options(thinking_budget=2048))
    assert encode(asked, options=options).content == encoded.content


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


def fable(*messages: Message, **more: Any) -> Request:
    """A request to a model that binds thinking."""
    return request("messages", *messages, **{"model": "claude-fable-5-2", **more})


@pytest.mark.parametrize(
    ("provider", "is_asked"),
    [
        ("anthropic", True),
        ("google-vertex-anthropic", True),
        ("", True),
        ("deepseek", False),
    ],
)
def test_whoever_has_all_of_claudes_api_is_asked_to_drop(
    provider: str, is_asked: bool
) -> None:
    thinking = encode(fable(user("hi"), provider=provider)).body.get("thinking")
    assert ("block_binding" in str(thinking)) is is_asked


ERRS = {"prefix_mismatch_behavior": "error"}


@pytest.mark.parametrize(
    ("given", "more"),
    [
        (None, {"type": "adaptive", "block_binding": DROPS}),
        ({"type": "adaptive", "display": "omitted"}, {"block_binding": DROPS}),
        ({"type": "adaptive", "block_binding": ERRS}, {}),
        ({"type": "between_tools"}, {}),
    ],
)
def test_a_model_that_binds_thinking_is_asked_to_drop_what_it_would_refuse(
    given: dict[str, object] | None, more: dict[str, object]
) -> None:
    asked = fable(user("hi"), params={} if given is None else {"thinking": given})
    encoded, sent = encode(asked), {**(given or {}), **more}
    assert encoded.body["thinking"] == sent
    betas = encoded.headers.get("anthropic-beta", "")
    has_beta = "thinking-binding-controls-2026-08-01" in betas
    assert has_beta is (sent["type"] == "adaptive")
    counted = encode_count(asked)
    assert counted is not None
    assert counted.body["thinking"] == sent


def test_another_model_or_host_is_asked_for_nothing_of_the_kind() -> None:
    for more in ({"model": "claude-opus-5"}, {"provider": "somebody-else"}):
        assert "thinking" not in encode(fable(user("hi"), **more)).body
    options = Options(drops_unbound=False)
    assert "thinking" not in encode(fable(user("hi")), options=options).body


def note(number: int = 0) -> Message:
    return message(f"n{number}", "system", text("Be brief.", f"n{number}.t"))


NOTE, ANSWER = note(), message("a", "assistant", text("Half full.", "a.t"))


def spoken(*messages: Message, **to: str) -> list[str]:
    """The roles of the wire messages; ``note`` is a system message that is written as text of the user's."""
    encoded = encode(repair(fable(*messages, **to)).request, options=BARE)
    roles: list[str] = []
    for each in body(encoded)["messages"]:
        has_note = "<system>" in str(each["content"])
        roles.append("note" if has_note else each["role"])
    return roles


@pytest.mark.parametrize(
    ("messages", "to", "roles"),
    [
        ((user(), NOTE), {}, "user system"),
        ((user(), NOTE, ANSWER, user(id="u2")), {}, "user system assistant user"),
        (
            (user(), NOTE, note(2), ANSWER, user(id="u2")),
            {},
            "user system assistant user",
        ),
        ((NOTE, user()), {}, "note"),
        ((user(), NOTE, user(id="u2")), {}, "note"),
        (
            (user(), NOTE, ANSWER, user(id="u2")),
            {"model": "claude-sonnet-5"},
            "note assistant user",
        ),
        (
            (user(), NOTE, ANSWER, user(id="u2")),
            {"provider": "openrouter"},
            "note assistant user",
        ),
    ],
)
def test_a_system_message_is_its_own_where_it_may_stand_and_else_text_of_the_users(
    messages: tuple[Message, ...], to: dict[str, str], roles: str
) -> None:
    assert " ".join(spoken(*messages, **to)) == roles


def _random_history(random: Random, length: int) -> list[Message]:
    """Questions, notes, calls with results, and answers in any order, as failed and interrupted turns leave them."""
    made: list[Message] = []
    for number in range(length):
        name = f"m{number}"
        kind = random.choice(("user", "user", "system", "system", "answer", "call"))
        if kind == "call":
            made.append(message(name, "assistant", call(name, "look")))
            made.append(message(f"{name}.m", "tool", result(name, name="look")))
        elif kind == "answer":
            made.append(
                message(name, "assistant", text(f"Answer {number}.", f"{name}.t"))
            )
        else:
            question = user(f"Question {number}", id=name)
            made.append(note(number) if kind == "system" else question)
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
    to = {"wire": "messages", "provider": "anthropic", "model": "claude-fable-5-2"}
    references = [reference_to(name, id=name, **to) for name in names]
    found = result("c1", *references, text("Two tools."), name="tool_search")
    asked = message("a", "assistant", call("c1", "tool_search"))
    return (user(), asked, message("t", "tool", found))


def found_in(tools: tuple[Tool, ...], *names: str) -> Any:
    """The content of the search's result, with these tools declared."""
    asked = fable(*searched(*names), tools=tools)
    sent = body(encode(repair(asked).request, options=BARE))
    return sent["messages"][-1]["content"][0]["content"]


def test_a_search_result_holds_references_to_deferred_tools_that_are_there_or_its_text() -> (
    None
):
    reference = [{"type": "tool_reference", "tool_name": "look"}]
    assert found_in(TOOLS, "look") == reference
    assert found_in(TOOLS, "gone", "look") == reference
    assert found_in(TOOLS, "gone") == "Two tools."
    assert found_in(TOOLS[:1], "look") == "Two tools."


def test_a_reference_bears_the_name_that_the_tool_is_sent_under() -> None:
    odd = Tool(name="look at", schema=msgspec.Raw(b'{"type":"object"}'), deferred=True)
    asked = fable(*searched("look at"), tools=(*TOOLS, odd))
    sent = body(History().prepare(asked, options=BARE).encoded)
    (reference,) = sent["messages"][-1]["content"][0]["content"]
    assert reference["tool_name"] == sent["tools"][-1]["name"] != "look at"


def test_a_history_is_written_again_when_a_tool_that_it_refers_to_is_gone() -> None:
    history = History()
    for tools, expected in ((TOOLS, list), (TOOLS[:1], str)):
        asked = fable(*searched("look"), tools=tools)
        sent = body(history.prepare(asked, options=BARE).encoded)
        assert isinstance(sent["messages"][-1]["content"][0]["content"], expected)


def test_a_deferred_tool_bears_no_cache_marker() -> None:
    tools = body(encode(fable(tools=TOOLS)))["tools"]
    assert [("cache_control" in tool) for tool in tools] == [True, False]
