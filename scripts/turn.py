"""Which third of the sweeps this commit's run of ``.ci/run`` tries, so that three landings try them all.

    uv run python -m scripts.turn           0, 1 or 2, or all
    uv run python -m scripts.turn --take    take the next turn: writes .ci/turn; commit it last, by itself or with more

``.ci/turn`` has a number. A commit takes a turn if its number is one more than its first parent has, and then its run
tries the third of this number; the run of any other commit tries all. So the same commit always tries the same cases,
and whoever lands without taking a turn leaves nothing out. Three landings in a row have three numbers in a row, or one
of them tried all.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from scripts.repository import ROOT

PLACE: Final = Path(".ci", "turn")
THIRDS: Final = 3
ALL: Final = "all"


def number(root: Path, revision: str) -> int | None:
    """The number of a commit; ``None`` where there is no such commit, or no number in it."""
    shown = subprocess.run(
        ["git", "show", f"{revision}:{PLACE.as_posix()}"],
        cwd=root,
        check=False,
        capture_output=True,
        text=True,
    )
    text = shown.stdout.strip()
    return int(text) if shown.returncode == 0 and text.isdecimal() else None


def turn(root: Path) -> str:
    """The third that is tried at the commit that is checked out, or ``ALL``."""
    now, before = number(root, "HEAD"), number(root, "HEAD~1")
    if now is None or before is None or now != before + 1:
        return ALL
    return str(now % THIRDS)


def take(root: Path, landed: str = "main") -> str:
    """Write the number after that of the last landing; says what to do next."""
    last = number(root, landed)
    if last is None:
        last = number(root, "HEAD") or 0
    if number(root, "HEAD") == last + 1:
        return (
            f"Turn {last + 1} is taken. Rebase, so that the commit with it is the last."
        )
    (root / PLACE).write_text(f"{last + 1}\n", "utf-8")
    return f"Turn {last + 1}: commit {PLACE.as_posix()} as the last before it lands."


if __name__ == "__main__":
    print(take(ROOT) if "--take" in sys.argv else turn(ROOT))
