"""The rules about files that no linter knows: imports, names, messages, documents.

    uv run python -m scripts.house

Each rule is a file of this folder, and tests/house plants what it finds.
"""

import sys
from collections.abc import Iterator, Sequence

from scripts.house import (
    beside,
    commands,
    documents,
    first_use,
    layers,
    messages,
    private_files,
    provider_names,
    recipes,
    tasks,
    user_documents,
    wire_names,
    words,
)
from scripts.house.source import of_all_packages, of_programs, of_ullage

OF_IMPORTS = (layers, beside)
OF_SOURCES = (first_use, provider_names, wire_names, tasks, messages)
OF_DOCUMENTS = (documents, commands, recipes, user_documents, words)


def faults() -> Iterator[str]:
    """What stands in the repository against any rule, as ``file:line: what``."""
    for rule in OF_IMPORTS:
        yield from rule.faults(of_ullage())
    for rule in OF_SOURCES:
        yield from rule.faults((*of_ullage(), *of_programs()))
    yield from private_files.faults(of_all_packages())
    for rule in OF_DOCUMENTS:
        yield from rule.faults()


def report(found: Sequence[str]) -> int:
    """Print what was found, and give the exit code."""
    print("\n".join(found) or "all rules are kept")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(report(list(faults())))
