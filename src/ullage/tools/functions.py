"""Tools from plain functions: the schema from type hints, what the model reads from the docstring.

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
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, overload

import msgspec

from ullage.errors import SettingError
from ullage.messages import Tool
from ullage.tools.docstrings import read_docstring
from ullage.tools.outputs import as_output
from ullage.tools.signature import Signature, read_signature
from ullage.tools.threads import in_thread
from ullage.tools.tool import DEFAULT_TIMEOUT_S, AgentTool, Output, Run, ToolContext

Function = Callable[..., Any]
ApprovalRule = bool | Callable[[Mapping[str, Any]], bool]


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
    ``ToolContext`` gets the session and is not shown to the model. A function that isn't ``async`` runs in a thread: a
    cancel or the time limit can't stop it and gives up its result. The other arguments are those of ``AgentTool``.
    Raises ``SettingError`` for a function that no model can call.
    """

    def make(function: Function) -> AgentTool:
        called = name or getattr(function, "__name__", "") or _inner_name(function)
        if not called.isidentifier() and not name:
            raise SettingError(f"a tool needs a name, and {called or function!r} is none: pass name=…")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise SettingError(f"{called}: a generator gives no result; let it return a list")
        described = read_docstring(inspect.getdoc(function) if inspect.isroutine(function) else function.__doc__)
        signature = read_signature(function, described.parameters)
        return AgentTool(
            declaration=Tool(
                name=called,
                description=description or described.text,
                schema=msgspec.Raw(msgspec.json.encode(signature.schema())),
            ),
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
    """The same as tools, functions made into such. Raises ``SettingError`` where two have one name."""
    made = tuple(each if isinstance(each, AgentTool) else tool(each) for each in tools)
    names = [each.name for each in made]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SettingError(f"two tools are called {', '.join(twice)}: a model could not tell them apart")
    return made


def _runner(function: Function, signature: Signature) -> Run:
    async def run(arguments: Mapping[str, Any], context: ToolContext) -> Output:
        taken = signature.convert(arguments) | dict.fromkeys(signature.context, context)
        if _is_async(function):
            return await in_thread(as_output, await function(**taken))

        def call() -> Any:
            value = function(**taken)
            return value if inspect.isawaitable(value) else as_output(value)

        value: Output | Awaitable[Any] = await in_thread(call)
        return value if isinstance(value, Output) else as_output(await value)

    return run


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _inner_name(function: Function) -> str:
    inner = getattr(function, "func", None)
    return getattr(inner, "__name__", "") or type(function).__name__.lower()
