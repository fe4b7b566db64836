"""Every task has an owner: it belongs to a task group, or it comes from ``ullage.tasks``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scripts.house.source import Source

ALONE = "ullage_proxy/relay/"
"""The relay loads nothing of ours: each of its tasks is kept by the connection that made it."""

RAW = {"create_task", "ensure_future"}


def raw_tasks(source: Source) -> list[int]:
    """The lines that make a task outside a task group."""
    groups: set[str] = set()
    for node in source.nodes:
        if (
            isinstance(node, ast.withitem)
            and ast.unparse(node.context_expr) == "asyncio.TaskGroup()"
            and isinstance(node.optional_vars, ast.Name)
        ):
            groups.add(node.optional_vars.id)
    lines: list[int] = []
    for node in source.nodes:
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


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Tasks without an owner."""
    for source in files:
        if source.name != "ullage/tasks.py" and not source.name.startswith(ALONE):
            for line in raw_tasks(source):
                yield (
                    f"{source.name}:{line}: use a task group, or `background`, `to_completion`, `start` and `stop` of "
                    "ullage.tasks"
                )
