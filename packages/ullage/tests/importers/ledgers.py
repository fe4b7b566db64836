"""What is read out of each log of ``fixtures``: ``python -m tests.importers.ledgers`` writes ``expected`` anew.

A ledger begins with what its session is, then has a line for each event.
"""

import sys
from dataclasses import fields
from pathlib import Path
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


def ledger_of(name: str) -> str:
    """What is read out of this log now."""
    with TemporaryDirectory() as place:
        path = LOGS.get(name) or make_database(Path(place) / "opencode.db")
        session = read(path)
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
