"""Other programs' configuration files: read whole, changed in memory, and written at once beside a copy.

Ours are recognised by what they hold, so there is no record of changes.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ullage_programs.replacement import Replacement
from ullage_programs.settings import value_at, without_comments

LARGEST: Final = 4_000_000
"""Bytes of a configuration file; a larger one is none."""

BACKUP: Final = ".bak"
"""What the name of the copy ends with: the file as it was before the last change."""


class CannotEdit(Exception):
    """A file that can't be read or changed. The message says why."""


class ClientFile:
    """A configuration file and its content after our change: an object, or the text of a plugin.

    ``problem`` says why we don't write it, as for JSON with comments, which would be lost.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""
        self.problem = ""
        self.before: Any = {}
        self.content: Any = {}
        try:
            self.text = text_of(path)
            self.before = parsed(path, self.text)
            self.content = _to_change(path, self.text, self.before)
        except CannotEdit as problem:
            self.problem = str(problem)
            self.content = copy.deepcopy(self.before)
        if not self.problem and path.exists() and not path.stat().st_mode & stat.S_IWUSR:
            self.problem = "it is read-only (`chmod u+w` changes that)"

    @property
    def after(self) -> Any:
        """The content in types of Python alone."""
        unwrap = getattr(self.content, "unwrap", None)
        return self.content if unwrap is None else unwrap()

    def check(self) -> None:
        """Raises ``CannotEdit`` where another program has changed the file since it was read."""
        if text_of(self.path) != self.text:
            raise CannotEdit(f"{self.path} was changed meanwhile")

    def write(self) -> str:
        """Write the content, and give a sentence about it. Raises ``OSError`` and ``CannotEdit``.

        A link stays one, and the owner and permissions stay too. Nothing is left of a file that held nothing else.
        """
        self.check()
        real = self.path.resolve()
        if not self.content:
            real.unlink()
            return f"{self.path}: removed, as it held nothing else."
        data = self._rendered().encode()
        had = real.stat() if real.exists() else None
        saved = ""
        if had is not None and isinstance(self.content, dict):
            backup = real.with_name(real.name + BACKUP)
            _replace(backup, self.text.encode(), had)
            saved = f" {backup} is the file as it was before."
        real.parent.mkdir(parents=True, exist_ok=True)
        _replace(real, data, had)
        return f"{self.path}: written.{saved}"

    def _rendered(self) -> str:
        if isinstance(self.content, str):
            return self.content
        if self.path.suffix == ".toml":
            import tomlkit

            return tomlkit.dumps(self.content)
        indented = re.search(r'^([ \t]+)"', self.text, re.MULTILINE)
        indent = indented[1] if indented else "  "
        return json.dumps(self.content, indent=indent, ensure_ascii=False) + "\n"


class ClientFiles:
    """The files of one installation, each read once.

    Files below ``project`` stay there: a link that leads out of it is not followed.
    """

    def __init__(self, project: Path | None = None) -> None:
        self.project = project
        self.files: dict[Path, ClientFile] = {}

    def __getitem__(self, path: Path) -> ClientFile:
        if path not in self.files:
            if self.project is not None and path.is_relative_to(self.project):
                _refuse_leaving(path, self.project)
            self.files[path] = ClientFile(path)
        return self.files[path]

    def changed(self) -> list[ClientFile]:
        """The files whose content is not what they hold, in the order in which they were read."""
        return [file for file in self.files.values() if file.after != file.before]


def _refuse_leaving(path: Path, project: Path) -> None:
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(project)):
        raise CannotEdit(
            f"{path} is a link, or lies behind one, that leads out of the project to {real}"
        )


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


def parsed(path: Path, text: str) -> Any:
    """The values of a TOML file, or of JSON as many programs take it: with comments and commas behind the last item.

    The text itself where the file is a plugin. Raises ``CannotEdit``.
    """
    kind = "TOML" if path.suffix == ".toml" else "JSON"
    try:
        if path.suffix == ".js":
            return text
        if kind == "TOML":
            return tomllib.loads(text.removeprefix("\ufeff"))
        bare = without_comments(text.removeprefix("\ufeff")).strip()
        bare = without_comments(bare)  # a comma may stand before a comment
        found = json.loads(bare) if bare else {}
    except (ValueError, RecursionError) as problem:
        raise CannotEdit(f"it is not valid {kind}: {problem}") from None
    if not isinstance(found, dict):
        raise CannotEdit("it holds no JSON object")
    return found


def configured(path: Path, keys: Iterable[str]) -> Any:
    """The value in a configuration file; ``None`` where there is none. Raises ``CannotEdit`` with the file's name."""
    try:
        return value_at(parsed(path, text_of(path)), keys)
    except CannotEdit as problem:
        raise CannotEdit(f"{path}: {problem}") from None


def owner_of(content: Any, keys: Sequence[str]) -> Any:
    """The object at a path of keys. Those that are missing are made. Raises ``CannotEdit``."""
    for depth, key in enumerate(keys, 1):
        content = content.setdefault(key, {})
        if not isinstance(content, dict):
            where = ".".join(keys[:depth])
            raise CannotEdit(f"{where} is no object")
    return content


def _to_change(path: Path, text: str, found: Any) -> Any:
    """The content in a form that can be changed and written. Raises ``CannotEdit`` for what would lose by that."""
    if path.suffix == ".toml":
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            return tomlkit.parse(text)
        except TOMLKitError as problem:
            raise CannotEdit(f"tomlkit can't read it ({problem})") from None
    try:
        if path.suffix != ".js" and text.strip():
            json.loads(text, object_pairs_hook=_with_keys_once)
            json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as problem:
        raise CannotEdit(
            f"it has comments, or what else is not plain JSON and would be lost ({problem})"
        ) from None
    return copy.deepcopy(found)


def _with_keys_once(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a key occurs twice")
    return found


def _replace(path: Path, data: bytes, had: os.stat_result | None) -> None:
    """A new file is the user's alone: an address in it may hold a token."""
    mode = 0o600 if had is None else stat.S_IMODE(had.st_mode)
    with Replacement(str(path), mode=mode) as file:
        file.write(data)
        if had is not None and os.name == "posix":
            os.chown(file.fileno(), had.st_uid, had.st_gid)
