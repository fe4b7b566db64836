"""The reference of Python: an index by task, docs/reference.md, and on the site a page for each name and module.

    uv run python -m scripts.reference_pages     writes docs/reference.md

A test compares the page with what this makes. mkdocstrings fills the site's pages from the docstrings.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

with suppress(ImportError):  # the site needs the names alone
    import ullage

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference.md"
SOURCE = ROOT / "packages" / "ullage" / "src" / "ullage"

TASKS = {
    "Run an agent": "Agent Provider Session Result TurnContext subagent http_server",
    "Give it tools": "tool builtin_tools McpServer ToolContext ToolError ToolRetry",
    "See and change what it does": "Hook Refusal Telemetry",
    "Store sessions": "Store SqliteStore MemoryStore",
    "Measure a window": "Meter Reading Usage",
    "Compact in a loop of your own": "Compactor attach detach",
    "Catch errors": "UllageError",
}
"""The public names by what they are for."""

HEAD = """# Reference

Made by `uv run python -m scripts.reference_pages`. Public is what `import ullage` gives and what its modules below
name; everything else may change. `help(ullage.Agent)` shows what [the site](index.md) has a page for.
"""

ENTRY = """::: {path}
    options:
      heading_level: {level}
      show_root_heading: true
      show_if_no_docstring: {shows_fields}
      members: {members}
"""

OPAQUE = frozenset({"Calibration", "ClientLimits", "Fold", "SessionStore", "SqliteStore"})
"""Classes that a caller passes on: what is inside of them is no promise."""

FIELDS = ("events", "messages", "measure")
"""Modules of records, whose fields say by their names what they hold."""


def modules() -> list[str]:
    """The public modules, without importing them: the site is made where Ullage is not installed."""
    for node in ast.walk(ast.parse((SOURCE / "__init__.py").read_text("utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES":
            return list(ast.literal_eval(node.value))
    raise LookupError("ullage/__init__.py has no _MODULES")


def module_tree(module: str) -> ast.Module:
    return ast.parse((SOURCE / f"{module}.py").read_text("utf-8"))


def names_in(module: str) -> list[str]:
    """What a public module names: what it lists, or the classes and functions that it defines."""
    nodes = module_tree(module).body
    for node in nodes:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    defined = [
        node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    return sorted((name for name in defined if not name.startswith("_")), key=str.lower)


def first_line(value: object) -> str:
    """The sentence that a docstring begins with."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def index() -> str:
    """The page in the repository."""
    parts = [HEAD, *(table(task, names.split()) for task, names in TASKS.items())]
    return "\n".join([*parts, table("Modules", modules())])


def table(title: str, names: Iterable[str]) -> str:
    """A part of the index: names with the first sentence of each."""
    rows = [f"| `{name}` | {first_line(getattr(ullage, name))} |" for name in names]
    return "\n".join(
        [f"## {title}\n", "| `ullage.…` | what it is |", "|---|---|", *rows, ""]
    )


def page_names() -> dict[str, str]:
    """Each page of the site by its place, with its title."""
    return {
        f"reference/{name.lower()}.md": name for name in (*listed_names(), *modules())
    }


def listed_names() -> list[str]:
    return [name for names in TASKS.values() for name in names.split()]


def entry(path: str, level: int, *, shows_fields: bool = False) -> str:
    """The mark that mkdocstrings replaces by a name's documentation."""
    members = "false" if path.rpartition(".")[2] in OPAQUE else "null"
    return ENTRY.format(
        path=path, level=level, shows_fields=str(shows_fields).lower(), members=members
    )


def page(name: str) -> str:
    """The page of a name or a module, for mkdocstrings to fill in."""
    if name not in modules():
        return entry(f"ullage.{name}", 1)
    own = [each for each in names_in(name) if each not in listed_names()]
    others = [each for each in names_in(name) if each in listed_names()]
    parts = [f"# ullage.{name}\n", f"{ast.get_docstring(module_tree(name))}\n"]
    if others:
        links = ", ".join(f"[{each}]({each.lower()}.md)" for each in others)
        parts.append(f"It also gives {links}.\n")
    for each in own:
        parts.append(entry(f"ullage.{name}.{each}", 2, shows_fields=name in FIELDS))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(index(), "utf-8")
