"""Writes docs/reference.md: the public names, their signatures and docstrings, as the code has them.

uv run python -m scripts.make_reference
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any

import msgspec

import ullage

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"

HEAD = """# Reference

What `import ullage` gives, made from the docstrings by `uv run python -m scripts.make_reference`; a test compares them.
Everything else may change. The words that events and messages are made of are in [words.md](words.md), every setting
in [settings.md](settings.md), HTTP in [http.md](http.md).
"""


def page() -> str:
    """The whole page."""
    sections = [HEAD]
    for name in sorted(ullage.__all__, key=str.lower):
        sections += list(section(name, getattr(ullage, name)))
    return "\n".join(sections).rstrip() + "\n"


def section(name: str, thing: Any) -> Iterator[str]:
    """One public name: what it is, how it is made, and its public members."""
    yield f"## {name}\n"
    if inspect.isclass(thing):
        if not issubclass(thing, BaseException | msgspec.Struct):
            yield f"```text\n{name}{signature(thing)}\n```\n"
        yield prose(thing) + "\n"
        yield from members(thing)
    elif inspect.ismodule(thing):
        yield f"The module `ullage.{name}`. {prose(thing)}\n"
    elif isinstance(thing, UnionType):
        yield (
            "One of " + ", ".join(f"`{each.__name__}`" for each in thing.__args__) + ".\n"
        )
    else:
        yield f"```text\n{name}{signature(thing)}\n```\n"
        yield prose(thing) + "\n"


def members(kind: type) -> Iterator[str]:
    """Fields of a value, and the methods and properties that have a docstring of their own."""
    if issubclass(kind, msgspec.Struct):
        shown = [
            field.name for field in msgspec.structs.fields(kind) if field.name != "extra"
        ]
        yield f"Fields: {', '.join(f'`{each}`' for each in shown)}.\n"
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"**`{name}`** {prose(member)}\n"
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            function = (
                member.__func__
                if isinstance(member, classmethod | staticmethod)
                else member
            )
            if inspect.getdoc(function):
                called = "await " if inspect.iscoroutinefunction(function) else ""
                yield f"**`{called}{name}{signature(function, method=True)}`**\n\n{prose(function)}\n"


def signature(thing: Any, *, method: bool = False) -> str:
    """The signature as one line, without what only a type checker reads."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(…)"
    parameters = [
        each
        for each in found.parameters.values()
        if not (method and each.name in ("self", "cls"))
    ]
    plain = found.replace(parameters=parameters)
    return (
        re.sub(r"<[^<>]* at 0x[0-9a-f]+>|<factory>", "…", str(plain))
        .replace("''", '""')
        .replace("'", "")
    )


def prose(thing: Any) -> str:
    """A docstring as Markdown: code marks single, indented examples as code."""
    text = (inspect.getdoc(thing) or "").replace("``", "`")
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        indented = line.startswith("    ") and line.strip() != ""
        if indented and not is_code:
            lines.append("```text")
        if is_code and not indented and line.strip():
            lines.append("```")
        is_code = indented or (is_code and not line.strip())
        lines.append(line)
    return "\n".join(lines + (["```"] if is_code else []))


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE.name}: {len(ullage.__all__)} names")


if __name__ == "__main__":
    main()
