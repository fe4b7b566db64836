"""Scenarios: what the simulated models answer, what goes wrong, and what is pinned down. TOML or JSON; see docs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ullage_simulators.answer import Call, ScriptedAnswer, default_answer
from ullage_simulators.body import Body
from ullage_simulators.drawn import Drawn
from ullage_simulators.faults import KINDS, Fault
from ullage_simulators.models import MODELS, Model, model_of_family
from ullage_simulators.prompt import ScriptContext

SCENARIO_BYTES: Final = 16 * 1024 * 1024
SCENARIO_DEPTH: Final = 100
"""The largest scenario file that is read, and its deepest nesting."""


class SimulatorError(Exception):
    """A scenario, a simulator's name or a port that can't be used; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class When:
    """Which model calls an answer is for; what is not given matches all.

    ``step`` is the model call's number within its conversation, from 1. ``contains`` stands in the last user message or
    tool result. ``after`` is ``user`` or ``tool``.
    """

    step: int | None = None
    contains: str = ""
    after: str = ""
    model: str = ""

    def matches(self, ask: ScriptContext, model: str) -> bool:
        heard = "\n".join([ask.text, *(text for _, text in ask.results)])
        after = "tool" if ask.results else "user"
        return (
            self.step in (None, ask.step)
            and self.contains in heard
            and self.after in ("", after)
            and (self.model in ("", model) or _is_dated(model, self.model))
        )


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """One scripted answer, the calls it is for, and how often it may be given (0: always)."""

    answer: ScriptedAnswer
    when: When = When()
    times: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A run's script. ``key``: the only API key accepted; without one, any is. ``delay_s`` goes before each event.

    ``requests_per_minute`` and ``tokens_per_minute`` limit each key and model; 0: no limit.

    ``counts`` is whether the count endpoints are there. ``lenient``: rules that are only assumed warn.
    ``assistant`` answers what no line of ``answers`` is for.
    """

    answers: tuple[ScriptLine, ...] = ()
    faults: tuple[Fault, ...] = ()
    models: tuple[Model, ...] = MODELS
    key: str = ""
    delay_s: float = 0.0
    chunk: int = 16
    max_body_bytes: int = 0
    max_images: int = 0
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    counts: bool = True
    lenient: bool = False
    drawn: Mapping[str, Any] = field(default_factory=dict)
    """Numbers of all models; under a model's name a mapping with its own."""
    assistant: Callable[[ScriptContext], ScriptedAnswer] = default_answer

    def model(self, name: str, family: str) -> Model | None:
        """The model of that name, or of that name without its date (``gpt-5-2025-08-07``), or of its family."""
        fitting = [model for model in self.models if model.family == family]
        for model in fitting:
            if model.name == name:
                return model
        for model in fitting:
            if _is_dated(name, model.name):
                return model
        return model_of_family(name, fitting)

    def answer(
        self, ask: ScriptContext, model: str, spent: dict[int, int]
    ) -> ScriptedAnswer:
        """What the model says to this; ``spent`` counts how often each line was used and is written to."""
        for index, line in enumerate(self.answers):
            if (not line.times or spent.get(index, 0) < line.times) and line.when.matches(
                ask, model
            ):
                spent[index] = spent.get(index, 0) + 1
                return line.answer
        return self.assistant(ask)


def _is_dated(name: str, model: str) -> bool:
    """Whether the name is the model's with a date; one digit or two are a version."""
    rest = name.removeprefix(model)
    return rest != name and re.fullmatch(r"(-\d+)+", rest) is not None and len(rest) > 3


def load(path: str | Path) -> Scenario:
    """A scenario file. Raises ``SimulatorError`` for a file that can't be read or a value that is not allowed."""
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise SimulatorError(
                f"{path} is no regular file. Give a scenario as TOML or JSON."
            )
        with path.open("rb") as file:
            text = file.read(SCENARIO_BYTES).decode("utf-8")
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        if _is_too_deep(content):
            raise RecursionError
    except OSError as problem:
        raise SimulatorError(
            f"{path} can't be read: {problem.strerror or problem}."
        ) from problem
    except RecursionError:
        raise SimulatorError(f"{path} is nested too deep for a scenario.") from None
    except ValueError as problem:  # both decoders' errors, and bad UTF-8
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise SimulatorError(f"{path} is no valid {kind}: {problem}.") from problem
    return read(content)


def _is_too_deep(content: Any) -> bool:
    level = [content]
    for _ in range(SCENARIO_DEPTH):
        below: list[Any] = []
        for container in level:
            if isinstance(container, dict):
                below += container.values()
            elif isinstance(container, list):
                below += container
        if not below:
            return False
        level = below
    return True


_WHOLE: Final = (
    "chunk",
    "max_body_bytes",
    "max_images",
    "requests_per_minute",
    "tokens_per_minute",
)


def read(content: Any) -> Scenario:
    """A scenario from the object a file holds. Raises ``SimulatorError``."""
    given = _table(
        content, "a scenario", {"answers", "faults", "models", "server", "drawn"}
    )
    server = _table(
        given.get("server", {}),
        "[server]",
        {"key", "delay_s", "counts", "lenient", *_WHOLE},
    )
    own = tuple(_model(each) for each in _list(given, "models"))
    names = {model.name for model in own}
    kinds = {
        "key": str,
        "delay_s": (int, float),
        "counts": bool,
        "lenient": bool,
        **dict.fromkeys(_WHOLE, int),
    }
    _check(server, "[server]", kinds)
    return Scenario(
        answers=tuple(_line(each) for each in _list(given, "answers")),
        faults=tuple(_fault(each) for each in _list(given, "faults")),
        models=(*own, *(model for model in MODELS if model.name not in names)),
        drawn=_drawn(given.get("drawn", {})),
        **server,
    )


def _drawn(given: Any) -> Body:
    """The pinned numbers; those of one model are a table with its name."""
    if not isinstance(given, dict):
        return _numbers(given, "[drawn]")
    numbers: Body = {}
    of_models: Body = {}
    for name, value in given.items():
        if isinstance(value, dict):
            of_models[name] = _numbers(value, f"[drawn.{name}]")
        else:
            numbers[name] = value
    return {**_numbers(numbers, "[drawn]"), **of_models}


def _numbers(given: Any, where: str) -> Body:
    pinned = _table(given, where, _names(Drawn) - {"count"})
    kinds: Body = dict.fromkeys(pinned, (int, float))
    _check(pinned, where, kinds | {"loop": bool, "turns": bool})
    return pinned


def _line(given: Any) -> ScriptLine:
    answer = _table(given, "[[answers]]", _names(ScriptedAnswer) | {"when", "times"})
    when = _table(answer.pop("when", {}), "answers.when", _names(When))
    _check(
        when, "answers.when", {"step": int, "contains": str, "after": str, "model": str}
    )
    times = answer.pop("times", 0)
    kinds = {
        "reasoning": str,
        "text": str,
        "redacted": bool,
        "stop": str,
        "iterations": int,
        "calls": list,
        "extra": list,
    }
    _check({**answer, "times": times}, "[[answers]]", {**kinds, "times": int})
    if answer.get("stop", "") not in ("", "length", "filter", "refusal"):
        raise SimulatorError(
            f"answers.stop is length, filter or refusal, and not {answer['stop']!r}"
        )
    if when.get("after", "") not in ("", "user", "tool"):
        raise SimulatorError(
            f"answers.when.after is user or tool, and not {when['after']!r}"
        )
    answer["calls"] = tuple(_call(each) for each in answer.get("calls", []))
    answer["extra"] = tuple(
        _table(each, "answers.extra", None) for each in answer.get("extra", [])
    )
    return ScriptLine(ScriptedAnswer(**answer), When(**when), times)


def _call(given: Any) -> Call:
    call = _table(given, "answers.calls", {"name", "arguments", "input"})
    kinds = {"name": str, "arguments": (dict, str), "input": str}
    _check(call, "answers.calls", kinds)
    if "input" in call:
        return Call(call.get("name", ""), call["input"], is_custom=True)
    arguments = call.get("arguments", {})
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    return Call(call.get("name", ""), arguments)


def _fault(given: Any) -> Fault:
    fault = _table(given, "[[faults]]", _names(Fault))
    numbers = {
        "request": int,
        "at": int,
        "status": int,
        "retry_after_s": (int, float),
        "seconds": (int, float),
    }
    _check(fault, "[[faults]]", {"kind": str, "path": str, **numbers})
    if fault.get("kind") not in KINDS:
        raise SimulatorError(
            f"a fault's kind is one of {', '.join(KINDS)}, and not {fault.get('kind')!r}"
        )
    return Fault(**fault)


def _model(given: Any) -> Model:
    wanted = _table(given, "[[models]]", _names(Model) | {"like"})
    like = wanted.pop("like", "")
    base = next((model for model in MODELS if model.name == like), None)
    if base is None or not isinstance(wanted.get("name"), str):
        known = ", ".join(model.name for model in MODELS)
        raise SimulatorError(
            f"a model in [[models]] has a name, and says which it is like: one of {known}"
        )
    _check(
        wanted,
        "[[models]]",
        {
            "name": str,
            "window": int,
            "max_output": int,
            "cache_from": int,
            "traits": list,
        },
    )
    if "traits" in wanted:
        wanted["traits"] = frozenset(wanted["traits"])
    return replace(base, **wanted)


def _names(kind: Any) -> set[str]:
    return {each.name for each in fields(kind)}


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    found = given.get(name, [])
    if not isinstance(found, list):
        raise SimulatorError(f"{name} is a list of tables: write [[{name}]]")
    return found


def _table(given: Any, where: str, known: set[str] | None) -> Body:
    if not isinstance(given, dict):
        raise SimulatorError(f"{where} is a table, and not {given!r}")
    for name in given:
        if known is not None and name not in known:
            near = get_close_matches(name, known, 1)
            hint = (
                f" Did you mean {near[0]!r}?"
                if near
                else f" It may have {', '.join(sorted(known))}."
            )
            raise SimulatorError(f"{where} has no {name!r}.{hint}")
    return dict(given)


def _check(given: Mapping[str, Any], where: str, kinds: Mapping[str, Any]) -> None:
    for name, kind in kinds.items():
        if name not in given:
            continue
        value, wanted = given[name], kind if isinstance(kind, tuple) else (kind,)
        is_bad = not isinstance(value, kind) or (
            isinstance(value, bool) and bool not in wanted
        )
        if is_bad or (isinstance(value, int | float) and value < 0):
            readable = " or ".join(each.__name__ for each in wanted)
            raise SimulatorError(
                f"{where}: {name} is {readable} and not below 0; it is {value!r}"
            )
