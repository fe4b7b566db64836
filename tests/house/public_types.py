"""The types that public signatures name, found by the names in their annotations."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, get_overloads

import ullage
from scripts.reference_pages import OPAQUE

MODULES = sorted(
    f"ullage.{name}"
    for name in dir(ullage)
    if isinstance(getattr(ullage, name), types.ModuleType)
)
"""The public modules."""

FROM_OTHERS = frozenset(
    {
        "Override",
        "Question",
        "Result",
        "Session",
        "SyncSession",
        "SyncTextStream",
        "TextStream",
    }
)
"""Classes that a user is given and never makes: their constructors are no promise."""


def is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("ullage")


def public_names() -> dict[str, object]:
    """Every public object by its full name."""
    found: dict[str, object] = {}
    for module in ("ullage", *MODULES):
        loaded = import_module(module)
        for name in names_of(loaded):
            found[f"{module}.{name}"] = getattr(loaded, name)
    return found


def names_of(module: types.ModuleType) -> list[str]:
    """What a public module gives: what it lists, what it imports under the same name, or what it defines."""
    if listed := getattr(module, "__all__", None):
        return [name for name in listed if f"ullage.{name}" not in MODULES]
    tree = ast.parse(inspect.getsource(module))
    given = [
        each.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.asname == each.name
    ]
    if given:
        return given
    nodes = (node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign))  # fmt: skip
    named = [
        node.targets[0].id  # type: ignore[attr-defined]
        if isinstance(node, ast.Assign)
        else node.name
        for node in nodes
    ]
    return [name for name in named if not name.startswith("_")]


def signatures(value: object) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """``(where, annotations, module)`` of a public object: of its fields, methods and their overloads."""
    if inspect.isfunction(value):
        for each in (value, *get_overloads(value)):
            yield value.__name__, each.__annotations__, each.__module__
    if not isinstance(value, type):
        return
    for base in (each for each in value.__mro__ if is_ours(each)):
        fields = {
            name: kind
            for name, kind in inspect.get_annotations(base).items()
            if not name.startswith("_")
        }
        yield value.__name__, fields, base.__module__
        for name, member in vars(base).items():
            is_made = name == "__init__" and value.__name__ not in FROM_OTHERS
            if name.startswith("_") and not is_made:
                continue
            inner = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if inspect.isfunction(inner):
                for where, hints, module in signatures(inner):
                    yield f"{value.__name__}.{where}", hints, module


def named_types(annotation: object, module: str) -> Iterator[tuple[str, object]]:
    """Ours of the objects that an annotation names. One that only type checkers import has no object."""
    text = annotation if isinstance(annotation, str) else repr(annotation)
    text = getattr(annotation, "__name__", text)
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Name):
            found = getattr(sys.modules[module], node.id, None)
            if isinstance(found, type | types.UnionType | types.GenericAlias) or is_alias(
                found
            ):
                yield node.id, found


def is_alias(value: object) -> bool:
    return type(value).__module__ == "typing" and type(value).__name__ in (
        "_UnionGenericAlias",
        "_CallableGenericAlias",
        "_GenericAlias",
    )


def hidden_types(values: Iterable[object]) -> dict[str, str]:
    """Types in the signatures of these objects that no public module names, with a place where each is named."""
    known = {id(value) for value in public_names().values()}
    hidden: dict[str, str] = {}
    for value in values:
        if not is_ours(value) or getattr(value, "__name__", "") in OPAQUE:
            continue
        for where, hints, module in signatures(value):
            for parameter, annotation in hints.items():
                for name, found in named_types(annotation, module):
                    own = not isinstance(found, type) or is_ours(found)
                    if own and id(found) not in known:
                        hidden[f"{name} ({getattr(found, '__module__', '')})"] = (
                            f"{where}({parameter})"
                        )
    return hidden


def undocumented() -> dict[str, list[str]]:
    """Parameters of public functions and methods that their ``Args`` leave out.

    A method that overrides one of a public class is documented there, and a constructor by its class.
    """
    names = public_names()
    classes = {value for value in names.values() if isinstance(value, type)}
    found: dict[str, list[str]] = {}
    for full, value in names.items():
        if is_ours(value) and inspect.isfunction(value):
            found[full] = _left_out(value, value.__doc__)
        if not is_ours(value) or not isinstance(value, type):
            continue
        for name, member in vars(value).items():
            function = getattr(member, "__func__", member)
            if not inspect.isfunction(function) or value.__name__ in OPAQUE:
                continue
            bases = set(value.__mro__[1:]) & classes
            if name == "__init__" and _is_made_by_users(value, function):
                found[full] = _left_out(function, value.__doc__)
            if name.startswith("_") or any(hasattr(base, name) for base in bases):
                continue
            found[f"{full}.{name}"] = _left_out(function, function.__doc__)
    return {name: left for name, left in found.items() if left}


def _is_made_by_users(value: type, function: types.FunctionType) -> bool:
    is_written = function.__code__.co_filename != "<string>"  # and not a dataclass's
    is_own = function.__module__ == value.__module__  # and not a Protocol's
    return is_written and is_own and value.__name__ not in FROM_OTHERS


def _left_out(function: types.FunctionType, docstring: str | None) -> list[str]:
    text = inspect.cleandoc(docstring or "")
    (section,) = re.findall(r"^Args:\n((?:    .*\n?|\n)+)", text, re.M) or [""]
    named = set(re.findall(r"^    (\w+): ", section, re.M))
    parameters = inspect.signature(function).parameters.keys() - {"self", "cls"}
    return sorted(parameters - named)
