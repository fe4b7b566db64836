"""The record of what was changed in other programs' files: ``installed.json`` beside the settings of the status line.

It is written before a file is changed. After a crash between the two the file lacks the change, which both commands
notice.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ullage.cli.installing.splice import CannotEdit
from ullage.store.private_file import replace_file

LARGEST = 10_000_000


class InstalledChange(msgspec.Struct, frozen=True):
    """One change of one file."""

    client: str
    kind: str
    path: str
    before: str
    after: str
    keys: tuple[str, ...] = ()
    """Where a JSON value was set, for files that were changed since; empty for other files."""
    value: msgspec.Raw = msgspec.Raw(b"null")
    is_item: bool = False
    """Whether the value is an item of the list at ``keys``."""
    made_file: bool = False
    made_directories: tuple[str, ...] = ()
    project: str = ""
    """The directory that the file may not leave by a link; empty for a file of the user's own."""


class InstalledChanges(msgspec.Struct, frozen=True):
    """All of them, in the order in which they were made."""

    version: int = 1
    changes: tuple[InstalledChange, ...] = ()


_RECORD = msgspec.json.Decoder(InstalledChanges)


def record_file(directory: Path) -> Path:
    return directory / "installed.json"


def read_record(directory: Path) -> InstalledChanges:
    """What is installed. Raises ``CannotEdit`` when the record can't be read: without it nothing can be taken back."""
    path = record_file(directory)
    try:
        if path.stat().st_size > LARGEST or not path.is_file():
            raise CannotEdit(f"{path} is no record of this program. Move it away.")
        return _RECORD.decode(path.read_bytes())
    except FileNotFoundError:
        return InstalledChanges()
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise CannotEdit(
            f"The record of what was installed, {path}, can't be read ({problem}). "
            "Repair it, or move it away; what it lists then stays in the programs' files"
        ) from None


def write_record(directory: Path, record: InstalledChanges) -> None:
    """Replaces the record, which only the user may read: it can hold an earlier address or command."""
    encoded = msgspec.json.format(msgspec.json.encode(record)) + b"\n"
    directory.mkdir(parents=True, exist_ok=True)
    replace_file(record_file(directory).resolve(), encoded)
