"""What is read out of each log of ``fixtures``: ``python -m tests.importers.ledgers`` writes ``expected`` anew.

A ledger begins with what its session is, then has a line for each event.
"""

import os
import sys
from dataclasses import fields
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory

import msgspec

from tests.importers.folding import FIXTURES, fold
from tests.importers.opencode_database import make_database
from ullage.encoding import encode
from ullage.importers.detect import read

LEDGERS = Path(__file__).parent / "expected"
LOGS = {
    f"{path.parent.name}-{path.stem}": path
    for path in sorted(FIXTURES.glob("*/*.json*"))
    if path.is_file()
}
NAMES = (*LOGS, "opencode")


def _dated(name: str, place: Path) -> Path:
    """The log, as old as it is everywhere: some logs say nothing of when a call was made."""
    log = LOGS.get(name)
    if log is None:
        return make_database(place / "opencode.db")
    copied = place / log.parent.name / log.name
    copytree(log.parent, copied.parent)
    os.utime(copied, (1_700_000_000, 1_700_000_000))
    return copied


def ledger_of(name: str) -> str:
    """What is read out of this log now."""
    with TemporaryDirectory() as place:
        session = read(_dated(name, Path(place)))
    fold(session.events, session.format)
    about = {
        field.name: getattr(session, field.name)
        for field in fields(session)
        if field.name not in ("events", "path")
    }
    lines = (msgspec.json.encode(about), *map(encode, session.events))
    return "".join(line.decode() + "\n" for line in lines)


if __name__ == "__main__":
    for each in NAMES:
        (LEDGERS / f"{each}.jsonl").write_text(ledger_of(each), encoding="utf-8")
        sys.stdout.write(f"{each}\n")
