"""Grants for projects: one record each, in the user's data directory or in the database that machines share.

One record for each grant makes giving and revoking atomic. Grants never come from a project: a project root that
contains the user's data directory has none.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.bounds import UNREADABLE
from ullage.directories import data_directory
from ullage.errors import CommandRefused, UllageError
from ullage.store.records import FileRecords, Records
from ullage.turns.grants import Grant

log = logging.getLogger("ullage.store")

KIND: Final = "grants"


class ProjectGrant(NamedTuple):
    """A grant and the root of the project it is for."""

    root: str
    grant: Grant


class _GrantRecord(msgspec.Struct, frozen=True, kw_only=True):
    root: str
    grant: Grant
    version: int = 1


_decoder: Final = msgspec.json.Decoder(_GrantRecord)


class ProjectGrants:
    """Reads and writes the grants for projects; from the event loop only ``of`` and ``all``."""

    def __init__(
        self, directory: Path | None = None, *, records: Records | None = None
    ) -> None:
        self._data = data_directory() if directory is None else directory
        self._records = records or FileRecords(self._data)

    def all(self) -> list[ProjectGrant]:
        """Every grant, the oldest first. Unreadable records are ignored. Raises ``UllageError``."""
        found: list[ProjectGrant] = []
        for name, body in self._records.recent(KIND).bodies.items():
            try:
                read = _decoder.decode(body)
            except UNREADABLE:
                continue
            if read.version == 1 and read.grant.id == name:
                found.append(ProjectGrant(read.root, read.grant))
        return sorted(found, key=lambda found_grant: found_grant.grant.at)

    def of(self, root: Path) -> tuple[Grant, ...]:
        """The grants for this root; none if it contains the user's data, where tools could write grants.

        None either while they can't be read: then a person is asked.
        """
        if self._contains_data(root):
            return ()
        key = str(root.resolve())
        try:
            return tuple(project.grant for project in self.all() if project.root == key)
        except UllageError as problem:
            log.warning("%s Until then every call asks for approval.", problem)
            return ()

    def add(self, root: Path, grant: Grant) -> None:
        """Store a grant for this root. Raises ``CommandRefused`` for a root that can't have grants, ``UllageError``."""
        if self._contains_data(root):
            raise CommandRefused(
                f"The grant for {root} was not stored: it contains Ullage's own data, so tools could write grants. "
                "Allow it for this session instead."
            )
        content = msgspec.json.encode(_GrantRecord(root=str(root.resolve()), grant=grant))
        self._records.change(KIND, grant.id, lambda _: content)

    def revoke(self, grant: str) -> bool:
        """Remove a grant; False if there is none with this id. Raises ``UllageError``."""
        found: list[bytes] = []

        def gone(body: bytes | None) -> None:
            found.extend([] if body is None else [body])

        self._records.change(KIND, grant, gone)
        return bool(found)

    def _contains_data(self, root: Path) -> bool:
        return self._data.resolve().is_relative_to(root.resolve())
