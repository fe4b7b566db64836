"""What a session shows of the limits of the program that wrote it, and the limits that follow."""

from __future__ import annotations

from dataclasses import replace

from ullage.clients.facts import Circumstances
from ullage.clients.limits import (
    OWN,
    SeenSizes,
    limits_of,
    name_and_version,
    title_of,
)
from ullage.events import CompactionCommitted
from ullage.meter.limits import ModelLimits
from ullage.meter.state import State
from ullage.meter.window import Limits
from ullage.usage import Usage


def with_client(state: State) -> Limits:
    """The session's limits with those of the program that wrote it. Nothing changes for sessions of this package."""
    name, version = name_and_version(state.program)
    if name in OWN:
        return state.limits
    model = state.known or ModelLimits()
    known = Circumstances(
        version=version,
        model=state.model,
        provider=state.provider,
        model_window=model.window,
        input_cap=model.input_cap,
        max_output=model.max_output,
        settings=state.client_settings,
    )
    client = limits_of(state.program, known, state.limits.named_window, state.seen)
    return replace(state.limits, program=title_of(state.program), client=client)


def after_request(seen: SeenSizes) -> SeenSizes:
    """A request goes out: what the last call left was not compacted."""
    if seen.last <= seen.passed:
        return seen
    return replace(seen, passed=seen.last)


def after_call(seen: SeenSizes, context: int, usage: Usage) -> SeenSizes:
    """A call reported its input."""
    largest = max(seen.largest, context)
    return replace(seen, largest=largest, last=context + (usage.output or 0))


def after_compaction(seen: SeenSizes, event: CompactionCommitted) -> SeenSizes:
    """The view was compacted: by the program itself, or because a person asked for it.

    A log that lacks the size is taken to mean the size that the last call reported.
    """
    size = event.before or seen.last
    if event.is_automatic and size:
        return replace(seen, last=0, compacted_at=size)
    return replace(seen, last=0, passed=0)
