"""Each billing habit over HTTP, against the truth that the server tells."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.simulators.asking import WEATHER, Ask, Body, Talk
from ullage_simulators import running
from ullage_simulators.scenario import read

LONG = "All work and no play makes a dull day. " * 300
PINS = {
    "factor": 1.0,
    "hidden": 3.0,
    "request": 2,
    "message": 3,
    "tool": 11,
    "tools": 7,
    "result": 5,
    "call": 9,
    "image": 85,
}
REASONING = "First I think of this, then I think of that, and in the end I know what there is to know."


@contextmanager
def server(**content: Any) -> Iterator[Talk]:
    with running(read({"drawn": PINS, **content}), seed=5) as started:
        yield Talk(started)


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with server(
        answers=[{"text": "Yes.", "reasoning": REASONING, "iterations": 1}]
    ) as started:
        yield started


def claude(*messages: Body, **more: Any) -> Ask:
    return Ask(
        "/v1/messages",
        {
            "model": "claude-opus-4-6",
            "max_tokens": 5_000,
            "messages": list(messages),
            **more,
        },
    )


def user(text: Any) -> Body:
    return {"role": "user", "content": text}


def chat(*messages: Body, **more: Any) -> Ask:
    return Ask(
        "/chat/completions", {"model": "gpt-5", "messages": list(messages), **more}
    )


def responses(*items: Body, **more: Any) -> Ask:
    return Ask("/responses", {"model": "gpt-5", "input": list(items), **more})


def gemini(
    *texts: str, stream: bool = False, model: str = "gemini-2.5-flash", **more: Any
) -> Ask:
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return Ask(
        f"/v1beta/models/{model}:{method}",
        {"contents": [{"parts": [{"text": text}]} for text in texts], **more},
    )


def test_input_is_text_and_framing_by_the_drawn_numbers(talk: Talk) -> None:
    used = talk.ok("openai", responses(user("one two three")))["usage"]
    assert (
        used["input_tokens"] == 2 + 3 + 3
    )  # request, message, and three words of one token each
    tool = {"type": "function", "name": "get_weather", "parameters": WEATHER}
    with_tool = talk.ok("openai", responses(user("one two three"), tools=[tool]))[
        "usage"
    ]["input_tokens"]
    assert with_tool > 8 + 7 + 11


def test_claude_bills_cache_beside_the_input(talk: Talk) -> None:
    marked = [
        {
            "type": "text",
            "text": f"Cache. {LONG * 2}",
            "cache_control": {"type": "ephemeral"},
        }
    ]
    first = talk.ok("anthropic", claude(user("a"), system=marked))["usage"]
    second = talk.ok("anthropic", claude(user("b"), system=marked))["usage"]
    assert first["cache_creation_input_tokens"] > 4_096
    assert (first["cache_read_input_tokens"], second["cache_creation_input_tokens"]) == (
        0,
        0,
    )
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    true = talk.server.truth().bills[-1]
    assert true.input == second["input_tokens"] + second["cache_read_input_tokens"]
    assert second["input_tokens"] < 10


def test_claude_caches_nothing_that_is_unmarked_or_short(talk: Talk) -> None:
    for system in (
        LONG,
        [{"type": "text", "text": "short", "cache_control": {"type": "ephemeral"}}],
    ):
        for _ in range(2):
            used = talk.ok("anthropic", claude(user("a"), system=system))["usage"]
            assert (
                used["cache_read_input_tokens"],
                used["cache_creation_input_tokens"],
            ) == (0, 0)


@pytest.mark.parametrize(("wire", "block"), [("openai", 128), ("deepseek", 64)])
def test_chat_bills_cache_in_whole_blocks(talk: Talk, wire: str, block: int) -> None:
    model = "gpt-5" if wire == "openai" else "deepseek-reasoner"
    first = talk.ok(wire, chat(user(f"{wire} {LONG}"), model=model))["usage"]
    second = talk.ok(wire, chat(user(f"{wire} {LONG}"), user("and?"), model=model))[
        "usage"
    ]
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert cached == first["prompt_tokens"] // block * block > 0
    assert second["prompt_tokens"] == talk.server.truth().bills[-1].input > cached
    if wire == "deepseek":
        assert (
            second["prompt_cache_hit_tokens"] + second["prompt_cache_miss_tokens"]
            == second["prompt_tokens"]
        )


def test_gemini_bills_cache_inside_the_prompt(talk: Talk) -> None:
    first = talk.ok("gemini", gemini(LONG))["usageMetadata"]
    second = talk.ok("gemini", gemini(LONG, "and?"))["usageMetadata"]
    assert "cachedContentTokenCount" not in first
    assert (
        second["cachedContentTokenCount"]
        == first["promptTokenCount"]
        < second["promptTokenCount"]
    )


def test_reasoning_is_inside_the_output_of_claude_and_openai(talk: Talk) -> None:
    thinking = {"type": "adaptive"}
    used = talk.ok("anthropic", claude(user("a"), thinking=thinking))["usage"]
    true = talk.server.truth().bills[-1]
    assert (
        used["output_tokens"] == true.output == true.reasoning + 3
    )  # "Yes.", and one for the text block
    assert used["output_tokens_details"] == {"thinking_tokens": true.reasoning}
    used = talk.ok("openai", chat(user("a")))["usage"]
    assert used["completion_tokens"] == talk.server.truth().bills[-1].output
    assert (
        used["completion_tokens_details"]["reasoning_tokens"]
        == talk.server.truth().bills[-1].reasoning
    )


def test_reasoning_is_outside_the_output_of_xai_and_gemini(talk: Talk) -> None:
    used = talk.ok("xai", chat(user("a"), model="grok-4.3"))["usage"]
    true = talk.server.truth().bills[-1]
    assert used["completion_tokens"] == true.output - true.reasoning
    assert (
        used["total_tokens"]
        == used["prompt_tokens"] + used["completion_tokens"] + true.reasoning
    )
    used = talk.ok("gemini", gemini("a"))["usageMetadata"]
    true = talk.server.truth().bills[-1]
    assert (used["candidatesTokenCount"], used["thoughtsTokenCount"]) == (
        true.output - true.reasoning,
        true.reasoning,
    )


def test_responses_floors_the_reasoning_of_older_models_to_64(talk: Talk) -> None:
    for model, floors in (("gpt-5", True), ("gpt-5.5", False)):
        used = talk.ok("openai", responses(user("a"), model=model))["usage"]
        true = talk.server.truth().bills[-1]
        assert true.reasoning % 64
        shown = used["output_tokens_details"]["reasoning_tokens"]
        assert shown == (true.reasoning // 64 * 64 if floors else true.reasoning)
        assert used["output_tokens"] == true.output


def test_the_first_event_of_claude_has_a_placeholder_of_the_output(talk: Talk) -> None:
    events = talk.events(
        "anthropic", claude(user("a"), stream=True, thinking={"type": "adaptive"})
    )
    true = talk.server.truth().bills[-1]
    opening, closing = events[0]["message"]["usage"], events[-2]["usage"]
    assert opening["input_tokens"] == true.input
    assert opening["output_tokens"] < 9 < closing["output_tokens"] == true.output


def test_the_usage_chunk_comes_last_without_choices(talk: Talk) -> None:
    asked = chat(user("a"), stream=True, stream_options={"include_usage": True})
    *_, finish, usage = talk.events("openai", asked)
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["prompt_tokens"]) == (
        [],
        talk.server.truth().bills[-1].input,
    )
    assert all(
        "usage" not in each
        for each in talk.events("openai", chat(user("a"), stream=True))
    )


def test_deepseek_sends_its_usage_with_the_finish_reason_unasked(talk: Talk) -> None:
    last = talk.events(
        "deepseek", chat(user("a"), model="deepseek-reasoner", stream=True)
    )[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert last["usage"]["prompt_tokens"] == talk.server.truth().bills[-1].input


def test_each_chunk_of_gemini_has_the_counts_so_far(talk: Talk) -> None:
    events = talk.events("gemini", gemini("a", stream=True))
    counts = [each["usageMetadata"].get("candidatesTokenCount", 0) for each in events]
    assert counts == sorted(counts)
    assert (
        counts[0]
        < counts[-1]
        == talk.server.truth().bills[-1].output - talk.server.truth().bills[-1].reasoning
    )


def test_several_sampling_passes_are_summed_and_the_last_is_the_context() -> None:
    with server(answers=[{"text": "Found.", "iterations": 3}]) as talk:
        used = talk.ok("anthropic", claude(user("search")))["usage"]
        true = talk.server.truth().bills[-1]
    assert [each["type"] for each in used["iterations"]] == ["message"] * 3
    assert used["input_tokens"] == sum(
        each["input_tokens"] for each in used["iterations"]
    )
    assert true.input == used["iterations"][-1]["input_tokens"] < used["input_tokens"]


def test_an_answer_beyond_its_budget_is_cut_and_says_so(talk: Talk) -> None:
    given = talk.ok("openai", responses(user("a"), max_output_tokens=16))
    assert (given["status"], given["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
    assert given["usage"]["output_tokens"] == 16
    assert (
        talk.ok("anthropic", claude(user("a"), max_tokens=2))["stop_reason"]
        == "max_tokens"
    )
    assert (
        talk.ok("openai", chat(user("a"), max_completion_tokens=20))["choices"][0][
            "finish_reason"
        ]
        == "length"
    )
    short = talk.ok("gemini", gemini("a", generationConfig={"maxOutputTokens": 5}))
    assert short["candidates"][0]["finishReason"] == "MAX_TOKENS"


# What of earlier reasoning the next input counts. ``kept`` and ``dropped`` are the server's own account of it.

TOOL: Body = {"name": "get_weather", "input_schema": WEATHER}
CALLING = [
    {"when": {"step": 1}, "reasoning": REASONING, "calls": [{"name": "get_weather"}]},
    {"when": {"step": 2}, "reasoning": REASONING, "text": "It is sunny."},
]


@pytest.mark.parametrize(
    ("model", "loop", "turn"),
    [
        ("claude-sonnet-4-5", 1, 0),
        ("claude-haiku-4-5", 1, 0),
        ("claude-opus-4-5", 1, 2),
        ("claude-opus-4-6", 1, 2),
    ],
)
def test_claude_counts_thinking_in_a_loop(model: str, loop: int, turn: int) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    with server(answers=CALLING) as talk:
        messages = [user("go")]
        for _ in range(2):
            answer = talk.ok(
                "anthropic",
                claude(*messages, model=model, thinking=thinking, tools=[TOOL]),
            )
            messages.append({"role": "assistant", "content": answer["content"]})
            call = answer["content"][-1]
            more = {
                "type": "tool_result",
                "tool_use_id": call.get("id"),
                "content": "sunny",
            }
            messages.append(user([more] if call["type"] == "tool_use" else "thanks"))
        talk.ok(
            "anthropic", claude(*messages, model=model, thinking=thinking, tools=[TOOL])
        )
        first, in_loop, after = talk.server.truth().bills
    assert in_loop.kept == first.reasoning * loop
    assert (after.kept, after.dropped) == (
        first.reasoning * turn,
        first.reasoning * (2 - turn),
    )


def test_openai_counts_reasoning_in_a_loop_and_drops_all_of_the_turn_after_it() -> None:
    tool = {"type": "function", "name": "get_weather", "parameters": WEATHER}
    with server(answers=CALLING) as talk:
        items: list[Body] = [user("go")]
        for _ in range(2):
            output = talk.ok("openai", responses(*items, tools=[tool]))["output"]
            items += output
            call = output[-1]
            result = {
                "type": "function_call_output",
                "call_id": call.get("call_id"),
                "output": "sunny",
            }
            items.append(result if call["type"] == "function_call" else user("thanks"))
        talk.ok("openai", responses(*items, tools=[tool]))
        first, in_loop, after = talk.server.truth().bills
    assert (in_loop.kept, after.kept) == (first.reasoning, 0)
    assert after.dropped == first.reasoning + in_loop.reasoning


def test_xai_counts_reasoning_that_was_never_sent_back() -> None:
    with server(answers=[{"text": "Yes.", "reasoning": REASONING}]) as talk:
        talk.ok("xai", chat(user("a"), model="grok-4.3"))
        talk.ok(
            "xai",
            chat(
                user("a"),
                {"role": "assistant", "content": "Yes."},
                user("b"),
                model="grok-4.3",
            ),
        )
        first, second = talk.server.truth().bills
    assert second.kept == first.reasoning > 0


def test_gemini_2_counts_thoughts_when_it_streams_and_not_otherwise() -> None:
    with server(answers=CALLING) as talk:
        declared = [{"functionDeclarations": [{"name": "get_weather"}]}]
        answer = talk.ok("gemini", gemini("go", tools=declared))["candidates"][0][
            "content"
        ]
        result = {
            "parts": [{"functionResponse": {"name": "get_weather", "response": {}}}]
        }
        contents = [{"parts": [{"text": "go"}]}, answer, result]
        for stream in (False, True):
            talk.send(
                "gemini", gemini(stream=stream)._replace(body={"contents": contents})
            )
        first, plain, streamed = talk.server.truth().bills
    assert (plain.kept, plain.dropped) == (0, first.reasoning)
    assert (streamed.kept, streamed.dropped) == (first.reasoning, 0)


def test_runs_with_other_seeds_draw_other_numbers_and_the_same_seed_the_same() -> None:
    drawn = []
    for seed in (1, 2, 1):
        with running(seed=seed) as started:
            Talk(started).ok("openai", chat(user("a")))
            drawn.append(started.truth().drawn["gpt-5"])
    assert drawn[0] == drawn[2] != drawn[1]
