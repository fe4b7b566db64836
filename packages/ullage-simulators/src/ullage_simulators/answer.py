"""What a simulated model says: a scripted answer, or that of the default assistant; and how far its budget reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ullage_simulators.answer_format import sample_text
from ullage_simulators.body import Body, Count
from ullage_simulators.drawn import Drawn
from ullage_simulators.models import Model
from ullage_simulators.prompt import DeclaredTool, ScriptContext


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; ``arguments`` is the JSON text as the model wrote it, valid or not.

    ``is_custom``: a call of one of OpenAI's custom tools, whose ``arguments`` are plain text.
    """

    name: str
    arguments: str = "{}"
    is_custom: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """One answer of a model, in the order reasoning, ``extra``, text, calls.

    ``redacted``: the reasoning comes encrypted (Anthropic). ``stop``: ``length``, ``filter`` or ``refusal`` instead of
    the natural end. ``iterations``: sampling passes the provider makes and sums in its bill. ``extra``: items of a
    kind no client knows, sent as they are.
    """

    reasoning: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    redacted: bool = False
    stop: Literal["", "length", "filter", "refusal"] = ""
    iterations: Count = 1
    extra: tuple[Body, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer cut to its budget, with its true size: ``visible`` and ``reasoning`` tokens."""

    answer: ScriptedAnswer
    visible: int
    reasoning: int
    stop: str

    @property
    def output(self) -> int:
        return self.visible + self.reasoning


def speak(
    answer: ScriptedAnswer,
    model: Model,
    drawn: Drawn,
    *,
    budget: int | None,
    thinks: bool,
) -> Spoken:
    """The answer as far as ``budget`` tokens reach; what lies beyond is cut off, in the middle of a call if need be."""
    reasoning = 0
    hidden = 1.0 if "reasoning-text" in model.traits else drawn.hidden
    if not (thinks and model.reasons and answer.reasoning):
        answer = replace(answer, reasoning="", redacted=False)
    else:
        reasoning = max(1, round(drawn.factor * hidden * drawn.count(answer.reasoning)))
    left = model.max_output if budget is None else min(budget, model.max_output)
    if reasoning >= left:
        return Spoken(replace(answer, text="", calls=()), 0, left, "length")
    left -= reasoning
    visible, stop = 0, answer.stop
    text, size = _cut(answer.text, left, drawn, 1)
    visible += size
    calls: list[Call] = []
    for call in answer.calls if text == answer.text else ():
        arguments, size = _cut(
            call.arguments, left - visible, drawn, drawn.call + drawn.count(call.name)
        )
        if size == 0:
            stop = "length"
            break
        visible += size
        calls.append(replace(call, arguments=arguments))
        if arguments != call.arguments:
            break
    whole = text == answer.text and tuple(calls) == answer.calls
    visible = visible if whole else left
    return Spoken(
        replace(answer, text=text, calls=tuple(calls)),
        visible,
        reasoning,
        stop if whole else "length",
    )


def _cut(text: str, room: int, drawn: Drawn, framing: int) -> tuple[str, int]:
    """The text as far as there is room, and its tokens with framing; nothing of it is no token."""
    if not text or room <= framing:
        return "", 0
    while (size := round(drawn.factor * drawn.count(text)) + framing) > room:
        text = text[: int(len(text) * room / size * 0.95)]
        if not text:
            return "", 0
    return text, size


def default_answer(ask: ScriptContext) -> ScriptedAnswer:
    """The assistant of a server without a script.

    It repeats what it is told. It calls each declared tool whose name stands in the user's message, with arguments made
    up from the schema, and then reads out what the tools gave. Where the request has a schema for the answer, the text
    is JSON that follows it.
    """
    called = [tool for tool in ask.tools if tool.name and tool.name in ask.text]
    if ask.answer_schema is not None and (ask.results or not called):
        return ScriptedAnswer(
            reasoning="The answer has a form.",
            text=sample_text(ask.answer_schema, ask.text),
        )
    if ask.results:
        heard = "; ".join(
            f"{name or 'the tool'} gave {text[:500]}" for name, text in ask.results
        )
        return ScriptedAnswer(
            reasoning="The tools have answered, so this can be said.",
            text=f"Done: {heard}",
        )
    if called:
        calls = tuple(_call(tool, ask.text) for tool in called)
        return ScriptedAnswer(
            reasoning=f"This needs {', '.join(tool.name for tool in called)}.",
            calls=calls,
        )
    return ScriptedAnswer(
        reasoning="There is nothing to look up for this.",
        text=f"You said: {ask.text[:2_000] or '(nothing)'}",
    )


def _call(tool: DeclaredTool, said: str) -> Call:
    if tool.is_custom:
        return Call(tool.name, said[:80], is_custom=True)
    schema: Body = {"type": "object", **tool.schema}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return Call(tool.name)
    if isinstance(required, list) and required:
        wanted = {name: properties[name] for name in properties if name in required}
        schema["properties"] = wanted
    return Call(tool.name, sample_text(schema, said))
