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

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, TypedDict, Unpack, overload

import msgspec

from ullage.errors import SettingError, WrongType
from ullage.messages import Tool
from ullage.threads import in_thread
from ullage_agent.tools.dependencies import deps_needed
from ullage_agent.tools.docstrings import read_docstring
from ullage_agent.tools.other_names import TOOL_OPTIONS, explained
from ullage_agent.tools.outputs import as_output
from ullage_agent.tools.tool import (
    AgentTool,
    BadArguments,
    Output,
    Run,
    ToolContext,
)
from ullage_agent.tools.typed_values import (
    define,
    plain_value,
    read_value,
    type_schema,
    with_constraints,
)

Function = Callable[..., Any]
ApprovalRule = bool | Callable[[Mapping[str, Any]], bool]


class ToolOptions(TypedDict, total=False):
    """How a tool runs: the arguments of ``AgentTool`` of these names."""

    sequential: bool
    idempotent: bool
    needs_approval: ApprovalRule
    timeout_s: float
    result_tokens: int | None
    retries: int
    read_only: bool | None


@overload
def tool(fn: Function, /) -> AgentTool: ...


@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    **options: Unpack[ToolOptions],
) -> Callable[[Function], AgentTool]: ...


def tool(
    fn: Function | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    **options: Unpack[ToolOptions],
) -> AgentTool | Callable[[Function], AgentTool]:
    """A function as a tool; ``@tool`` and ``@tool(sequential=True)`` both work.

    Name, description and parameters come from the function, its docstring and its type hints. A parameter annotated
    ``ToolContext`` gets the session and is not shown to the model; ``ToolContext[Database]`` says that the tool needs
    the session's ``deps``, and that they are a ``Database``. A function that is not ``async`` runs in a thread, which
    a cancel or the time limit can't stop: its result is dropped then.

    Args:
        fn: The function.
        name: The tool's name, by default the function's.
        description: What the model reads, by default the docstring without its ``Args``.
        options: ``sequential``, ``idempotent``, ``needs_approval``, ``timeout_s``, ``result_tokens``, ``retries`` and
            ``read_only``, as ``ullage.tools.AgentTool`` has them.

    Raises:
        SettingError: A model can't call the function: a parameter has no name or no JSON form, or it is a generator.
        WrongType: An option is none of these.
    """
    for given in options:
        if given not in ToolOptions.__annotations__:
            known = ("name", "description", *ToolOptions.__annotations__)
            listed = f"It takes {', '.join(known)}."
            raise WrongType(
                f"tool: {explained(given, known, TOOL_OPTIONS, listed=listed)}"
            )

    def make(function: Function) -> AgentTool:
        if not callable(function):
            raise WrongType(
                f"A {type(function).__name__} is no tool. Give a function, an AgentTool, an McpServer, the name of a "
                "built-in tool, or `ullage.subagent(agent, …)` for another agent."
            )
        tool_name = name or getattr(function, "__name__", "") or _inner_name(function)
        if not name and not tool_name.isidentifier():
            raise SettingError(
                f"A tool needs a name, and {tool_name or function!r} is none: pass name=…."
            )
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingError(
                f"{tool_name}: a generator gives no result. Let it return a list."
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
            outlives_cancel=not _is_async(function),
            deps_type=signature.deps_type,
            **options,
        )

    return make if fn is None else make(fn)


def as_tools(tools: Iterable[AgentTool | Function]) -> tuple[AgentTool, ...]:
    """The same as tools; functions become tools, and one of ``Agent.as_tool`` a subagent.

    Raises ``SettingError`` if two have the same name.
    """
    given = (getattr(each, "__ullage_tool__", each) for each in tools)
    made = tuple(each if isinstance(each, AgentTool) else tool(each) for each in given)
    names = [each.name for each in made]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SettingError(
            f"Two tools have the name {', '.join(repeated)}, and a model could not tell them apart. Rename one of them."
        )
    return made


def _runner(function: Function, signature: Signature) -> Run:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        values = signature.convert(arguments) | dict.fromkeys(
            signature.context_names, context
        )
        result = await called(function, **values)
        if type(result) is str:
            return as_output(result)
        return await in_thread(as_output, result)

    return run


async def called(function: Function, *given: Any, **named: Any) -> Any:
    """What a function returns: an async one in the event loop, another one in a thread of its own."""
    if _is_async(function):
        return await function(*given, **named)
    value = await in_thread(partial(function, *given, **named))
    return await value if inspect.isawaitable(value) else value


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
                schema["default"] = plain_value(self.default)
        return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function accepts. ``context_names`` are its parameters that get the session and are not in the schema."""

    parameters: tuple[Parameter, ...]
    context_names: tuple[str, ...]
    deps_type: object = None
    """The type of the ``deps`` that the function needs; ``None`` if it needs none."""

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments: an object without further properties."""
        properties: dict[str, Any] = {}
        definitions: dict[str, Any] = {}
        for parameter in self.parameters:
            found = type_schema(parameter.kind)
            for name, definition in found.definitions.items():
                try:
                    define(definitions, name, definition)
                except TypeError as problem:
                    raise SettingError(f"{parameter.name}: {problem}") from problem
            properties[parameter.name] = parameter.schema(found.shape)
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
                    value = given[parameter.name]
                    values[parameter.name] = read_value(value, parameter.kind)
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


_NOT_FOR_A_MODEL: Final = {
    "self": "a method is a tool of its object: leave `@ullage.tool` out of the class, and give `tools=[thing.method]`.",
    "ctx": "write `ctx: ullage.ToolContext`, else the model is asked to fill in `ctx`.",
}
"""What is said of a parameter without a type that no model can know."""


def read_signature(function: Function, descriptions: Mapping[str, str]) -> Signature:
    """The parameters of a function, method, partial or callable object.

    ``descriptions`` come from its docstring. Raises ``SettingError`` if a model can't call it: a parameter's type has
    no JSON form, or the parameter is positional-only or variadic.
    """
    name = getattr(function, "__name__", type(function).__name__)
    hints = _hints(function, name)
    parameters: list[Parameter] = []
    context_names: list[str] = []
    deps_type: object = None
    for each in _parameters(function, name):
        if each.name in _NOT_FOR_A_MODEL and each.annotation is each.empty:
            raise SettingError(f"{name}: {_NOT_FOR_A_MODEL[each.name]}")
        kind = with_constraints(hints.get(each.name, Any))
        context = _tool_context(kind)
        if context is not None:
            context_names.append(each.name)
            deps_type = deps_needed(context) or deps_type
            continue
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise SettingError(
                f"{name}: the parameter {each} can't be filled in by name. Declare it as a named parameter."
            )
        try:
            type_schema(kind)
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"{name}: the parameter {each.name!r} has a type without a JSON form: {error}"
            ) from error
        is_required = each.default is each.empty
        default = None if is_required else each.default
        description = _annotated_text(kind) or descriptions.get(each.name, "")
        parameters.append(Parameter(each.name, kind, is_required, default, description))
    return Signature(
        parameters=tuple(parameters),
        context_names=tuple(context_names),
        deps_type=deps_type,
    )


def _parameters(function: Function, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError) as error:
        raise SettingError(
            f"{name} does not say what it takes: wrap it in a function of your own."
        ) from error


def _hints(function: Function, name: str) -> dict[str, Any]:
    target: Any = function
    while isinstance(target, partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise SettingError(
            f"{name}: its type hints can't be read: {error}. Import its types where the function is defined."
        ) from error


def _tool_context(kind: Any) -> Any:
    """The ``ToolContext`` in an annotation, with its parameter; ``None`` if it is of another type."""
    for each in (kind, *typing.get_args(kind)):
        origin = typing.get_origin(each) or each
        if isinstance(origin, type) and ToolContext in origin.__mro__:
            return each
    return None


def _annotated_text(kind: Any) -> str:
    """The first text in ``Annotated``, which replaces the docstring's description."""
    if typing.get_origin(kind) is Annotated:
        for extra in typing.get_args(kind)[1:]:
            if isinstance(extra, str):
                return extra
            if isinstance(extra, msgspec.Meta) and extra.description:
                return extra.description
    return ""
