"""The user's grants for projects: one small file each, in the user's data directory.

One file for each grant makes giving and revoking atomic. Grants never come from a project: a project root that contains
the user's data directory has none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.agent.grants import Grant
from ullage.directories import data_directory
from ullage.errors import CommandRefused, UllageError
from ullage.store.private_file import read_json, write_json

DIRECTORY: Final = "grants"
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


class ProjectGrant(NamedTuple):
    """A grant and the root of the project it is for."""

    root: str
    grant: Grant


class _GrantFile(msgspec.Struct, frozen=True, kw_only=True):
    root: str
    grant: Grant
    version: int = 1


_decoder: Final = msgspec.json.Decoder(_GrantFile)


class ProjectGrants:
    """Reads and writes the grants for projects."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (
            data_directory() if directory is None else directory
        ) / DIRECTORY

    def all(self) -> list[ProjectGrant]:
        """Every grant, the oldest first. Unreadable files are ignored."""
        found: list[ProjectGrant] = []
        try:
            names = sorted(os.listdir(self.directory))
        except OSError:
            return []
        for name in names:
            path = self.directory / name
            read = read_json(path, _decoder) if path.suffix == ".json" else None
            if read is not None and read.version == 1 and read.grant.id == path.stem:
                found.append(ProjectGrant(read.root, read.grant))
        return sorted(found, key=lambda found_grant: found_grant.grant.at)

    def of(self, root: Path) -> tuple[Grant, ...]:
        """The grants for this root; none if it contains the directory of the grants, where tools could write grants."""
        if self._lies_in(root):
            return ()
        key = str(root.resolve())
        return tuple(project.grant for project in self.all() if project.root == key)

    def add(self, root: Path, grant: Grant) -> None:
        """Store a grant for this root. Raises ``CommandRefused`` for a root that can't have grants, ``UllageError``."""
        if self._lies_in(root):
            raise CommandRefused(
                f"The grant for {root} was not stored: it contains Ullage's own data, so tools could write grants. "
                "Allow it for this session instead."
            )
        content = _GrantFile(root=str(root.resolve()), grant=grant)
        write_json(self.directory / f"{grant.id}.json", content, "The grant")

    def revoke(self, grant: str) -> bool:
        """Remove a grant; False if there is none with this id. Raises ``UllageError``."""
        if not _ID.fullmatch(grant):
            return False
        path = self.directory / f"{grant}.json"
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise UllageError(
                f"The grant {path} can't be removed ({problem.strerror}). Check who may write its directory."
            ) from problem
        return True

    def _lies_in(self, root: Path) -> bool:
        return self.directory.resolve().is_relative_to(root.resolve())
