"""Asks PyPI's advisories whether a locked dependency has a known weakness.

    uv run python -m scripts.audit

Exits with 1 for a known weakness, and where the lock can't be exported or pip-audit is broken. Where the advisories
can't be reached it says so and exits with ``NOT_CHECKED``: no failure of the project, and no success either.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.repository import ROOT

NOT_CHECKED = 75
"""The exit code of a check that could not be made (EX_TEMPFAIL of sysexits.h)."""

LONGEST_S = 300.0
EXPORT = ("uv", "export", "--quiet", "--locked", "--no-emit-project", "--no-hashes")
APART = ("google-adk", "litellm")
"""Extras that are locked apart from the development group (``[tool.uv] conflicts``)."""
EXPORTS = (
    (
        "--all-extras",
        *(f"--no-extra={extra}" for extra in APART),
        "--all-groups",
    ),
    *((f"--extra={extra}", "--no-default-groups") for extra in APART),
)
AUDIT = (
    "uv",
    "run",
    "--quiet",
    "--with",
    "pip-audit>=2.9,<3",
    "pip-audit",
    "--no-deps",
    "--disable-pip",
)


UNREACHED = re.compile(
    r"connect|timed out|resolve|unreachable|certificate|proxy|\b(?:403|407|50[234])\b|failed to fetch",
    re.IGNORECASE,
)
"""What uv and pip-audit say where the index or the advisories do not answer."""


class Broken(Exception):
    """The check itself does not work: that is a failure."""


class Finding(NamedTuple):
    """What the advisories say of all packages. ``unasked`` are those they gave no answer for."""

    weak: tuple[str, ...]
    unasked: tuple[str, ...]
    asked: int


def read_report(report: Mapping[str, Any]) -> Finding:
    """The finding in pip-audit's JSON report."""
    packages: Sequence[Mapping[str, Any]] = report.get("dependencies") or ()
    unasked = tuple(package["name"] for package in packages if "skip_reason" in package)
    weak = [
        _described(package, known)
        for package in packages
        for known in package.get("vulns", ())
    ]
    return Finding(tuple(weak), unasked, len(packages) - len(unasked))


def _described(package: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    fixed = ", ".join(known["fix_versions"]) or "no version"
    return f"{package['name']} {package['version']}: {known['id']}, fixed in {fixed}"


def verdict(finding: Finding) -> tuple[int, str]:
    """The exit code, and what to print."""
    if finding.weak:
        return (
            1,
            "Dependencies with known weaknesses; update them with `uv lock --upgrade-package NAME`:\n  "
            + "\n  ".join(finding.weak),
        )
    if finding.unasked or not finding.asked:
        what = f"{len(finding.unasked)} packages" if finding.asked else "the dependencies"
        return (
            NOT_CHECKED,
            f"NOT CHECKED: PyPI's advisories gave no answer for {what}. Run it again with network access.",
        )
    return 0, f"{finding.asked} packages, no known weakness"


def audit() -> Finding | str:
    """The finding over all that is locked, or why there is none."""
    found = Finding((), (), 0)
    for which in EXPORTS:
        one = _audit(which)
        if isinstance(one, str):
            return one
        found = Finding(
            tuple(dict.fromkeys((*found.weak, *one.weak))),
            tuple(dict.fromkeys((*found.unasked, *one.unasked))),
            found.asked + one.asked,
        )
    return found


def _audit(which: Sequence[str]) -> Finding | str:
    """The finding over what one export of the lock names."""
    with tempfile.TemporaryDirectory() as directory:
        locked = Path(directory) / "requirements.txt"
        report = Path(directory) / "report.json"
        try:
            subprocess.run(
                [*EXPORT, *which, "--output-file", str(locked)],
                cwd=ROOT,
                check=True,
                capture_output=True,
            )
            command = [
                *AUDIT,
                "--requirement",
                str(locked),
                "--format",
                "json",
                "--output",
                str(report),
            ]
            done = subprocess.run(
                command,
                cwd=ROOT,
                check=False,
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
            )
            return read_report(json.loads(report.read_text("utf-8")))
        except subprocess.TimeoutExpired:
            return f"pip-audit did not end within {LONGEST_S:g} s"
        except subprocess.CalledProcessError as problem:
            said = problem.stderr.decode(errors="replace").strip()
            raise Broken(f"uv can't export the lock: {said}") from problem
        except (OSError, ValueError) as problem:
            return unreported(done.stderr, problem)


def unreported(printed: str, problem: Exception) -> str:
    """Why there is no report, where the advisories were not reached. Raises ``Broken`` for any other reason."""
    last = (printed.strip().splitlines() or ["it gave no report"])[-1]
    if not UNREACHED.search(printed):
        raise Broken(f"pip-audit failed: {last}") from problem
    return f"pip-audit reached nothing: {last}"


def main() -> int:
    try:
        found = audit()
    except Broken as why:
        print(why)
        return 1
    if isinstance(found, str):
        print(f"NOT CHECKED: {found}.")
        return NOT_CHECKED
    code, said = verdict(found)
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main())
