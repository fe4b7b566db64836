"""Runs one call of a tool so that it always ends with a result the model can read.

A tool that raises, exceeds its time, swallows its cancel, or returns bytes or half a character does not end the loop;
neither do arguments that are no JSON.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ullage.codec.foreign import parse_json
from ullage.envelope import RESULT_CHARS
from ullage.events import ToolOutcome
from ullage.messages import clean_text
from ullage.tasks import start
from ullage.threads import in_thread
from ullage_agent.tools.outputs import as_output
from ullage_agent.tools.tool import (
    AgentTool,
    BadArguments,
    Output,
    ToolContext,
    ToolError,
    ToolRetry,
)

log = logging.getLogger("ullage.agent")

GRACE_S: Final = 5.0
"""Seconds a cancelled tool gets to end what it started; built-in tools need 2. After that its task is abandoned."""

_LONGEST_MESSAGE: Final = 10_000  # characters of an exception's message
_AT_ONCE: Final = 1 << 18  # characters that are cleaned on the event loop

_abandoned: set[asyncio.Task[Output]] = set()


class CallResult(NamedTuple):
    """How a call ended. ``output.text`` is valid Unicode; ``raw`` are the original bytes if they were not."""

    output: Output
    outcome: ToolOutcome
    raw: bytes | None = None


async def run_call(
    tool: AgentTool, arguments: str, context: ToolContext, *, grace_s: float = GRACE_S
) -> CallResult:
    """Run one call with the arguments as the model wrote them. Raises nothing but ``CancelledError``.

    Cancelling cancels the tool and waits at most ``grace_s`` for its cleanup; a second cancel does not wait.
    """
    try:
        parsed = parse_arguments(arguments)
    except BadArguments as error:
        return await _result(Output(str(error), is_error=True), "not_started")
    # no task group, which would wait for a tool that swallows its cancel: such a tool is abandoned
    task = start(_contained(tool, parsed, context))
    try:
        await asyncio.wait({task}, timeout=tool.timeout_s)
    except asyncio.CancelledError:
        await _end(task, tool, grace_s)
        raise
    if not task.done():
        await _end(task, tool, grace_s)
        return await _result(_timed_out(tool), "timed_out")
    if task.cancelled():
        return await _result(
            Output(f"{tool.name} failed: it cancelled itself.", is_error=True), "failed"
        )
    raised = task.exception()
    if raised is not None:
        outcome: ToolOutcome = (
            "not_started" if isinstance(raised, BadArguments) else "failed"
        )
        failed = Output(
            _error_text(tool, raised),
            is_error=True,
            asks_retry=isinstance(raised, ToolRetry),
        )
        return await _result(failed, outcome)
    output = task.result()
    ended: ToolOutcome = "failed" if output.is_error else "finished"
    return await _result(output, output.outcome or ended)


def cancelled(tool: AgentTool) -> CallResult:
    """The result of a cancelled call for the model; its outcome is unknown if the tool outlives a cancel."""
    if tool.outlives_cancel:
        text = f"{tool.name} was cancelled. What it began could not be stopped: whether it takes effect is unknown."
        return CallResult(Output(text, is_error=True, outcome="unknown"), "unknown")
    text = f"{tool.name} was cancelled while it ran; what it had done by then was not undone."
    return CallResult(Output(text, is_error=True, outcome="cancelled"), "cancelled")


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call, with valid Unicode; empty text means no arguments. Raises ``BadArguments``."""
    try:
        parsed = parse_json(text) if text.strip() else {}
    except ValueError as error:
        raise BadArguments(
            f"Nothing was done: the arguments are not valid JSON ({error}). Send the call again."
        ) from error
    if not isinstance(parsed, dict):
        raise BadArguments(
            f"Nothing was done: the arguments must be a JSON object, not {type(parsed).__name__}."
        )
    return {clean_text(name).text: _clean(value) for name, value in parsed.items()}


async def _contained(
    tool: AgentTool, arguments: Mapping[str, Any], context: ToolContext
) -> Output:
    try:
        output: object = await tool.run(arguments, context)
    except SystemExit as error:  # would end the event loop and with it every session
        raise ToolError(
            f"{tool.name} failed: it asked the program to exit ({error})."
        ) from error
    if isinstance(output, Output) and not output.pictures:
        return output
    return await in_thread(as_output, output)


async def _end(task: asyncio.Task[Output], tool: AgentTool, grace_s: float) -> None:
    """Cancel the tool and wait until it ends. A second cancel of this task does not wait."""
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace_s)
    finally:
        if not task.done():
            log.warning(
                "The tool %s did not end when it was cancelled; its task was abandoned.",
                tool.name,
            )
            _abandoned.add(task)
            task.add_done_callback(_forget)
        elif not task.cancelled() and task.exception() is not None:
            log.debug(
                "The tool %s failed while it was cancelled.",
                tool.name,
                exc_info=task.exception(),
            )
    if tool.outlives_cancel:
        log.info(
            "The work of the tool %s can't be stopped from here; its result is dropped.",
            tool.name,
        )


def _forget(task: asyncio.Task[Output]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # so that asyncio does not report it as never retrieved


def _timed_out(tool: AgentTool) -> Output:
    text = f"{tool.name} was stopped after {tool.timeout_s:g} s without a result."
    if tool.outlives_cancel:
        text = (
            f"{tool.name} gave no result in {tool.timeout_s:g} s and is not waited for any longer. "
            "What it began could not be stopped: whether it takes effect is unknown."
        )
    return Output(text, is_error=True)


def _error_text(tool: AgentTool, error: BaseException) -> str:
    if isinstance(error, ToolError):
        return str(error)
    log.debug("The tool %s raised.", tool.name, exc_info=error)
    return f"{tool.name} failed: {_described(error)}"


def _described(error: BaseException, depth: int = 0) -> str:
    """Type and message of an exception; of a group, those of its members."""
    try:
        message = str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception's own __str__ may be what is broken
        message = "(its message can't be shown)"
    described = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if isinstance(error, BaseExceptionGroup) and depth < 3:
        described += "".join(
            f"\n- {_described(each, depth + 1)}" for each in error.exceptions[:10]
        )
    return described


async def _result(output: Output, outcome: ToolOutcome) -> CallResult:
    if len(output.text) > RESULT_CHARS:
        note = f"\n[The result had {len(output.text):,} characters; what follows the first {RESULT_CHARS:,} is lost.]"
        output = output._replace(text=output.text[:RESULT_CHARS] + note)
    if len(output.text) < _AT_ONCE:
        cleaned = clean_text(output.text)
    else:
        cleaned = await in_thread(clean_text, output.text)
    return CallResult(
        output._replace(text=cleaned.text, outcome=outcome), outcome, cleaned.raw
    )


def _clean(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value).text
        case list():
            return [_clean(each) for each in value]
        case dict():
            return {clean_text(name).text: _clean(each) for name, each in value.items()}
        case _:
            return value
