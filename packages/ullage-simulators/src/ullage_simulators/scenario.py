"""Scenarios: what the simulated models answer, what goes wrong, and what is pinned down. TOML or JSON; see docs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from ullage_simulators.answer import ScriptedAnswer, default_answer
from ullage_simulators.body import Body, Count, Quantity
from ullage_simulators.drawn import Drawn
from ullage_simulators.faults import KINDS, Fault
from ullage_simulators.models import MODELS, Model, model_of_family
from ullage_simulators.prompt import ScriptContext

FileObject = TypeVar("FileObject")

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

    step: Count | None = None
    contains: str = ""
    after: Literal["", "user", "tool"] = ""
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
    times: Count = 0


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
    delay_s: Quantity = 0.0
    chunk: Count = 16
    max_body_bytes: Count = 0
    max_images: Count = 0
    requests_per_minute: Count = 0
    tokens_per_minute: Count = 0
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


_SERVER: Final = frozenset(
    {
        "key", "delay_s", "counts", "lenient", "chunk", "max_body_bytes", "max_images", "requests_per_minute",
        "tokens_per_minute",
    }
)  # fmt: skip
"""The fields of ``Scenario`` that a file sets in its table ``server``."""


def read(content: Any) -> Scenario:
    """A scenario from the object a file holds. Raises ``SimulatorError``."""
    given = _table(
        content, "a scenario", {"answers", "faults", "models", "server", "drawn"}
    )
    own = tuple(_model(each) for each in _list(given, "models"))
    names = {model.name for model in own}
    return replace(
        _made(Scenario, given.get("server", {}), "[server]", _SERVER),
        answers=tuple(_line(each) for each in _list(given, "answers")),
        faults=tuple(_fault(each) for each in _list(given, "faults")),
        models=(*own, *(model for model in MODELS if model.name not in names)),
        drawn=_drawn(given.get("drawn", {})),
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
    names = _names(Drawn) - {"count"}
    pinned = _table(given, where, names)
    unpinned = dict.fromkeys(names, 0) | {"loop": False, "turns": False}
    _made(Drawn, unpinned | pinned, where)
    return pinned


def _line(given: Any) -> ScriptLine:
    answer = _table(given, "[[answers]]", _names(ScriptedAnswer) | {"when", "times"})
    when = _table(answer.pop("when", {}), "answers.when", _names(When))
    line = {"answer": answer, "when": when, "times": answer.pop("times", 0)}
    if isinstance(calls := answer.get("calls"), list):
        answer["calls"] = [_call(each) for each in calls]
    return _made(ScriptLine, line, "[[answers]]")


def _call(given: Any) -> Body:
    call = _table(given, "answers.calls", {"name", "arguments", "input"})
    arguments = call.get("arguments", {})
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments)
    is_custom = "input" in call
    return {
        "name": call.get("name", ""),
        "arguments": call["input"] if is_custom else arguments,
        "is_custom": is_custom,
    }


def _fault(given: Any) -> Fault:
    kind = _table(given, "[[faults]]", _names(Fault)).get("kind")
    if kind not in KINDS:
        raise SimulatorError(
            f"a fault's kind is one of {', '.join(KINDS)}, and not {kind!r}"
        )
    return _made(Fault, given, "[[faults]]")


def _model(given: Any) -> Model:
    wanted = _table(given, "[[models]]", _names(Model) | {"like"})
    like = wanted.pop("like", "")
    base = next((model for model in MODELS if model.name == like), None)
    if base is None or "name" not in wanted:
        known = ", ".join(model.name for model in MODELS)
        raise SimulatorError(
            f"a model in [[models]] has a name, and says which it is like: one of {known}"
        )
    return _made(Model, {**asdict(base), **wanted}, "[[models]]")


def _made(
    kind: type[FileObject], given: Any, where: str, known: Set[str] | None = None
) -> FileObject:
    """The object that a table describes. Raises ``SimulatorError`` for unknown names and wrong values."""
    table = _table(given, where, known or _names(kind))
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as problem:
        raise SimulatorError(f"{where}: {problem}") from None


def _names(kind: Any) -> set[str]:
    return {each.name for each in fields(kind)}


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    found = given.get(name, [])
    if not isinstance(found, list):
        raise SimulatorError(f"{name} is a list of tables: write [[{name}]]")
    return found


def _table(given: Any, where: str, known: Set[str]) -> Body:
    if not isinstance(given, dict):
        raise SimulatorError(f"{where} is a table, and not {given!r}")
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = (
                f" Did you mean {near[0]!r}?"
                if near
                else f" It may have {', '.join(sorted(known))}."
            )
            raise SimulatorError(f"{where} has no {name!r}.{hint}")
    return dict(given)
