"""What Ullage keeps is the user's alone: each place that makes a file does so through a function that sees to it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"

ELSEWHERE = {
    "ullage/cli/__init__.py": "the null device",
    "ullage/cli/chat/commands.py": "/export: a document with the name that the user gave it",
    "ullage/cli/cluster.py": "in a new directory that is the user's alone",
    "ullage/cli/local_postgres.py": "the log of a database in a new directory",
    "ullage/cli/local_restate.py": "an empty lock, settings and a log in the cluster's directory",
    "ullage/cli/relaying.py": "in the directory of one run, which is the user's alone",
    "ullage/cli/simulated.py": "the files that the demonstration reads, in a directory of its own",
    "ullage/cli/wrap.py": "in the directory of one run, which is the user's alone",
    "ullage/server/requests.py": "in the directory of one upload, which is the user's alone",
}
"""Places that make files in other ways, and why that may be."""

WRITERS = (".write_text", ".write_bytes")
MODE = re.compile("[wax][bt+]*")


def files_made(tree: ast.AST) -> Iterator[int]:
    """The lines of calls that make a file with whatever permissions the process gives it."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
        is_open = called in ("open", "to_thread") and any(
            isinstance(text, str) and MODE.fullmatch(text) for text in texts
        )
        is_opener = any(keyword.arg == "opener" for keyword in node.keywords)
        is_written = isinstance(node.func, ast.Attribute) and f".{called}" in WRITERS
        is_passed = any(ast.unparse(each).endswith(WRITERS) for each in node.args)
        if (is_open and not is_opener) or is_written or is_passed:
            yield node.lineno


def test_no_file_is_made_that_other_users_of_the_machine_can_read() -> None:
    found = set()
    for path in sorted(SOURCES.rglob("*.py")):
        name = str(path.relative_to(SOURCES))
        lines = list(files_made(ast.parse(path.read_text("utf-8"))))
        if lines:
            found.add(name)
            assert name in ELSEWHERE, f"{name}, lines {lines}: use store/private_file.py"
    assert found == set(ELSEWHERE), f"no longer: {set(ELSEWHERE) - found}"
