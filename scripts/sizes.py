"""Lists files over 500 lines and functions over 60: a signal to look at, never a failure.

uv run python -m scripts.sizes
"""

import ast
from collections.abc import Iterator

from scripts.repository import ROOT, committed

FILE_LINES = 500
FUNCTION_LINES = 60


def large(name: str, source: str) -> Iterator[str]:
    """What of one file is larger than usual, as ``file:line: what``."""
    lines = source.count("\n") + 1
    if lines > FILE_LINES:
        yield f"{name}:1: {lines} lines"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines"


def all_large() -> list[str]:
    """What is larger than usual in all of the repository's Python."""
    files = [path for path in committed() if path.suffix == ".py"]
    return [
        each
        for path in files
        for each in large(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]


if __name__ == "__main__":
    print("\n".join(all_large()) or "nothing is larger than usual")
