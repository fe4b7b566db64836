"""Which tests start a program, as their code says: what a test uses of the tests' own code is followed.

A test is given the mark ``program`` for it (tests/everywhere.py). What this does not see, a test of the first tier
fails for when it runs: see tests/guard.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import pytest

STARTING: Final = frozenset({"multiprocessing", "pty", "subprocess"})
"""Modules that are used in order to start programs."""

STARTERS: Final = frozenset(
    {
        "create_subprocess_exec",
        "create_subprocess_shell",
        "fork",
        "forkpty",
        "posix_spawn",
        "sync_playwright",
    }
)
"""What does so of other modules."""

OURS: Final = (
    "ullage_agent.chat.attaching",
    "ullage_cluster.cli.cluster",
    "ullage.cli.foreground",
    "ullage_cluster.cli.local_",
    "ullage_proxy.cli.relaying",
    "ullage_programs.codex.client",
    "ullage_proxy.metering.metering_process",
    "ullage_agent.tools.builtin",
    "ullage_agent.tools.files.search",
    "ullage_agent.tools.mcp",
    "ullage_agent.tools.processes",
    "ullage_agent.tools.sandbox",
    "ullage_agent.tools.shell",
    "ullage_programs.line.compose",
)
"""Our modules whose functions and classes start programs, and single functions; names, or their beginnings."""

FOLLOWED: Final = frozenset({"bench", "scripts", "tests"})
"""Top-level packages whose functions and classes are followed."""

BACKENDS: Final = frozenset({"postgres", "restate"})
"""Parameters of tests: what a test tries is a server of its own."""

KINDS: Final = BACKENDS | {"sqlite", "memory", "local"}
OF_ALL_KINDS: Final = ("place", "database")
"""Endings of the names of fixtures that serve every kind, so that their code says nothing of the one that is tried."""

_known: dict[object, bool] = {}


def starts_program(item: pytest.Item) -> bool:
    """Whether a test's function, or a fixture that it asks for, starts a program."""
    if not isinstance(item, pytest.Function):
        return False
    callspec = getattr(item, "callspec", None)
    parameters = {str(each) for each in callspec.params.values()} if callspec else set()
    if parameters & BACKENDS or reaches(item.obj):
        return True
    asked = item.fixturenames
    if parameters & KINDS:
        asked = [name for name in asked if not name.endswith(OF_ALL_KINDS)]
    known = item._fixtureinfo.name2fixturedefs
    return any(reaches(known[name][-1].func) for name in asked if name in known)


def reaches(found: object) -> bool:
    """Whether the code of a function or class of the tests starts a program, by itself or by what it uses of them."""
    seen: set[object] = set()
    open_ones: list[object] = [found]
    while open_ones:
        each = open_ones.pop()
        try:
            if each in seen:
                continue
            seen.add(each)
        except TypeError:
            continue
        if is_starter(each) or _known.get(each, False):
            _known[found] = True
            return True
        if each not in _known and is_of_the_tests(each):
            open_ones.extend(used_by(each))
    _known.update((each, False) for each in seen)
    return False


def is_starter(found: object) -> bool:
    """Whether something is used in order to start programs."""
    if isinstance(found, ModuleType):
        return found.__name__.partition(".")[0] in STARTING
    module = getattr(found, "__module__", None) or ""
    place = f"{module}.{getattr(found, '__qualname__', '')}"
    return module in STARTING or place.startswith(OURS)


def is_of_the_tests(found: object) -> bool:
    """Whether something is a function or class of the tests, or of the programs beside them."""
    if isinstance(found, partial):
        return True
    module = getattr(found, "__module__", None) or ""
    return module.partition(".")[0] in FOLLOWED and callable(found)


def used_by(found: Any) -> Iterator[object]:
    """What stands in the code of a function, or in the functions of a class, by its name."""
    if isinstance(found, partial):
        yield found.func
    elif isinstance(found, type):
        yield from found.__bases__
        for each in vars(found).values():
            yield from used_by(getattr(each, "__func__", getattr(each, "fget", each)))
    elif isinstance(unwrapped := getattr(found, "__wrapped__", found), FunctionType):
        for code in codes(unwrapped.__code__):
            yield from named_in(code, unwrapped.__globals__)


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def named_in(code: CodeType, names: dict[str, object]) -> Iterator[object]:
    """The values of the names that a piece of code uses, and those of a module of the tests that it uses by dots."""
    used: Iterable[str] = code.co_names
    for name in used:
        if name in STARTERS:
            yield _STARTER
        value = names.get(name)
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in FOLLOWED:
            yield from (vars(value).get(each) for each in used)
        elif value is not None:
            yield value


_STARTER: Final = ModuleType("subprocess")
