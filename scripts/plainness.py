"""Measures how plainly the source reads, and fails where a figure is above its limit.

    uv run python -m scripts.plainness

Counts the Python files of the packages (``src/`` and ``packages/*/src/``). A type name is a top-level class or a
capitalised alias; it has several meanings if more than one file defines it. Docstrings, comments and generated files
are not lines of code.
"""

import ast
import io
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from scripts.repository import ROOT, committed

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Figures(NamedTuple):
    """What is measured, of all sources together."""

    names_with_several_meanings: float
    tokens_per_line: float
    conditional_expressions: float
    """Per 1,000 lines of code."""
    comprehensions: float
    """Per 1,000 lines of code."""


LIMITS = Figures(
    names_with_several_meanings=0,
    tokens_per_line=7.45,
    conditional_expressions=23,
    comprehensions=21.5,
)
"""No figure may exceed its limit. Lower a limit when its figure has fallen; never raise one."""

NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip


class CodeCount(NamedTuple):
    """What one file adds to the figures."""

    lines: int
    tokens: int
    conditional_expressions: int
    comprehensions: int


def package_sources() -> dict[str, str]:
    """The text of the packages' Python files, by their place in the repository."""
    sources = {}
    for path in committed():
        place = path.relative_to(ROOT)
        in_package = place.parts[0] == "src" or (
            place.parts[0] == "packages" and "src" in place.parts[:-1]
        )
        if path.suffix == ".py" and in_package:
            sources[place.as_posix()] = path.read_text("utf-8")
    return sources


def type_names(tree: ast.Module) -> Iterator[str]:
    """Classes and capitalised aliases that a file defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        elif isinstance(node, ast.AnnAssign):
            target = node.target
        else:
            continue
        if (
            isinstance(target, ast.Name)
            and target.id[0].isupper()
            and not target.id.isupper()
        ):
            yield target.id


def homonyms(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Type names that more than one file defines, with these files; the most frequent first."""
    files_of = defaultdict(set)
    for name, source in sources.items():
        for type_name in type_names(ast.parse(source)):
            files_of[type_name].add(name)
    shared = [
        (type_name, sorted(files))
        for type_name, files in files_of.items()
        if len(files) > 1
    ]
    shared.sort(key=lambda pair: (-len(pair[1]), pair[0]))
    return dict(shared)


def docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of all docstrings, those below constants included."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            continue
        for statement in node.body:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                lines.update(
                    range(
                        statement.lineno, (statement.end_lineno or statement.lineno) + 1
                    )
                )
    return lines


def is_generated(name: str, source: str) -> bool:
    """Whether a file holds generated data, which is no code to be read."""
    return "catalogue" in name or "generated" in source[:300].lower()


def count_code(source: str) -> CodeCount:
    """The lines and tokens of one file that are code."""
    tree = ast.parse(source)
    prose = docstring_lines(tree)
    lines: set[int] = set()
    tokens = 0
    for token in whole_strings(source):
        if token.type in NO_CODE or token.start[0] in prose:
            continue
        tokens += 1
        lines.update(range(token.start[0], token.end[0] + 1))
    nodes = list(ast.walk(tree))
    conditional = sum(isinstance(node, ast.IfExp) for node in nodes)
    comprehensions = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    return CodeCount(len(lines), tokens, conditional, comprehensions)


def whole_strings(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a file; a formatted string is one, as Python 3.11 has it."""
    first, last = (getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END"))
    opened: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == first:
            opened.append(token)
        elif token.type == last:
            begun = opened.pop()
            if not opened:
                yield begun._replace(type=tokenize.STRING, end=token.end)
        elif not opened:
            yield token


def measure(sources: Mapping[str, str]) -> Figures:
    """The figures of these files."""
    counts = [
        count_code(source)
        for name, source in sources.items()
        if not is_generated(name, source)
    ]
    lines = max(1, sum(count.lines for count in counts))
    return Figures(
        names_with_several_meanings=len(homonyms(sources)),
        tokens_per_line=sum(count.tokens for count in counts) / lines,
        conditional_expressions=1000
        * sum(count.conditional_expressions for count in counts)
        / lines,
        comprehensions=1000 * sum(count.comprehensions for count in counts) / lines,
    )


def above(figures: Figures, limits: Figures) -> list[str]:
    """The figures that exceed their limits, by name."""
    return [
        name for name in Figures._fields if getattr(figures, name) > getattr(limits, name)
    ]


def main() -> int:
    """Print the names with their files and each figure with its limit, and give the exit code."""
    sources = package_sources()
    for type_name, files in homonyms(sources).items():
        print(f"{type_name} {len(files)}: {', '.join(files)}")
    figures = measure(sources)
    too_high = above(figures, LIMITS)
    for name in Figures._fields:
        verdict = "ABOVE THE LIMIT" if name in too_high else "limit"
        print(
            f"{getattr(figures, name):8.2f}  {name.replace('_', ' ')} ({verdict} {getattr(LIMITS, name):g})"
        )
    return 1 if too_high else 0


if __name__ == "__main__":
    sys.exit(main())
