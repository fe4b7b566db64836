"""What an installation puts into a file, and how it is recognised when it is to go. Both change files in memory.

They raise ``CannotEdit`` where that would take something from the user.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import ullage_programs
from ullage.cli.installing.files import (
    CannotEdit,
    ClientFile,
    ClientFiles,
    owner_of,
)
from ullage.cli.upstreams import PROXY, address_behind
from ullage_programs.settings import value_at

OWN: Final = re.compile(r"ullage_programs[/\\]+start\.py")
"""What every command of ours holds, from wherever Ullage is installed."""


class ClientEntry(Protocol):
    """One thing that an installation puts into a file."""

    @property
    def kind(self) -> str:
        """The option that chooses it: ``statusline``, ``hooks`` or ``proxy``."""

    @property
    def about(self) -> str:
        """What it is, what it does, and what it costs."""

    def put(self, files: ClientFiles) -> None: ...

    def take(self, files: ClientFiles, upstreams: Mapping[str, str]) -> None: ...


def command(module: str) -> str:
    """How a program starts the ``main`` of a module of ``ullage_programs``."""
    place = Path(ullage_programs.__file__).parent / "start.py"
    return f'"{sys.executable}" -I -S "{place}" {module}'


def own_directory(environment: Mapping[str, str], variable: str, usual: str) -> Path:
    """The directory of a program that a variable names, else the usual one in the user's home."""
    named = environment.get(variable, "")
    return Path(named) if named else Path.home() / usual


@dataclass(frozen=True)
class StatusLineEntry:
    """A status line. One of the user's own is kept in the file ``composed``, and shown before ours; without that file
    it is not replaced."""

    kind = "statusline"
    about = "status line: how full the window is"
    path: Path
    keys: Sequence[str]
    command: str
    composed: Path | None = None
    usual: Mapping[str, Any] = field(default_factory=dict)

    def put(self, files: ClientFiles) -> None:
        owner = _owner(files[self.path], self.keys)
        wanted = {"type": "command", "command": self.command}
        found = owner.get(self.keys[-1])
        if found is None:
            owner[self.keys[-1]] = {**wanted, **self.usual}
            return
        if not _is_own(found):
            earlier = found.get("command") if isinstance(found, dict) else None
            if self.composed is None or not isinstance(earlier, str):
                where = ".".join(self.keys)
                raise CannotEdit(
                    f"{self.path}: it has another status line, {where}, which would go"
                )
            files[self.composed].content["compose"] = earlier
        owner[self.keys[-1]] = {**found, **wanted}

    def take(self, files: ClientFiles, upstreams: Mapping[str, str]) -> None:
        content = files[self.path].content
        found = value_at(content, self.keys)
        if not isinstance(found, dict) or not _is_own(found):
            return
        if self.composed is not None:
            own = files[self.composed].content
            if isinstance(own.get("compose"), str):
                found["command"] = own.pop("compose")
                return
        _delete(content, self.keys)


@dataclass(frozen=True)
class HookEntry:
    """A handler of an event: one of the ``hooks`` of a group in the event's list."""

    kind = "hooks"
    about: str
    path: Path
    keys: Sequence[str]
    handler: Mapping[str, Any]
    group: Mapping[str, Any] = field(default_factory=dict)

    def put(self, files: ClientFiles) -> None:
        owner = _owner(files[self.path], self.keys)
        groups = owner.setdefault(self.keys[-1], [])
        if not isinstance(groups, list):
            where = ".".join(self.keys)
            raise CannotEdit(f"{self.path}: {where} is no list")
        for group in groups:
            for handler in _handlers(group):
                if _is_own(handler):
                    handler.update(self.handler)
                    return
        groups.append({**self.group, "hooks": [dict(self.handler)]})

    def take(self, files: ClientFiles, upstreams: Mapping[str, str]) -> None:
        content = files[self.path].content
        groups = value_at(content, self.keys)
        if not isinstance(groups, list):
            return
        left = []
        for group in groups:
            handlers = _handlers(group)
            kept = [handler for handler in handlers if not _is_own(handler)]
            if len(kept) == len(handlers):
                left.append(group)
            elif kept:
                left.append({**group, "hooks": kept})
        if groups and not left:
            _delete(content, self.keys)
        else:
            groups[:] = left


@dataclass(frozen=True)
class AddressEntry:
    """The address of a proxy. When it goes, the address that it leads to is put back.

    ``usual`` are the upstreams whose address the client has without a setting; ``beside`` is set with the address
    where it is not set, and goes with it; ``above`` are keys of addresses that come before this one.
    """

    kind = "proxy"
    about = "address: model calls go through `ullage proxy`"
    path: Path
    keys: Sequence[str]
    url: str
    usual: Sequence[str]
    beside: Mapping[str, str] = field(default_factory=dict)
    above: str = ""

    def put(self, files: ClientFiles) -> None:
        if self.above and files[self.path].content.get(self.above):
            raise CannotEdit(f"{self.path}: the addresses of its {self.above} come first")
        owner = _owner(files[self.path], self.keys)
        owner[self.keys[-1]] = self.url
        for name, value in self.beside.items():
            owner.setdefault(name, value)

    def take(self, files: ClientFiles, upstreams: Mapping[str, str]) -> None:
        content = files[self.path].content
        found = value_at(content, self.keys)
        is_named = bool(self.url) and found == self.url
        if not isinstance(found, str) or not (is_named or found.startswith(f"{PROXY}/")):
            return
        name, behind = address_behind(found, upstreams)
        if not behind and not is_named:
            raise CannotEdit(
                f"{self.path}: {self.keys[-1]} is {found}, and only you know which address that is of. "
                f"Write it there, or delete ours with `--remove --proxy {found}`"
            )
        owner = value_at(content, self.keys[:-1])
        for other, value in self.beside.items():
            if owner.get(other) == value:
                del owner[other]
        if behind and name not in self.usual:
            owner[self.keys[-1]] = behind
        else:
            _delete(content, self.keys)


@dataclass(frozen=True)
class PluginEntry:
    """A file of our own, which its first words tell. Another one of that name stays as it is."""

    kind: str
    about: str
    path: Path
    source: Path

    def put(self, files: ClientFiles) -> None:
        file, text = files[self.path], self._text()
        if file.text and not self._is_own(file.text):
            raise CannotEdit(f"{self.path}: a file of that name is there already")
        file.content = text

    def take(self, files: ClientFiles, upstreams: Mapping[str, str]) -> None:
        file = files[self.path]
        if self._is_own(file.text):
            file.content = ""

    def _text(self) -> str:
        return self.source.read_text("utf-8")

    def _is_own(self, text: str) -> bool:
        return text.startswith(self._text().partition(";")[0])


def _is_own(value: object) -> bool:
    return OWN.search(str(value)) is not None


def _handlers(group: object) -> list[dict[str, Any]]:
    found = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(found, list):
        return []
    return [handler for handler in found if isinstance(handler, dict)]


def _owner(file: ClientFile, keys: Sequence[str]) -> Any:
    """The object that holds the last key, made where it is missing. Raises ``CannotEdit`` with the file's name."""
    try:
        return owner_of(file.content, keys[:-1])
    except CannotEdit as problem:
        raise CannotEdit(f"{file.path}: {problem}") from None


def _delete(content: Any, keys: Sequence[str]) -> None:
    """Delete a value, and the objects that are empty without it."""
    owner = value_at(content, keys[:-1])
    del owner[keys[-1]]
    if not owner and len(keys) > 1:
        _delete(content, keys[:-1])
