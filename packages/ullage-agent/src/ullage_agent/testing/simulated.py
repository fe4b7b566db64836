"""A script that a strict simulator speaks, over the real wire: ``ScriptedModel(…, simulated=True)``."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import finalize

import msgspec

from ullage.display.text import quoted
from ullage.errors import MissingExtra, ProviderError, SettingError
from ullage.installation import extra_command
from ullage.messages import ReasoningPart, TextPart, Tool, ToolCallPart
from ullage.models.providers import ProviderRow, vendors_of
from ullage_agent.testing.answers import Script, as_answer, is_value

if TYPE_CHECKING:
    from ullage_simulators import Server
    from ullage_simulators.answer import ScriptedAnswer
    from ullage_simulators.faults import Fault
    from ullage_simulators.prompt import ScriptContext

MODEL: Final = "claude-simulated"
_LIKE: Final = "claude-opus-4-6"
"""The model whose rules the simulated one has."""


class SimulatedScript:
    """A simulator of Anthropic on this machine whose model says a script.

    It serves until its owner is gone. Raises ``MissingExtra`` without ullage-simulators, ``SettingError`` for answers
    that can't be simulated.
    """

    def __init__(
        self,
        owner: object,
        script: Script,
        *,
        window: int | None,
        pause_s: float,
    ) -> None:
        try:
            from ullage_simulators import Scenario, running
            from ullage_simulators.models import MODELS
        except ModuleNotFoundError as problem:
            raise MissingExtra(
                f"simulated=True needs ullage-simulators. Install it: {extra_command('simulators')}"
            ) from problem
        like = next(model for model in MODELS if model.name == _LIKE)
        model = replace(like, name=MODEL, window=window or like.window)
        faults = [
            _fault(number, answer)
            for number, answer in enumerate(script.left, 1)
            if isinstance(answer, BaseException)
        ]
        scenario = Scenario(
            models=(model,),
            faults=tuple(faults),
            delay_s=pause_s,
            assistant=lambda asked: _scripted(_next(script, asked), asked),
        )
        serving = ExitStack()
        self._server: Server = serving.enter_context(running(scenario))
        finalize(owner, serving.close)

    def row(self) -> ProviderRow:
        """Anthropic, at the simulator's address."""
        vendor = next(vendors_of(MODEL))
        return replace(
            vendor,
            base_url=self._server.url(vendor.name),
            url_env=(),
            key_env=(),
            needs_key=False,
        )


def _fault(number: int, error: BaseException) -> Fault:
    """The refusal of the request of this number."""
    from ullage_simulators.faults import Fault

    if not isinstance(error, ProviderError) or error.status is None:
        name = type(error).__name__
        raise SettingError(
            f"{name} can't be simulated without its status: give it one, as in RateLimited(…, status=429), or leave "
            "out simulated=True."
        )
    return Fault(
        "status", request=number, status=error.status, retry_after_s=error.retry_after_s
    )


def _next(script: Script, asked: ScriptContext) -> object:
    """The next answer; the errors before it were said as refusals. Where none is left, a text says so."""
    while script.left and isinstance(script.left[0], BaseException):
        script.left.pop(0)
    try:
        return script.next(quoted(asked.text or asked.results))
    except AssertionError as problem:
        return str(problem)


def _scripted(value: object, asked: ScriptContext) -> ScriptedAnswer:
    """One answer of the script as the simulator takes it: reasoning, then text, then calls."""
    from ullage_simulators.answer import Call, ScriptedAnswer

    reasoning, text = "", ""
    calls: list[Call] = []
    tools = tuple(
        Tool(name=tool.name, schema=msgspec.Raw(msgspec.json.encode(tool.schema)))
        for tool in asked.tools
    )
    items = value if isinstance(value, list | tuple) and not is_value(value) else [value]
    for one in items:
        made = as_answer(one, tools, asked.answer_schema) if is_value(one) else one
        match made:
            case ReasoningPart():
                reasoning += made.text
            case str():
                text += made
            case TextPart():
                text += made.text
            case ToolCallPart():
                calls.append(Call(made.name, made.arguments))
    return ScriptedAnswer(reasoning=reasoning, text=text, calls=tuple(calls))
