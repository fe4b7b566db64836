"""What a session shows of the limits of the program that wrote it, and the limits that follow."""

from __future__ import annotations

from dataclasses import replace

from ullage.meter.limits import ModelLimits
from ullage.meter.state import State
from ullage.meter.window import Limits
from ullage_programs.facts import Circumstances
from ullage_programs.limits import name_and_version
from ullage_programs.programs import OWN, limits_of, title_of


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
