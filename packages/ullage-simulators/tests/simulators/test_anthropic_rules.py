import base64
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
from tests.simulators.compactions import ANTHROPIC_CASES
from tests.simulators.threads import THREAD_CASES
from ullage_simulators import running
from ullage_simulators.anthropic.rules import RULES
from ullage_simulators.scenario import read

PATH = "/v1/messages"
TOOL: Body = {"name": "get_weather", "input_schema": WEATHER}
THINKING: Body = {"type": "enabled", "budget_tokens": 1024}
BOUND = "claude-fable-5-1"
SYSTEM: Body = {"role": "system", "content": "Be brief."}
BETA: dict[str, str | None] = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


def user(content: Any) -> Body:
    return {"role": "user", "content": content}


def assistant(content: Any) -> Body:
    return {"role": "assistant", "content": content}


def tool_use(identity: str = "toolu_1", arguments: Any = None) -> Body:
    return {
        "type": "tool_use",
        "id": identity,
        "name": "get_weather",
        "input": arguments if arguments is not None else {},
    }


def tool_result(identity: str = "toolu_1") -> Body:
    return {"type": "tool_result", "tool_use_id": identity, "content": "sunny"}


def ask(*messages: Body, **more: Any) -> Ask:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 2_000,
        "messages": list(messages) or [user("hello")],
    }
    return Ask(PATH, {**body, **more})


of = Usual(ask()).of


def pairs(says: str, broken: list[Body], mended: list[Body] | None = None) -> Maker:
    mended = mended or [user("go"), assistant([tool_use()]), user([tool_result()])]
    return of(says, ask(*broken, tools=[TOOL]), ask(*mended, tools=[TOOL]))


def thought(
    talk: Talk, model: str = "claude-sonnet-4-5", *, redacted: bool = False, **more: Any
) -> tuple[Ask, Body]:
    """A request whose answer thinks and calls a tool, and that answer."""
    word = "secret" if redacted else "say"
    thinking = {"type": "adaptive"} if model == BOUND else THINKING
    first = ask(
        user(f"{word} get_weather"), model=model, tools=[TOOL], thinking=thinking, **more
    )
    answer = talk.ok("anthropic", first)
    return first, assistant(answer["content"])


def answered(first: Ask, answer: Body) -> Ask:
    """The request that brings the answer and its tool's result back."""
    call = next(block for block in answer["content"] if block["type"] == "tool_use")
    return first.but(
        messages=[*first.body["messages"], answer, user([tool_result(call["id"])])]
    )


def edited(answer: Body, **changes: Any) -> Body:
    """The answer with other fields in its first block; ``None`` takes one out."""
    block = {**answer["content"][0], **changes}
    block = {name: value for name, value in block.items() if value is not None}
    return assistant([block, *answer["content"][1:]])


def tampered(says: str, **changes: Any) -> Maker:
    def make(talk: Talk) -> Case:
        first, answer = thought(talk)
        return Case(
            says, answered(first, edited(answer, **changes)), answered(first, answer)
        )

    return make


def old_thinking_edited(talk: Talk) -> Case:
    first, answer = thought(talk)
    more = [assistant("It is sunny."), user("thanks")]
    broken, mended = (
        answered(first, each) for each in (edited(answer, thinking="other"), answer)
    )
    says = "messages.1.content.0: Invalid `signature` in `thinking` block"
    return Case(
        says,
        broken.but(messages=broken.body["messages"] + more),
        mended.but(messages=mended.body["messages"] + more),
    )


def redacted_edited(talk: Talk) -> Case:
    first, answer = thought(talk)
    block = {"type": "redacted_thinking", "data": answer["content"][0]["signature"]}
    mended = assistant([block, *answer["content"][1:]])
    broken = edited(mended, data=block["data"][:-8] + "AAAAAAA=")
    says = "messages.1.content.0: Invalid `data` in `redacted_thinking` block"
    return Case(says, answered(first, broken), answered(first, mended))


def thinking_last(talk: Talk) -> Case:
    first, answer = thought(talk)
    only = first.but(
        messages=[user("hm"), assistant(answer["content"][:1]), user("go on")], tools=None
    )
    mended = first.but(
        messages=[
            user("hm"),
            assistant([answer["content"][0], {"type": "text", "text": "so"}]),
            user("go on"),
        ]
    )
    return Case(
        "messages.1: The final block in an assistant message cannot be `thinking`.",
        only,
        mended,
    )


def thinking_not_first(talk: Talk) -> Case:
    first, answer = thought(talk)
    text = {"type": "text", "text": "Well."}
    says = (
        "messages.1.content.0: If an assistant message contains any thinking blocks, the first block must be "
        "`thinking` or `redacted_thinking`. Found `text`."
    )
    broken = assistant([text, *answer["content"]])
    mended = assistant([answer["content"][0], text, *answer["content"][1:]])
    return Case(says, answered(first, broken), answered(first, mended))


def thinking_left_out(talk: Talk) -> Case:
    first, answer = thought(talk)
    says = (
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
        "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
        "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
        "previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    )
    broken = answered(first, assistant(answer["content"][1:]))
    return Case(says, broken, broken.but(thinking=None))


def prefix_changed(talk: Talk) -> Case:
    first, answer = thought(talk, BOUND)
    mended = answered(first, answer)
    says = (
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different "
        'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
        "That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. "
        "The `system` prompt differs from when the block was created."
    )
    return Case(says, mended.but(system="Be brief."), mended)


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


def image(data: bytes) -> Body:
    source = {
        "type": "base64",
        "media_type": "image/any",
        "data": base64.b64encode(data).decode(),
    }
    return {"type": "image", "source": source}


def png(width: int, height: int) -> Body:
    return image(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
    )


DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "x"},
}
SIGNED = "`signature` in `thinking` block"
CASES: dict[str, Maker] = {
    "bad_json": of("The request body is not valid JSON: no low surrogate in string: line 1 column 18 (char 17)",
        Ask(PATH, {}, raw=b'{"model": "\\ud83d"}')),
    "body_too_large": of("Request exceeds the maximum size", ask(user("x" * 32_000_001)), status=413),
    "key_missing": of("x-api-key header is required",
        ask()._replace(headers={"x-api-key": None, "authorization": None}), status=401),
    "version_missing": of("anthropic-version: header is required",
        ask()._replace(headers={"anthropic-version": None})),
    "model_unknown": of("model: gpt-5", ask(model="gpt-5"), status=404),
    "field_required": of("max_tokens: Field required", ask().but(max_tokens=None)),
    "output_none": of("max_tokens: Input should be greater than or equal to 1", ask(max_tokens=0), ask(max_tokens=1)),
    "field_unknown": of("mesages: Extra inputs are not permitted", ask(mesages=[])),
    "malformed": of("messages: a field has a value of the wrong type", ask(messages=["hello"])),
    "not_a_list": of("messages: Input should be a valid list", ask(messages="hello")),
    "no_messages": of("messages: at least one message is required", ask(messages=[])),
    "role_unknown": of("messages.0.role: Input should be 'user' or 'assistant'",
        ask({"role": "tool", "content": "x"})),
    "role_system": of(
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.", ask(user("hello"), SYSTEM, model="claude-sonnet-4-6"),
        ask(user("hello"), SYSTEM, model="claude-opus-4-8")),
    "system_misplaced": of(
        "messages.0: a `system` message must follow a user message, and precede an assistant message or be the last",
        ask(SYSTEM, user("hello"), model="claude-opus-4-8"),
        ask(user("hello"), SYSTEM, SYSTEM, model="claude-opus-4-8")),
    "block_unknown": of(
        "messages.0.content.0: Input tag 'input_text' found using 'type' does not match any of the expected tags: "
        "'document', 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', 'tool_result', 'tool_use'",
        ask(user([{"type": "input_text", "text": "hello"}])), ask(user([{"type": "text", "text": "hello"}]))),
    "text_empty": of("messages: text content blocks must be non-empty",
        ask(user([{"type": "text", "text": ""}, {"type": "text", "text": "x"}]))),
    "text_blank": of("messages: text content blocks must contain non-whitespace text", ask(user(" \n")),
        ask(user(" x"))),
    "content_empty": of("messages.0: user messages must have non-empty content", ask(user([])), ask(user("x"))),
    "call_without_result": pairs(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        [user("go"), assistant([tool_use()]), user([{"type": "text", "text": "well?"}, tool_result()])],
        [user("go"), assistant([tool_use()]), user([tool_result(), {"type": "text", "text": "well?"}])]),
    "result_without_call": pairs(
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
        [user("go"), assistant("hm"), user([tool_result()])]),
    "result_twice": pairs(
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        "toolu_1", [user("go"), assistant([tool_use()]), user([tool_result(), tool_result()])]),
    "call_id_twice": pairs("messages.1.content.1: `tool_use` ids must be unique",
        [user("go"), assistant([tool_use(), tool_use()]), user([tool_result()])],
        [user("go"), assistant([tool_use(), tool_use("b")]), user([tool_result("b"), tool_result()])]),
    "call_id_pattern": pairs("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        [user("go"), assistant([tool_use("functions.x:0")]), user([tool_result("functions.x:0")])]),
    "arguments_no_object": pairs("messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        [user("go"), assistant([tool_use(arguments='{"city": "Par')]), user([tool_result()])]),
    "tool_name_pattern": of("tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ask(tools=[{**TOOL, "name": "get.weather"}]), ask(tools=[TOOL])),
    "tool_name_twice": of("tools: Tool names must be unique.", ask(tools=[TOOL, TOOL]), ask(tools=[TOOL])),
    "prefill": of(
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        ask(user("hi"), assistant("Well"), model="claude-opus-4-6"), ask(user("hi"), assistant("Well"))),
    "prefill_blank": of("messages: final assistant content cannot end with trailing whitespace",
        ask(user("hi"), assistant("Well ")), ask(user("hi"), assistant("Well"))),
    "signature_missing": tampered("messages.1.content.0.thinking.signature: Field required", signature=None),
    "signature_invalid": tampered(f"messages.1.content.0: Invalid {SIGNED}", signature="RXh0ZXJuYWw="),
    "redacted_invalid": redacted_edited,
    "thinking_edited": tampered(
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response.", thinking=""),
    "thinking_last": thinking_last,
    "thinking_not_first": thinking_not_first,
    "thinking_left_out": thinking_left_out,
    "prefix_changed": prefix_changed,
    "binding_without_beta": of("thinking.adaptive.block_binding: Extra inputs are not permitted",
        ask(model=BOUND, thinking={"type": "adaptive", "block_binding": {}}),
        ask(model=BOUND, thinking={"type": "adaptive", "block_binding": {}})._replace(headers=BETA)),
    "tool_choice_forced": of('tool_choice: type "tool" and "any" are not supported for this model',
        ask(model=BOUND, tools=[TOOL], tool_choice={"type": "any"}),
        ask(model=BOUND, tools=[TOOL], tool_choice={"type": "auto"})),
    "tool_choice_thinking": of("Thinking may not be enabled when tool_choice forces tool use.",
        ask(tools=[TOOL], tool_choice={"type": "any"}, thinking=THINKING),
        ask(tools=[TOOL], tool_choice={"type": "any"})),
    "thinking_type": of('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        ask(model=BOUND, max_tokens=4_000, thinking=THINKING),
        ask(model=BOUND, max_tokens=4_000, thinking={"type": "adaptive"})),
    "thinking_budget_small": of("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ask(thinking={"type": "enabled", "budget_tokens": 1_000}), ask(thinking=THINKING)),
    "thinking_budget_large": of(
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        ask(thinking={"type": "enabled", "budget_tokens": 2_000}), ask(thinking=THINKING)),
    "cache_marks": of("A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ask(user([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5)),
        ask(user([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 4))),
    "output_cap": of(
        "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
        ask(max_tokens=64_001), ask(max_tokens=64_000)),
    "too_many_images": of("too many images and documents: 60 + 41 > 100", ask(user([IMAGE] * 60 + [DOCUMENT] * 41)),
        ask(user([IMAGE] * 60 + [DOCUMENT] * 40))),
    "image_too_large_among_many": of(
        "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size "
        "for many-image requests: 2000 pixels", ask(user([*[IMAGE] * 20, png(20, 2_001)])), ask(user([*[IMAGE] * 20,
        png(2_000, 2_000)]))),
}  # fmt: skip


LATER: Body = {**TOOL, "name": "later", "defer_loading": True}
CLEAR_AT: dict[str, str | None] = {
    "anthropic-beta": "mid-conversation-system-clear-at-2026-08-21"
}
NUDGE: Body = {"role": "system", "content": "Be kind.", "clear_at": "next_user_message"}
OFFER: Body = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "x"}}


def offering(name: str) -> Ask:
    reference = {"type": "tool_reference", "name": name}
    offer = {"role": "system", "content": [{**OFFER, "tool": reference}]}
    sent = ask(user("hello"), offer, model=BOUND, tools=[TOOL, LATER])
    return sent._replace(headers={"anthropic-beta": "inline-tools-2026-09-15"})


def cleared(*messages: Body) -> Ask:
    return ask(*messages, model=BOUND)._replace(headers=CLEAR_AT)


CASES |= {
    "tools_all_deferred": of(
        "All tools have defer_loading set. At least one tool must be non-deferred.",
        ask(tools=[LATER]),
        ask(tools=[TOOL, LATER]),
    ),
    "tool_reference_unknown": of(
        "Tool reference 'unknown' has no corresponding tool definition",
        offering("unknown"),
        offering("later"),
    ),
    "clear_at_without_beta": of(
        "messages.1.clear_at: Extra inputs are not permitted",
        cleared(user("hello"), NUDGE)._replace(headers={}),
        cleared(user("hello"), NUDGE),
    ),
    "clear_at_role": of(
        "messages.0.clear_at: clear_at is only permitted on role 'system' messages",
        cleared({**user("hello"), "clear_at": "never"}),
        cleared(user("hello"), {**NUDGE, "clear_at": "never"}),
    ),
    "clear_at_text": of(
        "messages.1: a turn-scoped system message supports text blocks only (clear_at: 'next_user_message')",
        cleared(user("hello"), {**NUDGE, "content": []}),
        cleared(user("hello"), NUDGE),
    ),
}
CASES |= ANTHROPIC_CASES | THREAD_CASES


def test_every_rule_has_a_case() -> None:
    elsewhere = {"key_wrong", "prompt_too_long"}
    assert set(CASES) == set(RULES) - elsewhere


@pytest.mark.parametrize("rule", CASES)
def test_a_violation_is_refused_and_its_twin_is_not(talk: Talk, rule: str) -> None:
    prove(talk, "anthropic", rule, CASES[rule](talk))


def test_thinking_of_earlier_messages_may_not_be_edited_either(talk: Talk) -> None:
    prove(talk, "anthropic", "signature_invalid", old_thinking_edited(talk))


def test_a_changed_tool_list_or_message_breaks_a_bound_block_too(talk: Talk) -> None:
    first, answer = thought(talk, BOUND)
    sent = answered(first, answer)
    for changed in (
        sent.but(tools=[TOOL, {**TOOL, "name": "other"}]),
        sent.but(messages=[user("say get_weather!"), *sent.body["messages"][1:]]),
    ):
        assert talk.status("anthropic", changed) == 400
    marked = user(
        [
            {
                "type": "text",
                "text": "say get_weather",
                "cache_control": {"type": "ephemeral"},
            }
        ]
    )
    assert (
        talk.status("anthropic", sent.but(messages=[marked, *sent.body["messages"][1:]]))
        == 200
    )


def test_a_block_behind_a_changed_prefix_is_dropped_and_reported(talk: Talk) -> None:
    first, answer = thought(talk, BOUND)
    binding = {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    sent = (
        answered(first, answer)
        .but(system="Be brief.", thinking=binding)
        ._replace(headers=BETA)
    )
    given = talk.ok("anthropic", sent)
    dropped = {
        "type": "thinking_dropped",
        "path": "messages.1.content.0",
        "reason": "prefix_binding_mismatch",
    }
    assert given["input_transformations"] == [dropped]


def test_bound_thinking_may_be_left_out_from_the_beginning_alone(talk: Talk) -> None:
    body = {"model": BOUND, "tools": [TOOL]}
    messages = [user("first")]
    for said in ("second", "third", "fourth"):
        given = talk.ok("anthropic", ask(*messages, **body))
        messages += [assistant(given["content"]), user(said)]
    plain = [
        assistant([block for block in message["content"] if block["type"] == "text"])
        for message in messages[1::2]
    ]
    without_first = [messages[0], plain[0], *messages[2:]]
    without_middle = [*messages[:3], plain[1], *messages[4:]]
    assert talk.status("anthropic", ask(*without_first, **body)) == 200
    assert talk.status("anthropic", ask(*without_middle, **body)) == 400


def test_invalid_utf_8_is_refused(talk: Talk) -> None:
    given = talk.send("anthropic", Ask(PATH, {}, raw=b'{"model": "\xed\xa0\xbd"}'))
    assert "str is not valid UTF-8: surrogates not allowed" in given.text


def test_another_providers_signature_is_refused(talk: Talk) -> None:
    first, answer = thought(talk)
    gemini = talk.ok(
        "gemini",
        Ask(
            "/v1beta/models/gemini-3-flash-preview:generateContent",
            {"contents": [{"parts": [{"text": "hello"}]}]},
        ),
    )
    signature = gemini["candidates"][0]["content"]["parts"][-1]["thoughtSignature"]
    assert (
        talk.status("anthropic", answered(first, edited(answer, signature=signature)))
        == 400
    )


@pytest.fixture(scope="module")
def tight() -> Iterator[Talk]:
    with tight_talk("claude-sonnet-4-5", 2_000) as talk:
        yield talk


def test_a_prompt_beyond_the_window_is_refused_with_its_count(tight: Talk) -> None:
    long = ask(user("far " * 2_500), model="small")
    count = tight.ok("anthropic", long._replace(path=f"{PATH}/count_tokens"))[
        "input_tokens"
    ]
    says = f"prompt is too long: {count} tokens > 2000 maximum"
    prove(
        tight,
        "anthropic",
        "prompt_too_long",
        Case(says, long, ask(model="small", max_tokens=500)),
    )


def test_images_in_results_are_counted_and_a_scenario_may_take_fewer() -> None:
    history = [
        user("hello"),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}],
        },
    ]
    results = [
        user([{"type": "tool_result", "tool_use_id": "t", "content": [IMAGE] * count}])
        for count in (4, 3)
    ]
    tool = {"name": "x", "input_schema": {"type": "object"}}
    with running(read({"server": {"max_images": 3}})) as server:
        refused, taken = (ask(*history, each, tools=[tool]) for each in results)
        says = "too many images and documents: 4 + 0 > 3"
        prove(Talk(server), "anthropic", "too_many_images", Case(says, refused, taken))


def test_a_large_image_is_taken_among_twenty_and_no_document_counts(talk: Talk) -> None:
    talk.ok("anthropic", ask(user([*[IMAGE] * 19, *[DOCUMENT] * 10, png(2_001, 20)])))


def test_a_large_image_in_a_result_is_named_by_its_place(talk: Talk) -> None:
    result = {**tool_result(), "content": [IMAGE, png(9_000, 20)]}
    seen = [user([IMAGE] * 19), assistant([tool_use()]), user([result])]
    given = talk.send("anthropic", ask(*seen, tools=[TOOL]))
    assert given.json()["error"]["message"].startswith(
        "messages.2.content.0.tool_result.content.1.image.source.base64"
    )


@pytest.mark.parametrize(
    "data",
    [
        b"GIF89a\x14\x00\xd1\x07",
        b"RIFF....WEBPVP8 " + b"\0" * 10 + b"\xd1\x07\x14\x00",
        b"RIFF....WEBPVP8L....\x2f\xd0\x07\x00\x00",
        b"RIFF....WEBPVP8X" + b"\0" * 8 + b"\x13\x00\x00\xd0\x07\x00",
        b"\xff\xd8\xff\xe0\x00\x04\0\0\xff\xc2\x00\x0b\x08\x07\xd1\x00\x14\x03",
    ],
    ids=["gif", "webp", "lossless webp", "extended webp", "jpeg"],
)
def test_the_size_of_an_image_is_read_from_any_kind(talk: Talk, data: bytes) -> None:
    assert talk.status("anthropic", ask(user([*[IMAGE] * 20, image(data)]))) == 400


def test_an_answer_may_be_allowed_more_than_the_window_leaves(tight: Talk) -> None:
    said = ask(user("far " * 1_300), model="small", max_tokens=2_000)
    given = tight.ok("anthropic", said)
    used = given["usage"]["input_tokens"] + given["usage"]["output_tokens"]
    assert (given["stop_reason"], used) == ("model_context_window_exceeded", 2_000)


def test_an_answer_before_the_window_is_cut_by_its_own_limit(tight: Talk) -> None:
    given = tight.ok("anthropic", ask(user("far " * 200), model="small", max_tokens=50))
    assert given["stop_reason"] == "max_tokens"


def test_a_wrong_key_is_refused(tight: Talk) -> None:
    small = ask(model="small", max_tokens=100)
    broken = small._replace(headers={"x-api-key": "wrong"})
    prove(tight, "anthropic", "key_wrong", Case("invalid x-api-key", broken, small, 401))
