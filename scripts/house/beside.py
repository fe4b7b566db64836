"""What starts quickly or stands alone: each imports only what is on its list."""

import re
import sys
from collections.abc import Iterator, Sequence

from scripts.house.layers import FLOORS, imports, package_of
from scripts.house.source import Source, of_all_packages

OURS: dict[str, frozenset[str]] = {
    # the folders of other programs, with the status lines that these start
    "ullage_programs/": frozenset({"ullage_programs"}),
    # a process of its own: beside h11 it loads these files of ``ullage``, which load little
    "ullage_proxy/relay/": frozenset(
        {
            "ullage_proxy",
            "h11",
            "ullage.bounds",
            "ullage.guessing",
            "ullage.hosts",
            "ullage.log_lines",
            "ullage.upstreams",
        }
    ),
    # it would share the mistakes of what it tests
    "ullage_simulators/": frozenset(
        {"ullage_simulators", "msgspec", "starlette", "uvicorn"}
    ),
}
"""The packages and modules that files of each folder may import beside the standard library."""

QUICK = frozenset(
    {
        "__future__",
        "collections",
        "functools",
        "importlib",
        "io",
        "json",
        "os",
        "re",
        "stat",
        "sys",
        "typing",
    }
)
"""What a status line may load of the standard library: it starts with each message of its program."""

MORE = {
    # only where the ledger is asked
    "ullage_programs/claude_code/asked.py": {"signal", "subprocess"},
    # only where the user has an earlier status line
    "ullage_programs/line/compose.py": {"subprocess"},
    # only of a program whose settings are TOML
    "ullage_programs/settings.py": {"tomllib"},
}
"""Files that may import more of it."""

READERS = re.compile(r"ullage_programs/\w+/(log\w*|client)\.py")
"""Files of a program's folder that read its log, or change its settings, with what ``ullage`` has; nothing that starts
quickly loads them."""

READ_WITH = frozenset(
    f"ullage/{name}"
    for floor in FLOORS["ullage"][
        : 1 + [("importers" in f) for f in FLOORS["ullage"]].index(True)
    ]
    for name in floor
)
"""The packages of ``ullage`` that they may import: ``importers`` and what is below it."""

CLIENT_WITH = READ_WITH | {"ullage/store", "ullage/cli"}
"""The same for ``client.py``, which commands load."""


def faults_of(folder: str, files: Sequence[Source]) -> Iterator[str]:
    """What the files of one folder import that they may not."""
    found = [source for source in files if source.name.startswith(folder)]
    if not found:
        yield f"{folder} has no Python file: name its place in OURS"
    for source in found:
        reads = bool(READERS.fullmatch(source.name))
        for each in imports(source.nodes):
            if not _may(folder, source.name, each.module, reads=reads):
                yield f"{source.name}:{each.line}: may not import {each.module}"


def _may(folder: str, file: str, module: str, *, reads: bool) -> bool:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        is_quick = folder != "ullage_programs/" or reads
        return is_quick or top in QUICK | MORE.get(file, set())
    read_with = CLIENT_WITH if file.endswith("/client.py") else READ_WITH
    package = package_of("/".join(module.split(".")[:2]))
    if reads and (top == "msgspec" or package in read_with):
        return True
    return top in OURS[folder] or any(
        f"{module}.".startswith(f"{each}.") for each in OURS[folder]
    )


def faults(files: Sequence[Source]) -> Iterator[str]:
    """What any of them imports that it may not."""
    for folder in OURS:
        yield from faults_of(folder, of_all_packages())
