"""What a tool's annotation says that it needs, and what is given."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import pytest

from ullage.errors import SettingError
from ullage_agent.tools.dependencies import check_deps, deps_needed
from ullage_agent.tools.functions import tool
from ullage_agent.tools.tool import ToolContext


class Cellar:
    casks = 3


class OldCellar(Cellar):
    pass


class Counts(Protocol):
    def count(self) -> int: ...


@runtime_checkable
class Named(Protocol):
    name: str


@tool
def casks(context: ToolContext[Cellar]) -> int:
    """How many casks there are."""
    return context.deps.casks


@tool
def plain(context: ToolContext) -> str:
    """The session."""
    return context.session


@pytest.mark.parametrize(
    "kind", [ToolContext, ToolContext[Any], ToolContext[object], ToolContext[None],
             ToolContext[Cellar | None]],
    ids=["bare", "any", "object", "none", "optional"],
)  # fmt: skip
def test_a_context_without_a_type_of_its_own_needs_nothing(kind: Any) -> None:
    assert deps_needed(kind) is None


def test_a_context_with_a_type_needs_it_and_is_not_in_the_schema() -> None:
    assert casks.deps_type is Cellar
    assert b"context" not in bytes(casks.declaration.schema)
    assert plain.deps_type is None


@pytest.mark.parametrize("given", [Cellar(), OldCellar()], ids=["same", "subclass"])
def test_an_object_of_the_type_is_taken(given: object) -> None:
    check_deps([plain, casks], given)


@pytest.mark.parametrize(
    ("given", "said"),
    [(None, "none were given"), ("Cellar", "they are str"), (Cellar, "they are type")],
    ids=["none", "text", "the class itself"],
)
def test_anything_else_is_refused_by_names(given: object, said: str) -> None:
    with pytest.raises(
        SettingError, match=f"casks needs deps of type Cellar, and {said}"
    ):
        check_deps([plain, casks], given)


def made(kind: Any) -> Any:
    def use(context: Any) -> None:
        """Uses it."""

    use.__annotations__["context"] = ToolContext[kind]
    return tool(use)


@pytest.mark.parametrize(
    ("kind", "given", "is_taken"),
    [
        (Counts, 3, True),  # what Python can't check is left to the type checker
        (Named, 3, False),
        (dict[str, int], {"a": 1}, True),
        (dict[str, int], [], False),
        (Cellar | int, 3, True),
        (Counts, None, False),
    ],
    ids=["protocol", "runtime protocol", "dict", "list for dict", "union", "none"],
)
def test_what_can_be_checked_is_checked(kind: Any, given: object, is_taken: bool) -> None:
    if is_taken:
        check_deps([made(kind)], given)
        return
    with pytest.raises(SettingError, match="use needs deps"):
        check_deps([made(kind)], given)
