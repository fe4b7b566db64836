"""A function's parameters as a model sees them: their JSON Schema, and its arguments made into what they ask for."""

from __future__ import annotations

import functools
import inspect
import threading
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Annotated, Any, NamedTuple

import msgspec

from ullage.errors import SettingError
from ullage.tools.tool import BadArguments, ToolContext

_one_at_a_time = threading.Lock()
"""Two loops may make a tool's arguments for the first time at once, which msgspec is not safe for
(docs/why/msgspec.md)."""


class Parameter(NamedTuple):
    """One parameter that the model fills in. ``kind`` is its type, with what stands in ``Annotated``."""

    name: str
    kind: Any
    is_required: bool
    default: Any
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes. ``context`` names its parameters that get the session and are not in the schema."""

    parameters: tuple[Parameter, ...]
    context: tuple[str, ...]

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, an object without room for others."""
        properties: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        for parameter in self.parameters:
            (shape,), components = msgspec.json.schema_components(
                [parameter.kind], schema_hook=_schema_of, ref_template="#/$defs/{name}"
            )
            definitions |= components
            properties[parameter.name] = shape | _said(parameter)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [parameter.name for parameter in self.parameters if parameter.is_required]:
            schema["required"] = required
        schema["additionalProperties"] = False
        if definitions:
            schema["$defs"] = definitions
        return schema

    def convert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the types that are asked for; defaults are left to the function.

        A number or a truth value written as a string is taken for what it says where no string is asked for.
        Raises ``BadArguments`` with everything that is wrong.
        """
        known = {parameter.name for parameter in self.parameters}
        problems = [f"there is no argument {name!r}" for name in given if name not in known]
        taken: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in given:
                try:
                    taken[parameter.name] = _converted(given[parameter.name], parameter.kind)
                except (msgspec.ValidationError, ValueError, TypeError) as error:
                    problems.append(f"argument {parameter.name!r}: {error}")
            elif parameter.is_required:
                problems.append(f"argument {parameter.name!r} is missing")
        if problems:
            takes = ", ".join(sorted(known)) or "none"
            raise BadArguments(f"Nothing was done: {'; '.join(problems)}. Arguments there are: {takes}.")
        return taken


def read_signature(function: Callable[..., Any], descriptions: Mapping[str, str]) -> Signature:
    """The parameters of a function, method, partial or callable object.

    ``descriptions`` are its docstring's. Raises ``SettingError`` for one that no model can call: with a parameter of a
    type JSON has no form for, by position alone, or of any number.
    """
    name = getattr(function, "__name__", type(function).__name__)
    hints = _hints(function, name)
    parameters: list[Parameter] = []
    context: list[str] = []
    for each in _parameters(function, name):
        kind = hints.get(each.name, Any)
        if _is_tool_context(kind):
            context.append(each.name)
            continue
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SettingError(f"{name}: the parameter {each} can't be filled in by name; give it a name of its own")
        is_required = each.default is each.empty
        description, kind = _described(kind, descriptions.get(each.name, ""))
        parameters.append(Parameter(each.name, kind, is_required, None if is_required else each.default, description))
        try:
            msgspec.json.schema_components([kind], schema_hook=_schema_of)
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"{name}: the parameter {each.name!r} has a type without a JSON form: {error}"
            ) from error
    return Signature(parameters=tuple(parameters), context=tuple(context))


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise SettingError(f"{name} does not say what it takes: wrap it in a function of your own") from error


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise SettingError(
            f"{name}: its type hints can't be read: {error}; types must be importable where the function is defined"
        ) from error


def _is_tool_context(kind: Any) -> bool:
    kinds = (kind, *typing.get_args(kind))
    return any(each is ToolContext or (isinstance(each, type) and ToolContext in each.__mro__) for each in kinds)


def _described(kind: Any, description: str) -> tuple[str, Any]:
    """The description, with a plain string in ``Annotated`` standing above the docstring's."""
    if typing.get_origin(kind) is Annotated:
        said = [each for each in typing.get_args(kind)[1:] if isinstance(each, str)]
        return (said[0] if said else description), kind
    return description, kind


def _said(parameter: Parameter) -> dict[str, Any]:
    said: dict[str, Any] = {"description": parameter.description} if parameter.description else {}
    if not parameter.is_required:
        try:
            said["default"] = msgspec.to_builtins(parameter.default, enc_hook=_encoded)
        except TypeError:
            return said  # a default of the function's own making, which the model need not know
    return said


def _converted(value: Any, kind: Any) -> Any:
    with _one_at_a_time:
        try:
            return msgspec.convert(value, kind, dec_hook=_decoded)
        except msgspec.ValidationError as strict:
            try:
                return msgspec.convert(value, kind, strict=False, dec_hook=_decoded)
            except msgspec.ValidationError:
                raise strict from None


def _schema_of(kind: type) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    raise TypeError(f"JSON has no form for {kind}")


def _decoded(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _encoded(value: Any) -> Any:
    if isinstance(value, Path | PurePath):
        return str(value)
    raise TypeError(f"JSON has no form for {type(value)}")
