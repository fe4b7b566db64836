"""What is to be changed, and carrying it out: one file at a time, recorded, and taken back to the byte."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from ullage.cli.installing import jsonc, toml
from ullage.cli.installing.record import (
    InstalledChange,
    InstalledChanges,
    read_record,
    write_record,
)
from ullage.cli.installing.splice import CannotEdit, Splice, taken_back
from ullage.store.private_file import replace_file

LARGEST = 4_000_000
"""Bytes of a configuration file; a larger one is none."""

_BETWEEN_VALUES = " \n\t,:[]{}"


class PlannedChange(NamedTuple):
    """A change that a client's installation needs."""

    client: str
    kind: str
    path: Path
    splice: Callable[[str], Splice | None]
    """The change of a text; ``None`` when the text needs none. May raise ``CannotEdit``."""
    keys: tuple[str, ...] = ()
    value: object = None
    is_item: bool = False
    wanted: str = ""
    """The whole text of a file that is all ours."""


def whole_file(
    client: str,
    kind: str,
    path: Path,
    content: str,
) -> PlannedChange:
    """A file of our own. One that is there already stays as it is."""

    def splice(text: str) -> Splice:
        if text:
            raise CannotEdit("a file of that name is there already")
        return Splice(
            0,
            "",
            content,
        )

    return PlannedChange(
        client,
        kind,
        path,
        splice,
        wanted=content,
    )


def plugin(name: str) -> str:
    """The text of a plugin that ships with this package."""
    return (Path(__file__).parent / "plugins" / name).read_text("utf-8")


def setting(
    client: str,
    kind: str,
    path: Path,
    keys: Sequence[str],
    value: object,
) -> PlannedChange:
    """A value in a configuration file; in a TOML file, a text."""
    splice = partial(format_of(path).setting, path=keys, value=value)
    return PlannedChange(client, kind, path, splice, tuple(keys), value)


def json_item(
    client: str,
    kind: str,
    path: Path,
    keys: Sequence[str],
    item: object,
) -> PlannedChange:
    """An item of a list in a JSON file, unless the list holds it."""

    def splice(text: str) -> Splice | None:
        found = jsonc.value_at(text, keys)
        if isinstance(found, list) and item in found:
            return None
        return jsonc.appending(
            text,
            keys,
            item,
        )

    return PlannedChange(
        client,
        kind,
        path,
        splice,
        tuple(keys),
        item,
        is_item=True,
    )


class ConfigurationFormat(Protocol):
    """What ``jsonc`` and ``toml`` have in common."""

    def is_object(self, text: str) -> bool: ...

    def value_at(self, text: str, path: Sequence[str]) -> Any: ...

    def setting(self, text: str, path: Sequence[str], value: Any) -> Splice: ...

    def removing(
        self,
        text: str,
        path: Sequence[str],
        value: object,
        before: str,
        *,
        is_item: bool,
    ) -> str | None: ...


def format_of(path: Path) -> ConfigurationFormat:
    """How a file is written, by its name."""
    if path.suffix == ".toml":
        return toml
    return jsonc


def configured(path: Path, keys: Sequence[str]) -> Any:
    """The value in a configuration file; ``None`` where there is none. Raises ``CannotEdit`` with the file's name."""
    text = text_of(path)
    try:
        return format_of(path).value_at(text, keys)
    except CannotEdit as problem:
        raise CannotEdit(f"{path}: {problem}") from None


def own_status_line(
    client: str, path: Path, keys: Sequence[str], command: str
) -> PlannedChange:
    """A status line where there is none. Raises ``CannotEdit`` for one of the user's own, which ours would replace."""
    found = configured(path, keys)
    if found is not None and "ullage_programs" not in str(found):
        where = ".".join(keys)
        raise CannotEdit(f"{path}: it has another status line, {where}, which would go")
    wanted = {"type": "command", "command": command}
    return setting(client, "statusline", path, keys, wanted)


class ChangeOutcome(NamedTuple):
    """What became of one change, in a sentence, and the difference that it makes to the file."""

    message: str
    difference: str = ""
    failed: bool = False


class ConfigurationEditor:
    """Carries out changes and takes them back. ``directory`` holds the record.

    Files below ``project`` stay there: a link that leads out of it is not followed.
    """

    def __init__(
        self,
        directory: Path,
        *,
        dry_run: bool = False,
        project: Path | None = None,
    ) -> None:
        self.directory = directory
        self.dry_run = dry_run
        self.project = project

    def install(self, change: PlannedChange) -> ChangeOutcome:
        """Make a change, or find that it is made."""
        project = ""
        if self.project is not None and change.path.is_relative_to(self.project):
            project = str(self.project)
        _refuse_leaving(change.path, project)
        record = read_record(self.directory)
        old = _entry(record, change)
        text = read_text(change.path)
        what = f"{change.kind} in {change.path}"
        if _is_in_place(
            change,
            old,
            text,
        ):
            return ChangeOutcome(f"{what}: already installed")
        if old is not None:
            text, record = self._without(
                old,
                text,
                record,
            )
        splice = change.splice(text)
        if splice is None:
            return ChangeOutcome(f"{what}: nothing to do")
        changed = splice.apply(text)
        found = InstalledChange(
            client=change.client,
            kind=change.kind,
            path=str(change.path),
            before=splice.before,
            after=splice.after,
            keys=change.keys,
            value=msgspec.Raw(msgspec.json.encode(change.value)),
            is_item=change.is_item,
            made_file=not change.path.exists() or _made_file(record, change.path),
            made_directories=_missing_directories(change.path),
            project=project,
        )
        difference = _difference(
            change.path,
            read_text(change.path),
            changed,
        )
        if self.dry_run:
            return ChangeOutcome(f"{what}: would be changed", difference)
        added = (*record.changes, found)
        earlier = read_record(self.directory)
        write_record(self.directory, msgspec.structs.replace(record, changes=added))
        try:
            _rewrite(change.path, changed)
        except OSError:
            write_record(self.directory, earlier)
            raise
        return ChangeOutcome(f"{what}: installed", difference)

    def uninstall(
        self,
        client: str,
        kinds: frozenset[str],
    ) -> list[ChangeOutcome]:
        """Take back what was installed for a client, or the kinds that hold one of the words; the last first."""
        record = read_record(self.directory)
        outcomes = []
        for entry in reversed(record.changes):
            is_wanted = not kinds or any(word in entry.kind for word in kinds)
            if entry.client == client and is_wanted:
                outcomes.append(self._take_back(entry))
        return outcomes

    def _take_back(self, entry: InstalledChange) -> ChangeOutcome:
        path = Path(entry.path)
        _refuse_leaving(path, entry.project)
        what = f"{entry.kind} in {path}"
        text = read_text(path)
        restored = _restored(entry, text)
        if restored is None:
            self._forget(entry)
            if not text:
                return ChangeOutcome(f"{what}: not there any more, nothing to do")
            return ChangeOutcome(
                f"{what}: changed since it was installed, so it stays as it is. "
                f"Edit {path} by hand if it should go."
            )
        difference = _difference(
            path,
            text,
            restored,
        )
        if self.dry_run:
            return ChangeOutcome(f"{what}: would be taken back", difference)
        if entry.made_file and restored.strip() in ("", "{}"):
            path.resolve().unlink(missing_ok=True)
            _remove_empty(entry.made_directories)
        else:
            _rewrite(path, restored)
        self._forget(entry)
        return ChangeOutcome(f"{what}: taken back", difference)

    def _forget(self, entry: InstalledChange) -> None:
        if self.dry_run:
            return
        record = read_record(self.directory)
        left = tuple(each for each in record.changes if each != entry)
        write_record(self.directory, msgspec.structs.replace(record, changes=left))

    def _without(
        self,
        old: InstalledChange,
        text: str,
        record: InstalledChanges,
    ) -> tuple[str, InstalledChanges]:
        """The text and the record without an earlier installation of the same change."""
        restored = _restored(old, text)
        left = tuple(each for each in record.changes if each != old)
        record = msgspec.structs.replace(record, changes=left)
        return (text if restored is None else restored), record


def _refuse_leaving(path: Path, project: str) -> None:
    real = os.path.realpath(path)
    if project and not Path(real).is_relative_to(os.path.realpath(project)):
        raise CannotEdit(
            f"{path} is a link, or lies behind one, that leads out of the project to {real}"
        )


def read_text(path: Path) -> str:
    """The text of a configuration file that is to be changed; raises ``CannotEdit`` also where that is forbidden."""
    text = text_of(path)
    try:
        if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
            raise CannotEdit(f"{path} is read-only (`chmod u+w` changes that)")
    except OSError as problem:
        raise CannotEdit(f"{path} can't be read: {problem.strerror}") from None
    return text


def text_of(path: Path) -> str:
    """The text of a configuration file; empty when it is missing. Raises ``CannotEdit`` for anything else."""
    try:
        if path.exists() and not path.is_file():
            raise CannotEdit(f"{path} is no regular file")
        if path.exists() and path.stat().st_size > LARGEST:
            raise CannotEdit(f"{path} is larger than {LARGEST:,} bytes")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise CannotEdit(f"{path} is not UTF-8 text") from None
    except OSError as problem:
        raise CannotEdit(f"{path} can't be read: {problem.strerror}") from None


def _rewrite(path: Path, text: str) -> None:
    """Replaces a configuration file, through a symbolic link, with the permissions that it had.

    A new file is the user's alone: an address in it may hold a token.
    """
    real = path.resolve()
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    replace_file(real, text.encode(), mode=mode)


def _restored(entry: InstalledChange, text: str) -> str | None:
    """The text with a change taken back: to the byte where it stands as it was made, else by its meaning."""
    restored = taken_back(
        text,
        entry.before,
        entry.after,
    )
    if not entry.keys:
        return restored
    written = format_of(Path(entry.path))
    if restored is not None and written.is_object(restored):
        return restored
    value = msgspec.json.decode(entry.value)
    try:
        return written.removing(
            text,
            entry.keys,
            value,
            entry.before,
            is_item=entry.is_item,
        )
    except CannotEdit:
        return None


def _is_in_place(
    change: PlannedChange,
    old: InstalledChange | None,
    text: str,
) -> bool:
    """Whether the text holds what the change would put there, whoever put it there."""
    if not change.keys:
        return old is not None and text == change.wanted
    found = format_of(change.path).value_at(text, change.keys)
    if change.is_item:
        return isinstance(found, list) and change.value in found
    return bool(found == change.value)


def _made_file(record: InstalledChanges, path: Path) -> bool:
    return any(each.made_file for each in record.changes if each.path == str(path))


def _entry(record: InstalledChanges, change: PlannedChange) -> InstalledChange | None:
    for entry in record.changes:
        same = (entry.client, entry.kind) == (change.client, change.kind)
        if same and entry.path == str(change.path):
            return entry
    return None


def _missing_directories(path: Path) -> tuple[str, ...]:
    return tuple(str(each) for each in path.parents if not each.exists())


def _remove_empty(directories: tuple[str, ...]) -> None:
    for each in directories:
        try:
            Path(each).rmdir()
        except OSError:
            return


def _difference(
    path: Path,
    before: str,
    after: str,
) -> str:
    """Only what changes, with its line: what stands beside it may be a key, and is not shown."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    if start + end < min(len(before), len(after)):
        while start and before[start - 1] not in _BETWEEN_VALUES:
            start -= 1
        while end and before[-end] not in _BETWEEN_VALUES:
            end -= 1
    while start and after[start - 1] == after[len(after) - end - 1] == " ":
        start -= 1  # a line that is added keeps its indentation
        end += 1
    number = before.count("\n", 0, start) + 1
    lines = [f"{path}, line {number}:"]
    for sign, text in (("-", before), ("+", after)):
        for line in text[start : len(text) - end].splitlines():
            if line.strip(" ,"):
                lines.append(sign + line)
    return "\n".join(lines)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))
