"""What a docstring says to a model: the description, and a line for each parameter.

Google's, NumPy's and reST's ways of writing parameters are read; in any other, the whole text is the description.
https://google.github.io/styleguide/pyguide.html#383-functions-and-methods,
https://numpydoc.readthedocs.io/en/latest/format.html#parameters,
https://www.sphinx-doc.org/en/master/usage/domains/python.html#info-field-lists
"""

from __future__ import annotations

import inspect
import itertools
import re
from typing import NamedTuple

_PARAMETERS = frozenset(
    {"args", "arguments", "parameters", "params", "other parameters", "keyword args"}
)
_DROPPED = frozenset({"raises", "warns", "see also", "references"})
"""Sections that are for the programmer and are left out."""

_GOOGLE_HEADING = re.compile(r"([A-Z][A-Za-z ]{2,24}):\s*")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")
_FIELD = re.compile(r"[:@](?P<kind>\w+)(?:\s+(?P<what>[^:]*))?:\s*(?P<text>.*)")
_PARAMETER_FIELDS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_RESULT_FIELDS = frozenset({"return", "returns"})


class Described(NamedTuple):
    """A description, and what is said of the parameters by name."""

    text: str
    parameters: dict[str, str]


def read_docstring(docstring: str | None) -> Described:
    """The description without the parts on parameters and exceptions. Never raises."""
    reader = _DocstringReader()
    lines = [*inspect.cleandoc(docstring or "").splitlines(), ""]
    for line, below in itertools.pairwise(lines):
        reader.take(line, below)
    text = "\n".join(" ".join(filter(None, parts)) for parts in reader.kept)
    parameters = {
        name: " ".join(filter(None, parts)) for name, parts in reader.parameters.items()
    }
    return Described(re.sub(r"\n{3,}", "\n\n", text).strip(), parameters)


class _DocstringReader:
    """What was read so far. ``texts`` is what a parameter or a field says, while its lines go on."""

    def __init__(self) -> None:
        self.kept: list[list[str]] = []
        self.parameters: dict[str, list[str]] = {}
        self.texts: list[str] | None = None
        self.section = ""
        self.is_google = False
        self.margin: int | None = None
        """How far the entries of the section are indented."""

    def take(self, line: str, below: str) -> None:
        heading = _heading(line, below)
        if heading:
            self.section, self.margin, self.texts = heading, None, None
            self.is_google = line.rstrip().endswith(":")
        elif self.is_google and line[:1].strip():  # the first line at the margin
            self.section, self.is_google = "", False
        if self.section in _DROPPED:
            return
        if self.section not in _PARAMETERS:
            self.take_text(line)
        elif not heading and line.strip(" -"):
            self.take_entry(line)

    def take_entry(self, line: str) -> None:
        """A line of ``name: text``, or of ``name : type`` over its text; further lines are deeper."""
        indent = len(line) - len(line.lstrip())
        if self.margin is None:
            self.margin = indent
        if indent > self.margin and self.texts is not None:
            self.texts.append(line.strip())
            return
        pattern = _GOOGLE_ENTRY if self.is_google else _NUMPY_ENTRY
        match = pattern.fullmatch(line.strip())
        self.texts = [match[2]] if match else []
        for name in match[1].split(",") if match else ():
            self.parameters[name.strip(" *")] = self.texts

    def take_text(self, line: str) -> None:
        """A line of the description, or a field of reST; of a result the text is kept."""
        match = _FIELD.match(line)
        if match:
            self.texts = [match["text"]]
            if match["kind"] in _PARAMETER_FIELDS and match["what"]:
                self.parameters[match["what"].split()[-1].strip("*")] = self.texts
            elif match["kind"] in _RESULT_FIELDS:
                self.texts.insert(0, "Returns:")
                self.kept += [[""], self.texts]
        elif self.texts is not None and line[:1].isspace() and line.strip():
            self.texts.append(line.strip())
        else:
            self.texts = None
            self.kept.append([line])


def _heading(line: str, below: str) -> str:
    """Name of the section that begins at this line, in small letters."""
    if len(below) >= 3 and set(below) == {"-"} and line[:1].strip():
        return line.strip().lower()
    match = _GOOGLE_HEADING.fullmatch(line)
    is_indented = below[:1].isspace() and bool(below.strip())
    return match[1].lower() if match and is_indented else ""
