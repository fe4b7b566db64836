"""What Ullage keeps is the user's alone: each place that makes a file does so through a function that sees to it."""

import ast
import re
from collections.abc import Iterator, Sequence

from scripts.house.source import Source, unneeded

ELSEWHERE = {
    "ullage/cli/__init__.py": "the null device",
    "ullage_agent/chat/commands.py": "/export: a document with the name that the user gave it",
    "ullage_cluster/cli/cluster.py": "in a new directory that is the user's alone",
    "ullage_cluster/cli/local_postgres.py": "the log of a database in a new directory",
    "ullage_cluster/cli/local_restate.py": "an empty lock, settings and a log in the cluster's directory",
    "ullage_proxy/cli/relaying.py": "in the directory of one run, which is the user's alone",
    "ullage_agent/cli/simulated.py": "the files that the demonstration reads, in a directory of its own",
    "ullage_proxy/cli/wrap.py": "in the directory of one run, which is the user's alone",
    "ullage_server/requests.py": "in the directory of one upload, which is the user's alone",
}
"""Places that make files in other ways, and why that may be."""

WRITERS = (".write_text", ".write_bytes")
MODE = re.compile("[wax][bt+]*")


def files_made(source: Source) -> Iterator[int]:
    """The lines of calls that make a file with whatever permissions the process gives it."""
    for node in source.nodes:
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


def faults(files: Sequence[Source]) -> Iterator[str]:
    """Places that make files which other users of the machine can read, and exceptions that are not needed."""
    making = set()
    for source in files:
        lines = list(files_made(source))
        if lines:
            making.add(source.name)
        if source.name not in ELSEWHERE:
            for line in lines:
                yield f"{source.name}:{line}: use store/private_file.py"
    yield from unneeded(ELSEWHERE, making, "ELSEWHERE of scripts/house/private_files.py")
