"""Every task has an owner: it belongs to a task group, or it comes from ``ullage.tasks``."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ullage

PACKAGE = Path(ullage.__file__).parent
RAW = {"create_task", "ensure_future"}


def raw_tasks(tree: ast.Module) -> list[int]:
    """The lines that make a task outside a task group."""
    groups: set[str] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.withitem)
            and ast.unparse(node.context_expr) == "asyncio.TaskGroup()"
        ):
            assert isinstance(node.optional_vars, ast.Name)
            groups.add(node.optional_vars.id)
    lines: list[int] = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in RAW
            and ast.unparse(node.value) not in groups
        ):
            lines.append(node.lineno)
        if isinstance(node, ast.ImportFrom) and any(
            name.name in RAW for name in node.names
        ):
            lines.append(node.lineno)
    return lines


def test_only_tasks_py_makes_tasks_outside_a_group() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        lines = raw_tasks(ast.parse(path.read_text()))
        if lines and path != PACKAGE / "tasks.py":
            found[str(path.relative_to(PACKAGE))] = lines
    assert not found, (
        "use a task group, or `background`, `to_completion`, `start` and `stop` of ullage.tasks"
    )


@pytest.mark.parametrize(
    "line",
    [
        "task = asyncio.create_task(work())",
        "task = asyncio.ensure_future(work())",
        "task = loop.create_task(work())",
        "from asyncio import create_task",
    ],
)
def test_a_raw_task_is_found(line: str) -> None:
    assert raw_tasks(ast.parse(line)) == [1]


def test_a_task_of_a_group_is_none() -> None:
    source = "async def run():\n    async with asyncio.TaskGroup() as group:\n        group.create_task(work())\n"
    assert raw_tasks(ast.parse(source)) == []
