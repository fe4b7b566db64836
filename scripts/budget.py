"""The budget of code: how many tokens each package may have, and all of them together.

    uv run python -m scripts.budget            measure; fails where a package has more than its budget
    uv run python -m scripts.budget --lower    lower the budgets to what the packages have now

``scripts/budget.toml`` has the numbers. They only fall: their sum may not exceed that of the commit before, unless
``[capabilities]`` there names what came new, and how many tokens it needed. Tokens are counted by ``count_code`` of
``scripts/plainness.py``: those of Python on lines that are no docstring, comments apart; a generated file has none.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from scripts.plainness import count_code, is_generated, package_sources
from scripts.repository import ROOT

PLACE: Final = Path("scripts", "budget.toml")
BEFORE: Final = ("HEAD", "HEAD~1")
"""Before a commit the working tree has what will be new, after it the commit itself."""


class Budget(NamedTuple):
    """Tokens by package, and those that new capabilities needed, by capability."""

    packages: Mapping[str, int]
    capabilities: Mapping[str, int]

    @property
    def total(self) -> int:
        """What all packages may have together."""
        return sum(self.packages.values())


def package_of(name: str) -> str:
    """The top-level package of a source file: the folder below ``src``."""
    return name.rpartition("src/")[2].partition("/")[0]


def tokens_by_package(sources: Mapping[str, str]) -> dict[str, int]:
    """How many tokens of code each package has."""
    found: Counter[str] = Counter()
    for name, source in sources.items():
        tokens = 0 if is_generated(name, source) else count_code(source).tokens
        found[package_of(name)] += tokens
    return dict(sorted(found.items()))


def read(text: str) -> Budget:
    """The budget in a file's text."""
    tables = tomllib.loads(text)
    return Budget(tables["packages"], tables.get("capabilities", {}))


def write(budget: Budget) -> str:
    """The text of a budget's file."""
    lines = [
        "# Tokens of code by package: python -m scripts.budget. The sum only falls.",
        "[packages]",
        *(f"{name} = {tokens}" for name, tokens in budget.packages.items()),
        "",
        "# What came new and could not be paid for by removing something: its name, and its tokens.",
        "[capabilities]",
        *(f'"{name}" = {tokens}' for name, tokens in budget.capabilities.items()),
    ]
    return "\n".join(lines) + "\n"


def overdrawn(found: Mapping[str, int], budget: Budget) -> Iterator[str]:
    """What has more tokens than it may have, and which budgets are of no package."""
    for name, tokens in found.items():
        allowed = budget.packages.get(name, 0)
        if tokens > allowed:
            yield f"{name} has {tokens:,} tokens of code, {tokens - allowed:,} above its budget of {allowed:,}"
    for name in sorted(set(budget.packages) - set(found)):
        yield f"{name} has a budget in {PLACE} and no code"


def raised(now: Budget, before: Budget) -> Iterator[str]:
    """Why this budget may not follow that one."""
    new = sum(now.capabilities.values()) - sum(before.capabilities.values())
    more = now.total - before.total - new
    if more > 0:
        yield f"the budgets of all packages have grown by {more:,} tokens: they only fall"


def lowered(found: Mapping[str, int], budget: Budget) -> Budget:
    """The budget as low as the packages are now; a package that has more keeps its own."""
    packages = {
        name: min(tokens, budget.packages.get(name, 0)) for name, tokens in found.items()
    }
    return budget._replace(packages=packages)


def committed(root: Path) -> Iterator[Budget]:
    for revision in BEFORE:
        shown = subprocess.run(
            ["git", "show", f"{revision}:{PLACE.as_posix()}"],
            cwd=root,
            check=False,
            capture_output=True,
            text=True,
        )
        if shown.returncode == 0:
            yield read(shown.stdout)


def faults(found: Mapping[str, int], root: Path) -> list[str]:
    """What stands against the budget of a repository."""
    budget = read((root / PLACE).read_text("utf-8"))
    problems = list(overdrawn(found, budget))
    for before in committed(root):
        problems += [each for each in raised(budget, before) if each not in problems]
    return problems


def main() -> int:
    """Print each package with its budget, and give the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lower", action="store_true", help="write the numbers of now")
    is_lowering = options.parse_args().lower
    found = tokens_by_package(package_sources())
    place = ROOT / PLACE
    if is_lowering:
        place.write_text(write(lowered(found, read(place.read_text("utf-8")))), "utf-8")
    budget = read(place.read_text("utf-8"))
    for name, tokens in found.items():
        print(f"{tokens:9,}  {name} (budget {budget.packages.get(name, 0):,})")
    print(f"{sum(found.values()):9,}  tokens of code in all (budget {budget.total:,})")
    problems = faults(found, ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
