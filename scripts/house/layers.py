"""The floors of the house as tables, and the check of a file against them. The map is in CONTRIBUTING.md.

Three rules: a distribution imports what its ``pyproject.toml`` names, inside ``ullage`` and ``ullage-agent`` imports
point down, and the functional core does no I/O.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from scripts.house.source import PACKAGES, Source

TYPES = frozenset(
    {
        "bounds",
        "encoding",
        "envelope",
        "errors",
        "event_words",
        "events",
        "extensible",
        "messages",
        "provider",
        "similar",
        "usage",
    }
)
"""Files of ``ullage`` that are its floor ``types``."""

FLOORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ullage": (
        ("types", "directories", "guessing", "hosts", "upstreams"),
        ("installation", "display", "models", "tasks", "threads", "masking"),
        ("tokens", "reasoning", "turns", "loop_thread", "log_lines"),
        ("codec",),
        ("user_file", "isolation"),
        ("meter",),
        ("context", "checkpoint", "importers"),
        ("advice", "store", "wire"),
        ("picture",),
        ("metering", "watching"),
        ("compactor",),
        ("plugins",),
        (
            "compaction",
            "hooks",
            "measure",
            "server",
            "sessions",
            "storage",
            "testing",
            "tools",
        ),
        ("cli",),
        ("__main__",),
    ),
    "ullage_agent": (
        ("loop",),
        ("tools",),
        ("file_history",),
        ("runtime",),
        ("testing", "cli"),
        ("pytest_plugin",),
        ("chat",),
    ),
}
"""The packages of a distribution from the ground up. Each may import those of lower floors, and no neighbour."""

PURE = frozenset(
    {
        *(f"ullage/{name}" for name in ("types", "display", "models")),
        *(f"ullage/{name}" for name in ("tokens", "reasoning", "turns", "codec")),
        *(f"ullage/{name}" for name in ("meter", "context", "checkpoint", "advice")),
        "ullage/picture",
        "ullage_agent/loop",
    }
)
"""The functional core."""

PURE_PACKAGES = frozenset({"msgspec", "rich"})
"""What the core may import of others: both only make values of values."""

PURE_STDLIB = frozenset(
    {
        "__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "dataclasses",
        "datetime",
        "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "itertools", "json", "math",
        "numbers", "operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing", "unicodedata",
        "zlib",
    }
)  # fmt: skip
"""Modules of the standard library that the core may import: none of them does I/O."""

EXCEPTIONS: Mapping[str, frozenset[str]] = {
    # the two lines on estimate and actual, and the warning of the rows
    "ullage/meter/meter.py": frozenset({"logging"}),
    # reads the catalogue, once in a process
    "ullage/models/catalogue.py": frozenset({"logging", "pathlib"}),
    # reads the tables beside it, each once in a process
    "ullage/models/facts.py": frozenset({"pathlib"}),
    # loads the tokenizers at the first count
    "ullage/tokens/bpe.py": frozenset({"importlib"}),
}
"""Files of the core that may import more of the standard library.

A log record is an allowed effect, since no decision can depend on it (docs/why/index.md).
"""

LOADED = frozenset(
    f"ullage/{name}.py"
    for name in ("__init__", "hooks", "server", "sessions", "testing", "tools")
)
"""Files that name what other distributions hold, for type checkers; ``installation.part`` loads it."""

MODULES: Mapping[str, tuple[str, ...]] = {
    "google-adk": ("google",),
    "langchain": ("langchain", "langchain_core", "pydantic"),
    "mcp": ("mcp", "anyio"),
    "resvg-py": ("resvg_py",),
    "openai-agents": ("agents", "openai"),
    "opentelemetry-api": ("opentelemetry",),
    "opentelemetry-exporter-otlp-proto-http": ("opentelemetry",),
    "opentelemetry-sdk": ("opentelemetry",),
    "pydantic-ai-slim": ("pydantic_ai", "pydantic", "opentelemetry"),
    "restate-sdk": ("restate",),
}
"""What a package is imported as, where that is not its own name; with what it brings and shows in its own types."""

FOR_TYPES = frozenset({"typing_extensions"})
"""Read by type checkers alone, which bring it."""

MEANT = {
    "ullage": frozenset({"genai_prices", "uvloop"}),
    "ullage_agent": frozenset({"pytest"}),
}
"""What is used where it is installed: prices, for ``ullage models --refresh``; a quicker event loop; pytest, which
loads its plug-in itself."""

DOES_IO = frozenset(
    {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "hash"}
)
"""Built-in functions that the core does not call. ``hash`` differs between processes."""

LOADED_BEFORE = frozenset({"ullage/meter", "ullage/checkpoint"})
"""Packages that are given events and messages, and never a function that reads them: the caller loads them before, in
whatever way its store offers."""

CONTENT = frozenset({"Event", "Message"})

READS_THE_CLOCK = frozenset({"now", "utcnow", "today"})


class Violation(NamedTuple):
    file: str
    line: int
    what: str


class Import(NamedTuple):
    module: str
    line: int


class Distribution(NamedTuple):
    """A folder of ``packages``: the packages it holds, and what its files may import."""

    holds: frozenset[str]
    may_import: frozenset[str]


@cache
def distributions() -> Mapping[str, Distribution]:
    """Every distribution by its name, as its ``pyproject.toml`` describes it."""
    found = {}
    for file in sorted(PACKAGES.glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        extras = project.get("optional-dependencies", {}).values()
        needed = [*project["dependencies"], *(each for extra in extras for each in extra)]
        names = {re.split(r"[<>=\[;!~ ]", each)[0] for each in needed}
        holds = frozenset(
            path.name for path in (file.parent / "src").iterdir() if path.is_dir()
        )
        third = {
            module
            for name in names
            if not name.startswith("ullage")
            for module in MODULES.get(name, (name.replace("-", "_"),))
        }
        below = {
            re.split(r"[<>=\[]", each)[0]
            for each in (
                project["dependencies"] if project["name"] == "ullage" else needed
            )
            if each.startswith("ullage")
        }
        found[project["name"]] = Distribution(holds, frozenset(third | below))
    return found


@cache
def allowed(package: str) -> frozenset[str]:
    """The packages that files of a top-level package may import, those of lower distributions among them."""
    name = next(
        (name for name, each in distributions().items() if package in each.holds), ""
    )
    return _reached(name) if name else frozenset()


def _reached(name: str) -> frozenset[str]:
    distribution = distributions()[name]
    lower = [each for each in distribution.may_import if each in distributions()]
    return distribution.holds | distribution.may_import.union(*map(_reached, lower))


def package_of(file: str) -> str:
    """The package that a file belongs to, as in ``ullage/meter`` or ``ullage/types``."""
    top, *below = file.removesuffix(".py").split("/")
    first = below[0] if below else ""
    if top == "ullage" and first in TYPES:
        return "ullage/types"
    return f"{top}/{first}" if first and first != "__init__" else top


def imports(nodes: Iterable[ast.AST]) -> Iterator[Import]:
    """Every import among the nodes of a tree, those in functions and under ``TYPE_CHECKING`` among them."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (Import(name.name, node.lineno) for name in names)
            case ast.ImportFrom(level=level, module=module) if level:
                yield Import("." * level + (module or ""), node.lineno)
            case ast.ImportFrom(module="ullage", names=names):
                yield from (Import(f"ullage.{name.name}", node.lineno) for name in names)
            case ast.ImportFrom(module=str(module)):
                yield Import(module, node.lineno)


def faults(files: Sequence[Source]) -> Iterator[str]:
    """What files do against the rules, and the first circle of imports."""
    for source in files:
        for found in violations(source):
            yield f"{found.file}:{found.line}: {found.what}"
    circle = cycle({source.name: source.nodes for source in files})
    if circle:
        yield f"these import each other in a circle: {' -> '.join(circle)}"


def violations(source: Source) -> Iterator[Violation]:
    """What one file does against the rules."""
    file, package = source.name, package_of(source.name)
    top = file.partition("/")[0]
    if not allowed(top):
        yield Violation(file, 1, f"the package {top} is of no distribution")
        return
    if top in FLOORS and "/" in package and _floor(package) is None:
        yield Violation(
            file,
            1,
            f"the package {package!r} is not on the map: add it to FLOORS and CONTRIBUTING.md",
        )
        return
    for found in () if file in LOADED else imports(source.nodes):
        what = _objection(file, package, found)
        if what:
            yield Violation(file, found.line, what)
    if package in PURE:
        yield from _impure_calls(source)
    if package in LOADED_BEFORE:
        yield from _functions_that_read(source)


def _floor(package: str) -> int | None:
    top, _, name = package.partition("/")
    floors = FLOORS.get(top, ())
    return next((n for n, names in enumerate(floors) if name in names), None)


def _objection(file: str, package: str, found: Import) -> str:
    top = found.module.partition(".")[0]
    own = file.partition("/")[0]
    if found.module.startswith("."):
        return "a relative import"
    if top in sys.stdlib_module_names:
        may = package not in PURE or top in PURE_STDLIB or top in EXCEPTIONS.get(file, ())
        return "" if may else f"{package} is in the core and may not import {top}"
    if top.startswith("ullage"):
        return _objection_to_ours(own, package, found.module)
    if package in PURE and top not in PURE_PACKAGES:
        return f"{package} is in the core and may not import {top}"
    known = allowed(own) | FOR_TYPES | MEANT.get(own, frozenset())
    return (
        "" if top in known else f"{own} does not depend on the third-party package {top}"
    )


def _objection_to_ours(own: str, package: str, module: str) -> str:
    top, *below = module.split(".")
    if top not in allowed(own):
        return f"{own} does not depend on {top}"
    target = package_of("/".join([top, *below[:1]]))
    if top == "ullage" and (not below or _floor(target) is None):
        return f"{module}: imports a public name; take it from the file that defines it"
    if top != own or target == package:
        return ""
    here, there = _floor(package), _floor(target)
    if here is None or there is None or there < here:
        return ""
    return f"{package} may not import {target}"


def _impure_calls(source: Source) -> Iterator[Violation]:
    for node in source.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in DOES_IO:
                yield Violation(source.name, node.lineno, f"calls {name}()")
            case ast.Call(func=ast.Attribute(attr=name)) if name in READS_THE_CLOCK:
                yield Violation(source.name, node.lineno, f"reads the clock: .{name}()")


def _functions_that_read(source: Source) -> Iterator[Violation]:
    """Types of functions that give events or messages."""
    for node in source.nodes:
        match node:
            case ast.Subscript(
                value=ast.Name(id="Callable"), slice=ast.Tuple(elts=[*_, given])
            ):
                if CONTENT & {
                    name.id for name in ast.walk(given) if isinstance(name, ast.Name)
                }:
                    yield Violation(
                        source.name,
                        node.lineno,
                        "takes a function that reads events or messages",
                    )
            case ast.AsyncFunctionDef(name=name):
                yield Violation(source.name, node.lineno, f"{name} waits for something")


def cycle(files: Mapping[str, Iterable[ast.AST]]) -> list[str]:
    """One circle of imports between files by their nodes, as module names; empty when there is none."""
    modules = {_module(file): file for file in files if file not in LOADED}
    graph = {
        module: sorted({*_targets(files[file])} & modules.keys() - {module})
        for module, file in modules.items()
    }
    done: set[str] = set()

    def walk(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for target in graph[module]:
            if found := walk(target, [*path, module]):
                return found
        done.add(module)
        return []

    return next((found for module in graph if (found := walk(module, []))), [])


def _targets(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules a file may mean by its imports: ``from a.b import c`` is ``a.b`` and perhaps ``a.b.c``."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{name.name}" for name in names)


def _module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
