"""Tools from plain functions: type hints give the schema, the docstring gives what the model reads.

@tool
def weather(city: str, days: int = 1) -> str:
    \"\"\"The forecast for a city.

    Args:
        city: Its name, in English.
        days: How many days ahead.
    \"\"\"
"""

from __future__ import annotations

import functools
import inspect
import threading
import typing
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, NamedTuple, overload

import msgspec

from ullage.errors import SettingError
from ullage.messages import Tool
from ullage.tools.docstrings import read_docstring
from ullage.tools.outputs import as_output
from ullage.tools.threads import in_thread
from ullage.tools.tool import (
    DEFAULT_TIMEOUT_S,
    AgentTool,
    BadArguments,
    Output,
    Run,
    ToolContext,
)

Function = Callable[..., Any]
ApprovalRule = bool | Callable[[Mapping[str, Any]], bool]

_converting = threading.Lock()
"""msgspec is not safe when two event loops convert to a type for the first time at once (docs/why/msgspec.md)."""


@overload
def tool(fn: Function, /) -> AgentTool: ...


@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    sequential: bool = False,
    idempotent: bool = False,
    needs_approval: ApprovalRule = False,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    result_tokens: int | None = None,
) -> Callable[[Function], AgentTool]: ...


def tool(
    fn: Function | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    sequential: bool = False,
    idempotent: bool = False,
    needs_approval: ApprovalRule = False,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    result_tokens: int | None = None,
) -> AgentTool | Callable[[Function], AgentTool]:
    """A function as a tool; ``@tool`` and ``@tool(sequential=True)`` both work.

    Name, description and parameters come from the function, its docstring and its type hints. A parameter annotated
    ``ToolContext`` gets the session and is not shown to the model. A function that is not ``async`` runs in a thread,
    which a cancel or the time limit can't stop: its result is dropped then. The other arguments are those of
    ``AgentTool``. Raises ``SettingError`` for a function that a model can't call.
    """

    def make(function: Function) -> AgentTool:
        tool_name = name or getattr(function, "__name__", "") or _inner_name(function)
        if not name and not tool_name.isidentifier():
            raise SettingError(
                f"a tool needs a name, and {tool_name or function!r} is none: pass name=…"
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingError(
                f"{tool_name}: a generator gives no result; let it return a list"
            )
        docstring = (
            inspect.getdoc(function) if inspect.isroutine(function) else function.__doc__
        )
        described = read_docstring(docstring)
        signature = read_signature(function, described.parameters)
        declaration = Tool(
            name=tool_name,
            description=description or described.text,
            schema=msgspec.Raw(msgspec.json.encode(signature.schema())),
        )
        return AgentTool(
            declaration=declaration,
            run=_runner(function, signature),
            sequential=sequential,
            idempotent=idempotent,
            needs_approval=needs_approval,
            timeout_s=timeout_s,
            result_tokens=result_tokens,
            outlives_cancel=not _is_async(function),
        )

    return make if fn is None else make(fn)


def as_tools(tools: Iterable[AgentTool | Function]) -> tuple[AgentTool, ...]:
    """The same as tools; functions become tools. Raises ``SettingError`` if two have the same name."""
    made = tuple(each if isinstance(each, AgentTool) else tool(each) for each in tools)
    names = [each.name for each in made]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SettingError(
            f"two tools are called {', '.join(repeated)}: a model could not tell them apart"
        )
    return made


def _runner(function: Function, signature: Signature) -> Run:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        values = signature.convert(arguments) | dict.fromkeys(
            signature.context_names, context
        )
        if _is_async(function):
            return await in_thread(as_output, await function(**values))

        def call() -> Any:
            value = function(**values)
            return value if inspect.isawaitable(value) else as_output(value)

        value: Output | Awaitable[Any] = await in_thread(call)
        return value if isinstance(value, Output) else as_output(await value)

    return run


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )


def _inner_name(function: Function) -> str:
    inner = getattr(function, "func", None)
    return getattr(inner, "__name__", "") or type(function).__name__.lower()


class Parameter(NamedTuple):
    """A parameter that the model fills in. ``kind`` is its type, including ``Annotated``."""

    name: str
    kind: Any
    is_required: bool
    default: Any
    description: str

    def schema(self, shape: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of its type, with the description and the default."""
        schema = dict(shape)
        if self.description:
            schema["description"] = self.description
        if not self.is_required:
            with suppress(
                TypeError
            ):  # a default without a JSON form, which the model does not need
                schema["default"] = msgspec.to_builtins(
                    self.default, enc_hook=_encode_path
                )
        return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function accepts. ``context_names`` are its parameters that get the session and are not in the schema."""

    parameters: tuple[Parameter, ...]
    context_names: tuple[str, ...]

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments: an object without further properties."""
        properties: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        for parameter in self.parameters:
            (shape,), components = msgspec.json.schema_components(
                [parameter.kind], schema_hook=_path_schema, ref_template="#/$defs/{name}"
            )
            definitions |= components
            properties[parameter.name] = parameter.schema(shape)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        required = [
            parameter.name for parameter in self.parameters if parameter.is_required
        ]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        if definitions:
            schema["$defs"] = definitions
        return schema

    def convert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, converted to the parameters' types. Missing defaults are left to the function.

        Accepts a number or boolean written as a string where the type is not a string. Raises ``BadArguments`` that
        lists every problem.
        """
        known = {parameter.name for parameter in self.parameters}
        problems = [
            f"there is no argument {name!r}" for name in given if name not in known
        ]
        values: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.name in given:
                try:
                    values[parameter.name] = _convert(
                        given[parameter.name], parameter.kind
                    )
                except (msgspec.ValidationError, ValueError, TypeError) as error:
                    problems.append(f"argument {parameter.name!r}: {error}")
            elif parameter.is_required:
                problems.append(f"argument {parameter.name!r} is missing")
        if problems:
            accepted = ", ".join(sorted(known)) or "none"
            raise BadArguments(
                f"Nothing was done: {'; '.join(problems)}. Arguments there are: {accepted}."
            )
        return values


def read_signature(function: Function, descriptions: Mapping[str, str]) -> Signature:
    """The parameters of a function, method, partial or callable object.

    ``descriptions`` come from its docstring. Raises ``SettingError`` if a model can't call it: a parameter's type has
    no JSON form, or the parameter is positional-only or variadic.
    """
    name = getattr(function, "__name__", type(function).__name__)
    hints = _hints(function, name)
    parameters: list[Parameter] = []
    context_names: list[str] = []
    for each in _parameters(function, name):
        kind = hints.get(each.name, Any)
        if _is_tool_context(kind):
            context_names.append(each.name)
            continue
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SettingError(
                f"{name}: the parameter {each} can't be filled in by name; declare it as a named parameter"
            )
        try:
            msgspec.json.schema_components([kind], schema_hook=_path_schema)
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"{name}: the parameter {each.name!r} has a type without a JSON form: {error}"
            ) from error
        is_required = each.default is each.empty
        default = None if is_required else each.default
        description = _annotated_text(kind) or descriptions.get(each.name, "")
        parameters.append(Parameter(each.name, kind, is_required, default, description))
    return Signature(parameters=tuple(parameters), context_names=tuple(context_names))


def _parameters(function: Function, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise SettingError(
            f"{name} does not say what it takes: wrap it in a function of your own"
        ) from error


def _hints(function: Function, name: str) -> dict[str, Any]:
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
    for each in (kind, *typing.get_args(kind)):
        if each is ToolContext or (
            isinstance(each, type) and ToolContext in each.__mro__
        ):
            return True
    return False


def _annotated_text(kind: Any) -> str:
    """The first plain string in ``Annotated``, which replaces the docstring's description."""
    if typing.get_origin(kind) is Annotated:
        for extra in typing.get_args(kind)[1:]:
            if isinstance(extra, str):
                return extra
    return ""


def _convert(value: Any, kind: Any) -> Any:
    with _converting:
        try:
            return msgspec.convert(value, kind, dec_hook=_decode_path)
        except msgspec.ValidationError as strict:
            try:
                return msgspec.convert(value, kind, strict=False, dec_hook=_decode_path)
            except msgspec.ValidationError:
                raise strict from None


def _path_schema(kind: type) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string", "format": "path"}
    raise TypeError(f"JSON has no form for {kind}")


def _decode_path(kind: type, value: Any) -> Any:
    if issubclass(kind, PurePath) and isinstance(value, str):
        return kind(value)
    raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _encode_path(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"JSON has no form for {type(value)}")
