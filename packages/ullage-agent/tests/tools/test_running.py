from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.tool_context import FakeToolContext
from ullage.encoding import decode_event, encode
from ullage.envelope import RESULT_CHARS
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart, Tool, ToolResultPart
from ullage_agent.tools import running
from ullage_agent.tools.functions import tool
from ullage_agent.tools.running import CallResult, cancelled, parse_arguments, run_call
from ullage_agent.tools.tool import (
    AgentTool,
    BadArguments,
    Output,
    Run,
    ToolContext,
    ToolError,
)


def made(run: Run, **more: Any) -> AgentTool:
    return AgentTool(declaration=Tool(name="it"), run=run, **more)


async def run(call: AgentTool, arguments: str = "{}") -> CallResult:
    return await run_call(call, arguments, FakeToolContext())


def raising(error: BaseException) -> AgentTool:
    async def fail(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        raise error

    return made(fail)


def giving(value: Any) -> AgentTool:
    async def give(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        return value  # type: ignore[no-any-return]

    return made(give)


async def test_a_tool_may_know_better_how_it_ended() -> None:
    assert (
        await run(giving(Output("who knows", is_error=True, outcome="unknown")))
    ).outcome == "unknown"


@pytest.mark.parametrize(
    "arguments", ["{", "[1]", '"x"', "nul", "{'a': 1}", "[" * 100_000, "1" * 10_000]
)
async def test_arguments_that_are_no_json_object_run_nothing(arguments: str) -> None:
    ran = await run(raising(AssertionError("it ran")), arguments)
    assert ran.outcome == "not_started"
    assert ran.output.is_error
    assert ran.output.text.startswith("Nothing was done")


async def test_arguments_that_do_not_fit_run_nothing() -> None:
    @tool
    def count(to: int) -> int:
        raise AssertionError("it ran")

    ran = await run(count, '{"to": "many"}')
    assert ran.outcome == "not_started"
    assert "argument 'to'" in ran.output.text


def test_strings_in_arguments_are_valid_unicode() -> None:
    given = parse_arguments('{"a\\u0000": ["\\ud800", {"b": "\\ud83d\\ude00"}]}')
    assert given == {"a\ufffd": ["\ufffd", {"b": "\U0001f600"}]}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such city"), "it failed: ValueError: no such city"),
        (KeyError(), "it failed: KeyError"),
        (ToolError("The city is closed."), "The city is closed."),
        (ExceptionGroup("two", [ValueError("a"), OSError("b")]), "ValueError: a\n- OSError: b"),
        (SystemExit(3), "it failed: it asked the program to exit (3)."),
        (asyncio.CancelledError(), "it failed: it cancelled itself."),
        (StopIteration("x"), "it failed: RuntimeError: coroutine raised StopIteration"),
        (RecursionError("deep"), "it failed: RecursionError: deep"),
    ],
)  # fmt: skip
async def test_what_a_tool_raises_is_a_result_with_its_type_and_message(
    error: BaseException, text: str
) -> None:
    ran = await run(raising(error))
    assert ran.outcome == "failed"
    assert ran.output.is_error
    assert text in ran.output.text
    assert "Traceback" not in ran.output.text


async def test_an_exception_that_can_not_be_shown_is_a_result_too() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise ValueError("no")

    found = (await run(raising(Broken()))).output.text
    assert found == "it failed: Broken: (its message can't be shown)"


async def test_a_tool_that_hangs_is_stopped() -> None:
    async def hang(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        await asyncio.sleep(3600)
        return Output("")

    ran = await run(made(hang, timeout_s=0.02))
    assert (ran.outcome, ran.output.is_error) == ("timed_out", True)
    assert ran.output.text == "it was stopped after 0.02 s without a result."


async def test_a_sync_function_that_hangs_is_given_up_and_that_is_said() -> None:
    gate = threading.Event()
    ran = await run(tool(name="wait", timeout_s=0.02)(gate.wait), "{}")
    gate.set()
    assert ran.outcome == "timed_out"
    assert "whether it takes effect is unknown" in ran.output.text


async def test_a_tool_that_swallows_its_cancel_is_abandoned() -> None:
    release = asyncio.Event()

    async def stubborn(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError("nobody hears this")

    ran = await run_call(
        made(stubborn, timeout_s=0.02), "{}", FakeToolContext(), grace_s=0.02
    )
    assert ran.outcome == "timed_out"
    release.set()
    async with asyncio.timeout(60):
        while running._abandoned:
            await asyncio.sleep(0.01)


async def test_a_cancel_reaches_the_tool_and_goes_on_when_that_has_ended() -> None:
    seen: list[str] = []
    begun = asyncio.Event()

    async def tidy(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            seen.append("tidied")
        return Output("")

    task = asyncio.ensure_future(run(made(tidy)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["tidied"]


def test_a_cancelled_call_is_unknown_where_its_work_is_out_of_reach() -> None:
    outcomes = [
        cancelled(made(giving(Output("")).run, outlives_cancel=each)).outcome
        for each in (False, True)
    ]
    assert outcomes == ["cancelled", "unknown"]


async def test_a_second_cancel_waits_no_longer() -> None:
    begun, ending, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ending.set()
            await release.wait()
        return Output("")

    task = asyncio.ensure_future(run(made(slow)))
    await begun.wait()
    task.cancel()
    await ending.wait()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


@given(st.lists(st.binary(max_size=60), min_size=25, max_size=25))
async def test_any_bytes_pass_from_a_tool_into_the_ledger(pieces: list[bytes]) -> None:
    """With HYPOTHESIS_PROFILE=thorough these are 50,000 byte strings."""
    for data in pieces:
        as_text = data.decode("utf-8", "surrogateescape")
        for value in (data, as_text, Output(as_text)):
            ran = await run(giving(value))
            assert "\0" not in ran.output.text
            part = ToolResultPart(
                id="p",
                call_id="c",
                content=(TextPart(id="t", text=ran.output.text, raw=ran.raw),),
            )
            event = MessageAdded(message=Message(id="m", role="tool", parts=(part,)))
            assert decode_event(encode(event)) == event


@given(st.text(max_size=40))
def test_any_text_as_arguments_is_read_or_refused(text: str) -> None:
    try:
        parsed = parse_arguments(text)
    except BadArguments as error:
        assert str(error)
    else:
        msgspec.json.encode(parsed)


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize("make", [circle, lambda: "x" * 140_000_000])
async def test_a_result_without_measure_is_bounded(make: Callable[[], Any]) -> None:
    @tool
    def hostile() -> Any:
        """Give back what does harm."""
        return make()

    ran = await run_call(hostile, "{}", FakeToolContext())
    assert len(ran.output.text) < RESULT_CHARS + 200
    assert (
        "is nested deeper than 100 levels" in ran.output.text
        or "is lost.]" in ran.output.text
    )
