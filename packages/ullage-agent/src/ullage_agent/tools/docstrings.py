"""What a docstring says to a model: the description, and a line for each parameter.

Google's, NumPy's and reST's ways of writing parameters are read; in any other, the whole text is the description.
https://google.github.io/styleguide/pyguide.html#383-functions-and-methods,
https://numpydoc.readthedocs.io/en/latest/format.html#parameters,
https://www.sphinx-doc.org/en/master/usage/domains/python.html#info-field-lists
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "other parameters", "keyword args"}
)
_DROPPED = frozenset({"raises", "warns", "see also", "references"})
"""Sections that are for the programmer and are left out."""

_GOOGLE_HEAD = re.compile(r"^(?P<name>[A-Z][A-Za-z ]{2,24}):\s*$")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\(.*?\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r"^[:@](?P<kind>\w+)(?:\s+(?P<what>[^:]*))?:\s*(?P<text>.*)$")
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_RESULT_FIELDS = frozenset({"return", "returns"})


class Described(NamedTuple):
    """A description, and what is said of the parameters by name."""

    text: str
    parameters: dict[str, str]


class _Section(NamedTuple):
    name: str
    lines: list[str]
    is_indented: bool = False
    """Google's way: it ends with the first line at the margin. NumPy's ends with the next heading."""


def read_docstring(docstring: str | None) -> Described:
    """The description without the parts on parameters and exceptions. Never raises."""
    sections = _sections(inspect.cleandoc(docstring or "").splitlines())
    parameters: dict[str, str] = {}
    kept: list[str] = []
    for section in sections:
        if section.name in _PARAMETERS:
            parameters |= dict(_entries(section.lines))
        elif section.name not in _DROPPED:
            kept += _without_fields(section.lines, parameters)
    return Described(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), parameters)


def _sections(lines: list[str]) -> list[_Section]:
    """The text cut at its headings; headings of sections that are kept stay in their lines."""
    found = [_Section("", [])]
    at = 0
    while at < len(lines):
        name, size = _heading(lines, at)
        if name:
            is_kept = name not in _PARAMETERS | _DROPPED
            found.append(
                _Section(
                    name, lines[at : at + size] if is_kept else [], is_indented=size == 1
                )
            )
            at += size
            continue
        if found[-1].is_indented and lines[at][:1].strip():
            found.append(_Section("", []))
        found[-1].lines.append(lines[at])
        at += 1
    return found


def _heading(lines: list[str], at: int) -> tuple[str, int]:
    """Name of the section that begins at this line, in small letters, and how many lines its heading takes."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    if len(below) >= 3 and set(below) == {"-"} and lines[at][:1].strip():
        return lines[at].strip().lower(), 2
    match = _GOOGLE_HEAD.match(lines[at])
    if match and below[:1].isspace() and below.strip():
        return match["name"].lower(), 1
    return "", 0


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Parameters with their texts: ``name: text`` with deeper lines behind it, or ``name : type`` over its text."""
    margin = min((_indent(line) for line in lines if line.strip()), default=0)
    names: list[str] = []
    texts: list[str] = []
    for line in lines:
        body = line.strip()
        if not body or _indent(line) > margin:
            texts.append(body)
            continue
        yield from ((name, _joined(texts)) for name in names)
        names, texts = _entry(body, is_numpy=margin == 0)
    yield from ((name, _joined(texts)) for name in names)


def _entry(body: str, *, is_numpy: bool) -> tuple[list[str], list[str]]:
    if is_numpy:
        match = _NUMPY_ENTRY.match(body)
        names = match["names"].split(",") if match else []
        return [name.strip(" *") for name in names], []
    match = _GOOGLE_ENTRY.match(body)
    if match is None:
        return [], []
    return [match["name"]], [match["text"]]


def _without_fields(lines: list[str], parameters: dict[str, str]) -> list[str]:
    """The lines but for reST fields; what those say of parameters is put down, what of the result is kept."""
    kept: list[str] = []
    texts: list[str] | None = None
    ends: list[tuple[str, list[str]]] = []
    for line in lines:
        match = _FIELD.match(line)
        if match:
            texts = [match["text"]]
            if match["kind"] in _PARAMETER_FIELDS and match["what"]:
                ends.append((match["what"].split()[-1].strip("*"), texts))
            elif match["kind"] in _RESULT_FIELDS:
                ends.append(("", texts))
        elif texts is not None and (line[:1].isspace() and line.strip()):
            texts.append(line.strip())
        else:
            texts = None
            kept.append(line)
    for name, body in ends:
        if name:
            parameters[name] = _joined(body)
        else:
            kept += ["", f"Returns: {_joined(body)}"]
    return kept


def _joined(texts: list[str]) -> str:
    return " ".join(text for text in texts if text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
