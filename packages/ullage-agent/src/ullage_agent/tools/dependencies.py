"""What tools need from the program around them: ``deps``, an object that a session is opened with and never stores."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Any

from ullage.errors import SettingError
from ullage_agent.tools.tool import AgentTool


def deps_needed(context: Any) -> object:
    """The type in ``ToolContext[Type]``; ``None`` where it names none, or one that ``None`` belongs to."""
    kinds = typing.get_args(context)
    if not kinds:
        return None
    (kind,) = kinds
    if kind in (Any, object, None, NoneType) or NoneType in typing.get_args(kind):
        return None
    needed: object = kind
    return needed


def check_deps(tools: Iterable[AgentTool], deps: object) -> None:
    """Raises ``SettingError`` if a tool needs dependencies, and these are none or of another type."""
    for tool in tools:
        check_needed(f"The tool {tool.name}", tool.deps_type, deps)


def check_needed(user: str, needed: object, deps: object) -> None:
    """Raises ``SettingError`` if ``user`` needs dependencies of a type, and these are none or of another one."""
    if needed is None or _fits(deps, needed):
        return
    name = getattr(needed, "__name__", str(needed))
    given = "none were given" if deps is None else f"they are {type(deps).__name__}"
    raise SettingError(
        f"{user} needs deps of type {name}, and {given}. They are not stored with a session: "
        "give them whenever it is opened, as in agent.session(…, deps=…). Nothing was sent."
    )


def _fits(deps: object, needed: object) -> bool:
    if deps is None:
        return False
    kind = typing.get_origin(needed) or needed
    if kind in (typing.Union, UnionType):
        return any(_fits(deps, each) for each in typing.get_args(needed))
    if not isinstance(kind, type):
        return True
    try:
        return isinstance(deps, kind)
    except TypeError:  # a protocol that is not runtime_checkable
        return True
