"""The providers' own compaction as the simulators serve it, asked for plainly and by the providers' own SDKs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest

from tests.simulators.asking import Ask, Talk, prove, said
from tests.simulators.compactions import (
    ANSWERED,
    ASKED,
    FURTHER_CASES,
    MODEL,
    NEXT,
    block_of,
    compact,
    compaction,
    messages,
    window_of,
    with_block,
)
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

BETAS = ["compact-2026-09-04"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(seed=17) as server:
        yield server


@pytest.fixture(scope="module")
def talk(server: Server) -> Talk:
    return Talk(server)


def test_a_compaction_is_one_signed_block_and_a_pass_of_its_own(talk: Talk) -> None:
    answer = talk.ok("anthropic", compaction())
    (block,) = answer["content"]
    assert block.keys() == {"type", "content", "signature"}
    assert answer["stop_reason"] == "compaction"
    usage = answer["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (0, 0)
    (once,) = usage["iterations"]
    bill = talk.server.truth().bills[-1]
    assert once["type"] == "compaction"
    assert once["output_tokens"] == bill.output > 0


def test_a_streamed_compaction_comes_whole_with_its_start(talk: Talk) -> None:
    events = talk.events("anthropic", compaction(stream=True))
    starts = [event for event in events if event["type"] == "content_block_start"]
    assert [start["content_block"]["type"] for start in starts] == ["compaction"]
    assert starts[0]["content_block"]["signature"]
    assert not [event for event in events if event["type"] == "content_block_delta"]


def test_the_block_stands_for_what_it_summarised(talk: Talk) -> None:
    """What follows costs the summary's tokens and not those of the messages."""
    long = {"role": "user", "content": "the gauge reads full, " * 2_000}
    whole = talk.ok("anthropic", messages(long, ANSWERED, NEXT))["usage"]["input_tokens"]
    asked = messages(long, ANSWERED, compaction={"type": "summarize"})
    script = read({"answers": [{"text": "All casks are full."}]})
    with running(script) as other:
        block = Talk(other).ok("anthropic", asked)["content"][0]
        rest = Talk(other).ok("anthropic", with_block(block))["usage"]["input_tokens"]
    assert rest < whole / 20


def test_without_the_header_the_block_is_of_an_unknown_kind(talk: Talk) -> None:
    refused = talk.send("anthropic", with_block(block_of(talk))._replace(headers={}))
    assert refused.status_code == 400
    assert "Input tag 'compaction' found" in said(refused.json())
    assert "beta" not in said(refused.json())


def test_a_code_of_its_own_names_what_is_wrong_with_a_block(talk: Talk) -> None:
    block = {**block_of(talk), "content": "Other."}
    refused = talk.send("anthropic", with_block(block)).json()
    code = refused["error"]["details"]["error_code"]
    assert code == "compaction_content_mismatch"


def test_fields_that_the_block_never_had_are_refused(talk: Talk) -> None:
    refused = talk.send(
        "anthropic", with_block({**block_of(talk), "citations": None})
    ).json()
    path = "messages.0.content.0.compaction.citations"
    assert said(refused) == f"{path}: Extra inputs are not permitted"


@pytest.mark.parametrize("field", FURTHER_CASES)
def test_what_would_do_nothing_for_a_summary_is_refused(talk: Talk, field: str) -> None:
    prove(talk, "anthropic", "compaction_with", FURTHER_CASES[field](talk))


@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        ({"calls": [{"name": "look"}]}, "tool_use"),
        ({"text": "withheld", "stop": "refusal"}, "refusal"),
        ({"text": "the gauge reads full, " * 2_000}, "max_tokens"),
    ],
)
def test_no_summary_is_an_empty_billed_answer(answer: dict[str, Any], stop: str) -> None:
    with running(read({"answers": [answer]})) as server:
        given = Talk(server).ok("anthropic", compaction(max_tokens=500))
    assert given["content"] == []
    assert given["stop_reason"] == stop
    assert given["usage"]["iterations"][0]["input_tokens"] > 0


def test_openai_gives_the_users_messages_and_one_item(talk: Talk) -> None:
    output = window_of(talk)
    assert [item["type"] for item in output] == ["message", "message", "compaction"]
    texts = [item["content"][0]["text"] for item in output[:2]]
    assert texts == [ASKED["content"], NEXT["content"]]


def test_openais_compaction_takes_no_field_of_an_answer(talk: Talk) -> None:
    refused = talk.send("openai", compact(max_output_tokens=100))
    assert said(refused.json()) == "Unknown parameter: 'max_output_tokens'."


def test_openais_compaction_takes_what_codex_sends_with_it(talk: Talk) -> None:
    talk.ok("openai", compact(tools=[], parallel_tool_calls=False, reasoning={}, text={}))


def triggered(**more: Any) -> Ask:
    items = [ASKED, ANSWERED, NEXT, {"type": "compaction_trigger"}]
    return Ask("/responses", {"model": "gpt-5.5", "input": items, **more})


def test_a_compaction_trigger_is_answered_by_one_item(talk: Talk) -> None:
    answer = talk.ok("openai", triggered(store=False))
    (item,) = answer["output"]
    assert item["type"] == "compaction"
    bill = talk.server.truth().bills[-1]
    assert answer["usage"]["output_tokens"] == bill.output > 0
    plain = Ask("/responses/input_tokens", {"model": "gpt-5.5", "input": [NEXT]})
    alone = talk.ok("openai", plain)["input_tokens"]
    later = talk.ok("openai", plain.but(input=[item, NEXT]))["input_tokens"]
    assert later == alone + bill.output


def test_a_streamed_trigger_gives_the_item_in_its_last_events(talk: Talk) -> None:
    events = talk.events("openai", triggered(stream=True))
    assert [event["type"] for event in events][-3:] == [
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    assert events[-2]["item"] == events[-1]["response"]["output"][0]


def test_a_stored_compaction_stands_for_all_before_it(talk: Talk) -> None:
    compacted = talk.ok("openai", triggered())
    previous = {"previous_response_id": compacted["id"]}
    asked = Ask("/responses", {"model": "gpt-5.5", "input": [NEXT], **previous})
    answer = talk.ok("openai", asked)
    sent = asked.but(previous_response_id=None, input=[*compacted["output"], NEXT])
    again = talk.ok("openai", sent)
    assert answer["usage"]["input_tokens"] == again["usage"]["input_tokens"]


# -- the providers' own SDKs --


def test_anthropics_sdk_compacts_and_continues_from_the_block(server: Server) -> None:
    client = anthropic.Anthropic(
        base_url=server.url("anthropic"), api_key="any", max_retries=0
    )
    history: Any = [ASKED, ANSWERED]
    summary = client.beta.messages.create(
        model=MODEL,
        max_tokens=2_000,
        betas=BETAS,
        messages=history,
        compaction={"type": "summarize"},
    )
    assert summary.stop_reason == "compaction"
    assert summary.content[0].type == "compaction"
    assert summary.usage.iterations
    assert summary.usage.iterations[0].type == "compaction"
    kept: Any = [{"role": "assistant", "content": summary.content}, NEXT]
    answer = client.beta.messages.create(
        model=MODEL, max_tokens=2_000, betas=BETAS, messages=kept
    )
    assert answer.stop_reason == "end_turn"


@pytest.mark.filterwarnings(
    "ignore:Pydantic serializer warnings"
)  # the SDK has no type for a user's message in an output
def test_openais_sdk_compacts_and_continues_from_the_window(server: Server) -> None:
    client = openai.OpenAI(base_url=server.url("openai"), api_key="any", max_retries=0)
    history: Any = [ASKED, ANSWERED, NEXT]
    compacted = client.responses.compact(model="gpt-5.5", input=history)
    assert compacted.object == "response.compaction"
    assert compacted.output[-1].type == "compaction"
    assert compacted.usage.output_tokens > 0
    window: Any = [*(item.to_dict() for item in compacted.output), NEXT]
    answer = client.responses.create(model="gpt-5.5", input=window, store=False)
    assert answer.status == "completed"
