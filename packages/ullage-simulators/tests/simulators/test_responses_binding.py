"""Reasoning that is bound to the conversation in front of it, and reasoning of earlier turns."""

from typing import Any

import pytest

from tests.simulators.asking import WEATHER, Ask, Body, Talk

TOOL: Any = {"type": "function", "name": "get_weather", "parameters": WEATHER}
OTHER: Any = {"type": "function", "name": "get_time", "parameters": WEATHER}
BOUND = "gpt-6.2-sol"
RULE: Body = {"role": "developer", "content": "You are a cellarman."}
HI: Body = {"role": "user", "content": "say get_weather"}
AND: Body = {"role": "user", "content": "And now?"}


def ask(*items: Body, **more: Any) -> Ask:
    request = {"model": BOUND, "tools": [TOOL], "input": list(items), **more}
    return Ask("/responses", request)


def history(talk: Talk, **more: Any) -> list[Body]:
    """A turn with a tool loop, whose two answers have reasoned."""
    items = [RULE, HI]
    items += talk.ok("openai", ask(*items, **more))["output"]
    call = items[-1]
    items.append(
        {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    )
    return [*items, *talk.ok("openai", ask(*items, **more))["output"]]


def reasoning(items: list[Body]) -> list[str]:
    return [item["id"] for item in items if item.get("type") == "reasoning"]


def withheld(talk: Talk, asked: Ask) -> list[tuple[str, str]]:
    said = talk.ok("openai", asked)["input_transformations"]
    for each in said:
        assert each["type"] == "reasoning"
        assert each["action"] == "removed"
    return [(each["id"], each["reason"]) for each in said]


def edited(items: list[Body], place: int, **changes: Any) -> list[Body]:
    return [*items[:place], {**items[place], **changes}, *items[place + 1 :]]


def test_an_appended_conversation_keeps_its_reasoning(talk: Talk) -> None:
    items = history(talk)
    assert withheld(talk, ask(*items, AND)) == []
    added = {"type": "additional_tools", "role": "developer", "tools": [OTHER]}
    assert withheld(talk, ask(*items, added, AND)) == []
    assert withheld(talk, ask(*items, AND, instructions="Be short.")) == []


def test_content_counts_and_not_how_it_is_written(talk: Talk) -> None:
    items = history(talk)
    parts = [{"type": "input_text", "text": HI["content"]}]
    rewritten = edited(items, 1, type="message", content=parts, status="completed")
    call = next(item for item in rewritten if item.get("type") == "function_call")
    rewritten = edited(rewritten, rewritten.index(call), status=None)
    assert withheld(talk, ask(*rewritten, AND)) == []


def test_reasoning_behind_an_edit_is_withheld_and_not_billed(talk: Talk) -> None:
    items = history(talk)
    first, second = reasoning(items)
    rule = {"content": "You are a cellarmen."}
    whole = talk.ok("openai", ask(*items, AND))["usage"]["input_tokens"]
    asked = ask(*edited(items, 0, **rule), AND)
    both = [(first, "prefix_mismatch"), (second, "prefix_mismatch")]
    assert withheld(talk, asked) == both
    bill = talk.server.truth().bills[-1]
    assert bill.kept == 0
    assert bill.input < whole
    output = len(items) - 3
    assert items[output]["type"] == "function_call_output"
    shortened = ask(*edited(items, output, output="rain"), AND)
    assert withheld(talk, shortened) == [(second, "prefix_mismatch")]


@pytest.mark.parametrize(
    "changed",
    [
        {"tools": [TOOL, OTHER]},
        {"text": {"format": {"type": "json_object"}}},
        {"reasoning": {"effort": "high"}},
    ],
)
def test_settings_of_the_request_are_in_the_prefix(talk: Talk, changed: Any) -> None:
    items = history(talk)
    reasons = {reason for _, reason in withheld(talk, ask(*items, AND, **changed))}
    assert reasons == {"prefix_mismatch"}


def test_another_model_reads_none_of_it(talk: Talk) -> None:
    items = history(talk, model="gpt-6.2-astra")
    reasons = [reason for _, reason in withheld(talk, ask(*items, AND))]
    assert reasons == ["model_mismatch"] * 2


def test_a_chain_is_bound_as_well(talk: Talk) -> None:
    first = talk.ok("openai", ask(HI))
    result = {
        "type": "function_call_output",
        "call_id": first["output"][-1]["call_id"],
        "output": "sunny",
    }
    parent = {"previous_response_id": first["id"]}
    assert withheld(talk, ask(result, **parent)) == []
    changed = ask(result, **parent, tools=[TOOL, OTHER])
    identity = first["output"][0]["id"]
    assert withheld(talk, changed) == [(identity, "prefix_mismatch")]


def test_reasoning_that_is_older_than_a_compaction_stays(talk: Talk) -> None:
    items = history(talk)
    compacted = talk.ok("openai", ask(*items, AND)._replace(path="/responses/compact"))
    kept = [*compacted["output"], *items[-2:]]
    assert withheld(talk, ask(*kept, AND)) == []
    assert withheld(talk, ask(HI, *items[-2:], AND)) != []
    after = talk.ok("openai", ask(*kept, AND))["output"]
    assert withheld(talk, ask(*kept, AND, *after, AND)) == []
    cut = [*compacted["output"], AND, *after, AND]
    assert withheld(talk, ask(*cut)) == [(after[0]["id"], "prefix_mismatch")]


def test_instructions_come_last_and_are_not_read_from_the_cache(talk: Talk) -> None:
    long: Body = {"role": "user", "content": "All work and no play. " * 400}
    rules = "You are a cellarman. " * 300
    first = talk.ok("openai", ask(long, instructions=rules))
    more = ask(long, *first["output"], AND, instructions=rules)
    used = talk.ok("openai", more)["usage"]
    cached = used["input_tokens_details"]["cached_tokens"]
    assert 1_500 < cached < used["input_tokens"] - 1_200


@pytest.mark.parametrize(
    ("model", "context", "is_kept"),
    [
        ("gpt-5.5", None, False),
        ("gpt-6.1-sol", None, True),
        ("gpt-6.1-sol", "auto", True),
        ("gpt-6.1-sol", "current_turn", False),
        ("gpt-6.2-astra", "all_turns", True),
        ("gpt-6.2-astra", "current_turn", False),
    ],
)
def test_reasoning_of_earlier_turns_is_read_by_newer_models(
    talk: Talk, model: str, context: str | None, is_kept: bool
) -> None:
    items = history(talk, model=model)
    answer = talk.ok(
        "openai", ask(*items, AND, model=model, reasoning={"context": context})
    )
    assert (talk.server.truth().bills[-1].kept > 0) is is_kept
    if model != "gpt-5.5":
        effective = "all_turns" if is_kept else "current_turn"
        assert answer["reasoning"]["context"] == effective
    if model == "gpt-6.2-astra":
        reasons = {each["reason"] for each in answer["input_transformations"]}
        assert reasons == (set() if is_kept else {"turn_boundary"})
