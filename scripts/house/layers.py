"""The layers of the package as tables, and the check of a file against them. The map is in CONTRIBUTING.md."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scripts.house.source import Source

TYPES = frozenset(
    {
        "errors",
        "extensible",
        "messages",
        "usage",
        "events",
        "event_words",
        "encoding",
        "envelope",
        "bounds",
        "directories",
        "similar",
    }
)
PUBLIC = frozenset({"__init__", "compaction"})
"""Files that only give names to users; nothing in the package imports them."""

CORE = frozenset(
    {
        "display",
        "models",
        "tokens",
        "reasoning",
        "meter",
        "context",
        "codec",
        "agent",
        "checkpoint",
        "advice",
    }
)
SHELL = frozenset({"wire", "tools", "store", "importers"})
PURE = {"types"} | CORE

MAY_IMPORT: dict[str, frozenset[str]] = {
    "types": frozenset(),
    "display": frozenset(),
    "models": frozenset({"types"}),
    "tokens": frozenset({"types", "models"}),
    "reasoning": frozenset({"types", "models"}),
    "codec": frozenset({"types", "models", "reasoning"}),
    "meter": frozenset({"types", "display", "models", "tokens", "reasoning", "codec"}),
    "checkpoint": frozenset({"types", "models", "tokens", "reasoning", "meter"}),
    "context": frozenset({"types", "models", "tokens", "reasoning", "codec", "meter"}),
    "advice": frozenset(
        {"types", "models", "tokens", "reasoning", "codec", "meter", "context"}
    ),
    "agent": frozenset({"types", *(CORE - {"agent"})}),
    "installation": frozenset(),
    "tasks": frozenset(),
    "loop_thread": frozenset({"types", "tasks"}),
    "wire": frozenset({"types", "installation", "tasks", *CORE}),
    "tools": frozenset({"types", "installation", "tasks", "loop_thread", *CORE}),
    "store": frozenset({"types", "installation", "tasks", "loop_thread", *CORE}),
    "importers": frozenset({"types", *CORE}),
    "runtime": frozenset(
        {"types", "installation", "tasks", "loop_thread", *CORE, *SHELL}
    ),
    "server": frozenset({"types", "installation", "tasks", "runtime", *CORE, *SHELL}),
    "cli": frozenset(
        {
            "types",
            "installation",
            "tasks",
            "loop_thread",
            "runtime",
            "server",
            *CORE,
            *SHELL,
        }
    ),
    "plugins": frozenset(
        {"types", "installation", "tasks", "runtime", "server", *CORE, *SHELL}
    ),
    "the public names": frozenset(
        {"types", "runtime", "store", "tools", "server", "plugins", *CORE}
    ),
}
"""Each package, and the packages that it may import besides itself. ``the public names`` are ``PUBLIC``."""

PURE_STDLIB = frozenset(
    {
        "__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "dataclasses",
        "datetime",
        "decimal", "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "html", "itertools", "json", "math",
        "numbers", "operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing", "unicodedata",
        "zlib",
    }
)  # fmt: skip
"""Modules of the standard library that the types and the core may import: none of them does I/O."""

PACKAGES: dict[str, frozenset[str]] = {
    **dict.fromkeys(PURE | SHELL, frozenset({"msgspec"})),
    **dict.fromkeys(
        ("advice", "importers", "meter"), frozenset({"msgspec", "ullage_programs"})
    ),
    "loop_thread": frozenset({"uvloop"}),  # where it is installed
    # asyncpg for a URL of PostgreSQL; of the programs how a file is replaced
    "store": frozenset({"msgspec", "asyncpg", "ullage_programs"}),
    "display": frozenset({"rich"}),  # loaded when a reading is printed with it
    "wire": frozenset(
        {"msgspec", "httpx2", "pydantic_ai", "pydantic"}
    ),  # the bridge loads pydantic_ai when it is asked for
    # MCP's own SDK, loaded when a server is asked for; RE2 by the program that searches; typing_extensions is read by
    # type checkers alone, which bring it
    "tools": frozenset({"msgspec", "mcp", "anyio", "httpx2", "re2", "typing_extensions"}),
    "the public names": frozenset(),
    # opentelemetry by ``telemetry.py`` alone, when it is asked for; of the relay the frames; typing_extensions by type
    # checkers alone, which bring it
    # httpx2, restate and hypercorn by the dispatch through Restate, the last two when a worker serves it
    "runtime": frozenset(
        {
            "msgspec",
            "opentelemetry",
            "typing_extensions",
            "ullage_programs",
            "ullage_relay",
            "httpx2",
            "restate",
            "hypercorn",
        }
    ),
    # opentelemetry by ``traces.py`` alone, where there is a collector; of the relay how a Host is read
    "server": frozenset(
        {
            "msgspec",
            "litestar",
            "uvicorn",
            "h11",
            "prometheus_client",
            "opentelemetry",
            "ullage_relay",
        }
    ),
    # each framework in the file that is for it; of the relay a limit
    "plugins": frozenset(
        {
            "msgspec",
            "ullage_relay",
            "agents",
            "google",
            "litellm",
            "langchain",
            "langchain_core",
            "openai",
            "opentelemetry",
            "pydantic",
            "pydantic_ai",
        }
    ),
    "cli": frozenset(
        {
            "msgspec",
            "rich",
            "textual",
            "tomlkit",
            "ullage_simulators",
            "ullage_programs",
            "ullage_relay",
            "genai_prices",
            "opentelemetry",  # ``exporting.py`` alone, where there is a collector
            "mcp",  # ``mcp_server.py`` alone, when it is started
        }
    ),
}
"""The third-party packages that a package may import. A new one is also a line in docs/why/dependencies.md."""

EXCEPTIONS: dict[str, frozenset[str]] = {
    "meter/meter.py": frozenset(
        {"logging"}
    ),  # the two lines on estimate and actual, and the warning of the rows
    "directories.py": frozenset(
        {"os", "sys", "pathlib"}
    ),  # the user's places, of which nothing is read
    "models/catalogue.py": frozenset(
        {"logging", "pathlib"}
    ),  # reads the catalogue, once in a process
    "tokens/bpe.py": frozenset(
        {"importlib", "pathlib"}
    ),  # finds and loads one compiled module without its package
}
"""Files of the core that may import more of the standard library.

A log record is an allowed effect, since no decision can depend on it (docs/why/index.md).
"""

DOES_IO = frozenset(
    {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "hash"}
)
"""Built-in functions that the core does not call. ``hash`` differs between processes."""

LOADED_BEFORE = frozenset({"meter", "checkpoint"})
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


def package_of(file: str) -> str:
    """The package a file belongs to, from its path below ``src/ullage``."""
    first = file.split("/", maxsplit=1)[0].removesuffix(".py")
    if first in PUBLIC:
        return "the public names"
    if first == "__main__":
        return "cli"
    return "types" if first in TYPES else first


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
    if package not in MAY_IMPORT:
        yield Violation(
            file,
            1,
            f"the package {package!r} is not on the map: add it to MAY_IMPORT and CONTRIBUTING.md",
        )
        return
    for found in imports(source.nodes):
        what = _objection(file, package, found)
        if what:
            yield Violation(file, found.line, what)
    if package in PURE:
        yield from _impure_calls(source)
    if package in LOADED_BEFORE:
        yield from _functions_that_read(source)


def _objection(file: str, package: str, found: Import) -> str:
    top, *below = found.module.split(".")
    if found.module.startswith("."):
        return "a relative import"
    if top == "ullage":
        target = package_of(below[0]) if below else "the public names"
        if target not in MAY_IMPORT:
            return f"{found.module}: imports a public name; take it from the file that defines it"
        return (
            ""
            if target == package or target in MAY_IMPORT[package]
            else f"{package} may not import {target}"
        )
    if top in sys.stdlib_module_names:
        allowed = (
            package not in PURE or top in PURE_STDLIB or top in EXCEPTIONS.get(file, ())
        )
        return "" if allowed else f"{package} is in the core and may not import {top}"
    return (
        ""
        if top in PACKAGES[package]
        else f"{package} may not import the third-party package {top}"
    )


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


def cycle(files: Mapping[str, Iterable[ast.AST]], package: str = "ullage") -> list[str]:
    """One circle of imports between files by their nodes, as module names; empty when there is none."""
    modules = {_module(file, package): file for file in files if file != "__init__.py"}
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


def _module(file: str, package: str) -> str:
    return ".".join(
        [
            package,
            *file.removesuffix(".py").removesuffix("__init__").strip("/").split("/"),
        ]
    ).rstrip(".")
