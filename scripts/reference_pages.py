"""The reference of Python: an index by task, docs/reference.md, and on the site a page for each name and module.

    uv run python -m scripts.reference_pages     writes docs/reference.md

A test compares the page with what this makes. mkdocstrings fills the site's pages from the docstrings.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

from scripts.split_pages import anchor_of

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

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

<!-- Made by `uv run python -m scripts.reference_pages`. -->

`import ullage` gives these names and modules; everything else may change. `help(ullage.Agent)` shows what the
site has a page for.
"""

ENTRY = """::: {path}
    options:
      heading_level: {level}
      show_root_heading: true
"""

PARTS = {
    "Session": {
        "Send and read": "send ask stream events wait messages history picture",
        "Decide and direct": "pending edit withdraw cancel questions approve grant grants revoke resume set hand_over",
        "Compact and drop": "compact preview accept drop droppable uncompact context explain recall pin",
        "Rewind, copy, end": "rewind changed_files fork rename close",
    }
}
"""Classes that are too long for one page: their methods by what one does with them. The first page has the others."""

OPAQUE = frozenset(
    {
        "Calibration",
        "ClientLimits",
        "Fold",
        "Override",
        "Sandbox",
        "SessionStore",
        "SqliteStore",
    }
)
"""Classes that a caller passes on: what is inside of them is no promise."""


def modules() -> list[str]:
    """The public modules, without importing them: the site is made where Ullage is not installed."""
    for node in ast.walk(tree_of(SOURCE / "__init__.py")):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES":
            return list(ast.literal_eval(node.value))
    raise LookupError("ullage/__init__.py has no _MODULES")


def names_in(module: str) -> list[str]:
    """What a public module names: what it lists, or the classes and functions that it defines."""
    nodes = tree_of(SOURCE / f"{module}.py").body
    for node in nodes:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return sorted(ast.literal_eval(node.value), key=str.lower)
    defined = [
        node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    return sorted((name for name in defined if not name.startswith("_")), key=str.lower)


def index() -> str:
    """The page in the repository."""
    given = SOURCE / "__init__.py"
    parts = [HEAD]
    for task, names in TASKS.items():
        rows = {f"`{name}`": told(definition(given, name)) for name in names.split()}
        parts.append(f"## {task}\n{rows_of('`ullage.…`', rows)}")
    rows = {f"`{name}`": told(tree_of(SOURCE / f"{name}.py")) for name in modules()}
    return "\n".join([*parts, f"## Modules\n{rows_of('`ullage.…`', rows)}"])


def page_names() -> dict[str, str]:
    """The pages in the site's navigation by their places, with their titles."""
    return {
        f"reference/{name.lower()}.md": name for name in (*listed_names(), *modules())
    }


def inner_names() -> dict[str, str]:
    """The pages of what the modules name, by their places: ``MODULE.NAME``."""
    return {
        f"reference/{module}/{name.lower()}.md": f"{module}.{name}"
        for module in modules()
        for name in own_names(module)
    }


def own_names(module: str) -> list[str]:
    """What a module names and ``ullage`` itself does not."""
    return [name for name in names_in(module) if name not in listed_names()]


def listed_names() -> list[str]:
    return [name for names in TASKS.values() for name in names.split()]


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def is_overload(found: Definition) -> bool:
    return "overload" in map(ast.unparse, found.decorator_list)


def definition(file: Path, name: str) -> Definition | None:
    """The class or function that a file defines or imports under this name; ``None`` for what is neither."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, Definition) and node.name == name and not is_overload(node):
            return node
        if isinstance(node, ast.ImportFrom) and any(each.name == name for each in node.names):  # fmt: skip
            path = str(node.module).replace(".", "/")
            for end in (".py", "/__init__.py"):
                for found in ROOT.glob(f"packages/*/src/{path}{end}"):
                    return definition(found, name)
    return None


def fields_of(found: ast.ClassDef) -> str:
    """The fields of a class as a table; empty where it has none."""
    rows: list[str] = []
    for field, after in pairwise([*found.body, ast.Pass()]):
        if not isinstance(field, ast.AnnAssign) or ast.unparse(field.target)[0] == "_":
            continue
        value = field.value
        has_default = value is not None and not isinstance(value, ast.Call)
        default = f"`{ast.unparse(value)}`" if value and has_default else ""
        kind = ast.unparse(field.annotation)
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = " ".join(str(after.value.value).split()).replace("``", "`")
        name = ast.unparse(field.target)
        rows.append(f"| `{name}` | `{kind}` | {default} | {text} |".replace("``", ""))
    if not rows:
        return ""
    return "\n".join(
        ["", "| field | type | default | what it is |", "|---|---|---|---|", *rows, ""]
    )


def methods_of(found: ast.ClassDef) -> dict[str, str]:
    """What a class has beside its fields, with the first sentence of each."""
    return {
        node.name: told(node)
        for node in found.body
        if isinstance(node, Definition) and node.name[0] != "_"
    }


def told(found: Definition | ast.Module | None) -> str:
    """The sentence that a docstring begins with."""
    text = ast.get_docstring(found) if found else ""
    return " ".join((text or "").partition("\n\n")[0].split()).replace("``", "`")


def entry(path: str, name: str) -> str:
    """The mark that mkdocstrings replaces by a name's documentation, and tables of its fields and methods."""
    file = SOURCE / f"{path.partition('.')[2] or '__init__'}.py"
    found = definition(file, name)
    mark = ENTRY.format(path=f"{path}.{name}", level=1)
    if not isinstance(found, ast.ClassDef):
        return mark
    parts = [f"{mark}      members: false\n"]
    if name not in OPAQUE:
        methods = methods_of(found)
        places = part_places(name)
        links = {
            f"[{each}]({places.get(each, '')}#{path}.{name}.{each})": methods[each]
            for each in methods
        }
        parts += [fields_of(found), rows_of("method", links)]
        parts += [
            ENTRY.format(path=f"{path}.{name}.{each}", level=2)
            for each in methods
            if each not in places
        ]
    return "\n".join(parts)


def part_places(name: str) -> dict[str, str]:
    """The pages of a class's methods, by method, as its first page names them."""
    return {
        method: f"{name.lower()}/{anchor_of(part)}.md"
        for part, methods in PARTS.get(name, {}).items()
        for method in methods.split()
    }


def part_pages() -> dict[str, str]:
    """The pages of classes that have several, by their places."""
    made = {}
    for name, parts in PARTS.items():
        for title, methods in parts.items():
            head = f"# {name}: {title.lower()}\n\n[ullage.{name}](../{name.lower()}.md)\n"
            entries = [
                ENTRY.format(path=f"ullage.{name}.{each}", level=2)
                for each in methods.split()
            ]
            made[f"reference/{name.lower()}/{anchor_of(title)}.md"] = "\n".join(
                [head, *entries]
            )
    return made


def rows_of(title: str, rows: Mapping[str, str]) -> str:
    """A table of names with a sentence for each; empty where there are none."""
    if not rows:
        return ""
    lines = [f"| {name} | {text} |" for name, text in rows.items()]
    return "\n".join(["", f"| {title} | what it is |", "|---|---|", *lines, ""])


def page(name: str) -> str:
    """The page of a name or a module, for mkdocstrings to fill in."""
    module, _, inner = name.partition(".")
    if inner:
        head = f"---\ntitle: {inner}\nsearch: {{boost: 0.4}}\n---\n"
        return f"{head}[ullage.{module}](../{module}.md)\n\n" + entry(
            f"ullage.{module}", inner
        )
    if name not in modules():
        return entry("ullage", name)
    file = SOURCE / f"{name}.py"
    links = {
        f"[{each}]({name}/{each.lower()}.md)": told(definition(file, each))
        for each in own_names(name)
    }
    parts = [f"# ullage.{name}\n", f"{ast.get_docstring(tree_of(file))}\n"]
    parts.append(rows_of("name", links))
    others = [each for each in names_in(name) if each in listed_names()]
    if others:
        named = ", ".join(f"[{each}]({each.lower()}.md)" for each in others)
        parts.append(f"It also gives {named}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(index(), "utf-8")
