"""Message threads as the Anthropic simulator holds them, asked for plainly and by Anthropic's own SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import beta_async_tool, beta_tool

from tests.simulators.asking import Body, Talk
from tests.simulators.threads import (
    ASKED,
    BETA,
    CACHED,
    NEXT,
    continued,
    created,
    started,
)
from ullage_simulators import Server, running
from ullage_simulators.scenario import read

CASKS = "the gauge of the cask reads full and the cooper writes it down " * 40
SCRIPT = read(
    {
        "answers": [{"when": {"after": "user", "contains": "look"}, "reasoning": "It needs the tool. ",
            "text": "One moment.",
            "calls": [{"name": "look", "arguments": {"cask": 1}}, {"name": "look", "arguments": {"cask": 2}}]}, {
            "reasoning": "Both are full. ", "text": "Full."}]
    }
)  # fmt: skip
QUESTION: Any = {"role": "user", "content": "please look"}
MODELS = ("claude-haiku-4-5", "claude-sonnet-5", "claude-fable-5-2")


@pytest.fixture
def server() -> Iterator[Server]:
    with running(SCRIPT, seed=8) as server:
        yield server


@pytest.fixture
def talk(server: Server) -> Talk:
    return Talk(server)


def answered(talk: Talk, answer: Body) -> Body:
    return {"role": "assistant", "content": answer["content"]}


def test_a_continued_thread_is_billed_as_one_conversation(talk: Talk) -> None:
    kept: Body = {"system": CASKS, "tools": [{"name": "see", "input_schema": {}}]}
    first = talk.ok("anthropic", created(**kept))
    second = talk.ok("anthropic", continued(first["id"]))
    messages = [ASKED, answered(talk, first), NEXT]
    whole = talk.ok("anthropic", created(*messages, thread=None, **kept))
    assert second["usage"]["input_tokens"] == whole["usage"]["input_tokens"]
    assert second.keys() == whole.keys()
    sent = talk.server.exchanges[1].body
    assert sent is not None
    assert sent["messages"] == [NEXT]


def test_a_thread_caches_what_its_requests_mark(talk: Talk) -> None:
    long = {"role": "user", "content": CASKS * 4}
    first = talk.ok("anthropic", created(long, cache_control=CACHED))
    second = talk.ok("anthropic", continued(first["id"], cache_control=CACHED))
    third = talk.ok("anthropic", continued(second["id"]))
    written = first["usage"]["cache_creation_input_tokens"]
    assert second["usage"]["cache_read_input_tokens"] == written > 1_000
    assert third["usage"]["cache_read_input_tokens"] == 0


def test_a_streamed_answer_is_held_too(talk: Talk) -> None:
    events = talk.events("anthropic", created(QUESTION, tools=[LOOK], stream=True))
    identity = events[0]["message"]["id"]
    calls = []
    for event in events:
        if event.get("content_block", {}).get("type") == "tool_use":
            calls.append(event["content_block"]["id"])
    results = [{"type": "tool_result", "tool_use_id": each} for each in calls]
    assert len(results) == 2
    talk.ok("anthropic", continued(identity, {"role": "user", "content": results}))


LOOK: Body = {"name": "look", "input_schema": {"type": "object"}}


def test_new_messages_are_held_against_those_of_the_thread(talk: Talk) -> None:
    answer = talk.ok("anthropic", created(QUESTION, tools=[LOOK]))
    refused = talk.send("anthropic", continued(answer["id"]))
    assert refused.status_code == 400
    assert talk.server.exchanges[-1].rule == "call_without_result"
    empty = continued(answer["id"])
    empty.body["messages"] = []
    talk.send("anthropic", empty)
    assert talk.server.exchanges[-1].rule == "no_messages"


def test_a_refused_continuation_leaves_the_thread_as_it_was(talk: Talk) -> None:
    first = started(talk)
    assert talk.status("anthropic", continued(first, max_tokens=0)) == 400
    talk.ok("anthropic", continued(first))


def test_an_expired_thread_is_not_found(talk: Talk) -> None:
    first = started(talk)
    talk.server.forget_threads()
    refused = talk.send("anthropic", continued(first))
    error = refused.json()["error"]
    assert refused.status_code == 404
    assert error["type"] == "not_found_error"
    assert error["details"] == {"error_code": "thread_not_found"}


def test_a_request_that_no_thread_can_take_names_why(talk: Talk) -> None:
    block = {"type": "text", "text": "Which?", "cache_control": CACHED}
    asked = created({"role": "user", "content": [block] * 4}, cache_control=CACHED)
    error = talk.send("anthropic", asked).json()["error"]
    assert error["details"] == {
        "error_code": "thread_unsupported_request",
        "unsupported": ["cache_control"],
    }


def test_what_claude_code_adds_to_a_thread_is_accepted(talk: Talk) -> None:
    billing = {"type": "text", "text": "x-anthropic-billing-header: cch=1"}
    talk.ok("anthropic", continued(started(talk), system=[billing]))


def test_the_count_endpoint_knows_no_threads(talk: Talk) -> None:
    counted = created()._replace(path="/v1/messages/count_tokens")
    counted.body.pop("max_tokens")
    assert talk.status("anthropic", counted) == 400
    assert talk.server.exchanges[-1].rule == "field_unknown"


def test_bound_thinking_of_a_thread_stays_valid(talk: Talk) -> None:
    model = {"model": "claude-fable-5-2"}
    first = talk.ok("anthropic", created(**model))
    headers: dict[str, str | None] = {
        "anthropic-beta": f"{BETA['anthropic-beta']},{CONTROLS}"
    }
    again = continued(first["id"], **model)._replace(headers=headers)
    assert talk.ok("anthropic", again)["input_transformations"] == []
    assert talk.server.truth().bills[-1].kept > 0


CONTROLS = "thinking-binding-controls-2026-08-01"


# -- Anthropic's own SDK --


@beta_tool
def look(cask: int) -> str:
    """Looks at a cask.

    Args:
        cask: Its number.
    """
    return f"Cask {cask}: {CASKS}"


@beta_async_tool(name="look")
async def look_async(cask: int) -> str:
    """Looks at a cask.

    Args:
        cask: Its number.
    """
    return f"Cask {cask}: {CASKS}"


def client(server: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=server.url("anthropic"), api_key="any", max_retries=0
    )


def run(server: Server, model: str, **more: Any) -> Any:
    """The tool runner's last answer."""
    runner = client(server).beta.messages.tool_runner(
        model=model, max_tokens=500, tools=[look], messages=[QUESTION], **more
    )
    return runner.until_done()


def run_streaming(server: Server, model: str, **more: Any) -> Any:
    runner = client(server).beta.messages.tool_runner(
        model=model,
        max_tokens=500,
        tools=[look],
        messages=[QUESTION],
        stream=True,
        **more,
    )
    for stream in runner:
        answer = stream.get_final_message()
    return answer


def run_async(server: Server, model: str, **more: Any) -> Any:
    async def done() -> Any:
        async with anthropic.AsyncAnthropic(
            base_url=server.url("anthropic"), api_key="any", max_retries=0
        ) as given:
            runner = given.beta.messages.tool_runner(
                model=model,
                max_tokens=500,
                tools=[look_async],
                messages=[QUESTION],
                **more,
            )
            return await runner.until_done()

    return asyncio.run(done())


RUNS = {"plain": run, "streaming": run_streaming, "async": run_async}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", RUNS)
def test_the_tool_runner_works_on_a_thread(server: Server, kind: str, model: str) -> None:
    """Its last answer is billed for the whole conversation, as without a thread."""
    answer = RUNS[kind](server, model)
    threads = [exchange.body["thread"]["type"] for exchange in bodies(server)]
    assert answer.content[-1].text == "Full."
    assert threads == ["create", "continue"]
    assert answer.usage.input_tokens == server.truth().bills[-1].input > 1_000
    with running(SCRIPT, seed=8) as other:
        plain = RUNS[kind](other, model, thread=False)
        assert "thread" not in bodies(other)[-1].body
    assert plain.usage.input_tokens == answer.usage.input_tokens


def bodies(server: Server) -> list[Any]:
    return [exchange for exchange in server.exchanges if exchange.body]


def test_the_thread_helper_replays_a_thread_that_is_gone(server: Server) -> None:
    thread = client(server).beta.messages.thread(
        model="claude-sonnet-5", max_tokens=500, system="Be brief."
    )
    thread.send({"role": "user", "content": "One."})
    thread.send({"role": "user", "content": "Two."})
    server.forget_threads()
    answer = thread.send({"role": "user", "content": "Three."})
    statuses = [exchange.status for exchange in bodies(server)]
    assert statuses == [200, 200, 404, 200]
    assert len(bodies(server)[-1].body["messages"]) == 5
    assert answer.usage.input_tokens == server.truth().bills[-1].input


def test_a_fork_of_the_helper_sends_the_whole_conversation(server: Server) -> None:
    thread = client(server).beta.messages.thread(model="claude-sonnet-5", max_tokens=500)
    thread.send({"role": "user", "content": "One."})
    fork = thread.fork()
    thread.send({"role": "user", "content": "Two."})
    fork.send({"role": "user", "content": "Other."})
    assert [each.status for each in bodies(server)] == [200] * 3
    assert bodies(server)[-1].body["thread"] == {"type": "create"}


def test_the_tool_runner_of_the_sdk_compacts_on_a_thread(server: Server) -> None:
    """The thinking of the turns behind the summary is kept."""
    runner = client(server).beta.messages.tool_runner(
        model="claude-fable-5-2",
        max_tokens=500,
        tools=[look],
        messages=[QUESTION],
        betas=["compact-2026-09-04"],
    )
    for answer in runner:
        if answer.stop_reason == "tool_use":
            runner.compact_before_next_turn()
    assert answer.content[-1].type == "text"
    asked = [each for each in bodies(server) if "compaction" in each.body]
    assert len(asked) == 1
    assert {each.status for each in bodies(server)} == {200}
