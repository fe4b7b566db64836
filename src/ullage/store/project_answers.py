"""The user's answers about a directory: may ``ullage.toml`` set more than harmless settings, may files set an address.

Small files in the user's data directory: one for each directory, and one for each address that its files set. An answer
is valid for one content of ``ullage.toml``, or for one address: after a change the user is asked again. An answer
without a digest records that sessions have worked in a directory, so that files there and below may come from their
commands.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.directories import data_directory
from ullage.errors import CommandRefused
from ullage.store.private_file import delete_files, read_json, write_json

DIRECTORY: Final = "projects"


class ProjectAnswer(NamedTuple):
    """The answer for ``ullage.toml`` in ``directory`` while its content has this digest; or for this address."""

    directory: str
    digest: str
    is_agreed: bool

    @property
    def address(self) -> str:
        """The address that it is about; empty for an answer about ``ullage.toml``."""
        return self.digest if "://" in self.digest else ""


class _AnswerFile(msgspec.Struct, frozen=True, kw_only=True):
    directory: str
    digest: str
    is_agreed: bool
    version: int = 1


_decoder: Final = msgspec.json.Decoder(_AnswerFile)


class ProjectAnswers:
    """Reads and writes the answers. Two writers at once leave the later one's answer."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (
            data_directory() if directory is None else directory
        ) / DIRECTORY

    def all(self) -> list[ProjectAnswer]:
        """Every answer, by directory. Unreadable files are ignored."""
        try:
            paths = [
                self.directory / name
                for name in os.listdir(self.directory)
                if name.endswith(".json")
            ]
        except OSError:
            return []
        found = [
            answer
            for path in paths
            if (answer := _read(path)) is not None and answer.digest
        ]
        return sorted(found)

    def of(self, project: Path, digest: str) -> bool | None:
        """Whether the user agreed to this content of the file in ``project``; ``None`` without an answer."""
        answer = self.latest(project)
        if answer is None or answer.digest != digest:
            return None
        return answer.is_agreed

    def latest(self, project: Path) -> ProjectAnswer | None:
        """The answer about the file in ``project`` with any content; ``None`` without an answer."""
        if self._lies_in(project):
            return None
        directory = str(project.resolve())
        answer = _read(self._path(directory))
        if answer is None or not answer.digest or answer.directory != directory:
            return None
        return answer

    def of_address(self, place: Path, address: str) -> bool | None:
        """Whether the user agreed that files in ``place`` send calls to this address; ``None`` without an answer."""
        directory = str(place.resolve())
        answer = _read(self._path(directory, address))
        if self._lies_in(place) or answer is None:
            return None
        is_same = (answer.directory, answer.digest) == (directory, address)
        return answer.is_agreed if is_same else None

    def add(self, project: Path, digest: str, *, is_agreed: bool) -> None:
        """Store an answer about a content of ``ullage.toml``, or about an address.

        Raises ``CommandRefused`` for a directory that can't have one, ``UllageError``.
        """
        if self._lies_in(project):
            raise CommandRefused(
                f"The answer for {project} was not stored: it contains Ullage's own data, so tools could write one. "
                "Put the settings into your own ullage.toml instead."
            )
        self._write(project, digest, is_agreed=is_agreed)

    def knows(self, project: Path) -> bool:
        """Whether there was an answer or a session here or in a directory above, or there can be no answer."""
        place = project.resolve()
        return self._lies_in(place) or any(
            os.path.lexists(self._path(str(each))) for each in (place, *place.parents)
        )

    def note_session(self, directory: Path) -> None:
        """Remember that sessions work in a directory; an answer for it stays. Raises ``UllageError``."""
        if not os.path.lexists(self._path(str(directory.resolve()))):
            self._write(directory, "", is_agreed=False)

    def _write(self, project: Path, digest: str, *, is_agreed: bool) -> None:
        directory = str(project.resolve())
        content = _AnswerFile(directory=directory, digest=digest, is_agreed=is_agreed)
        address = ProjectAnswer(directory, digest, is_agreed).address
        write_json(self._path(directory, address), content, "The answer")

    def remove(self, project: Path) -> bool:
        """Forget all answers for a directory; false where there are none. Raises ``UllageError``."""
        directory = str(project.resolve())
        found = [answer for answer in self.all() if answer.directory == directory]
        for answer in found:
            if answer.address:
                delete_files([self._path(directory, answer.address)])
            else:  # the directory stays known, so that the user is asked about its file
                self._write(project, "", is_agreed=False)
        return bool(found)

    def _path(self, directory: str, address: str = "") -> Path:
        name = f"{directory}\n{address}" if address else directory
        return self.directory / f"{sha256(os.fsencode(name)).hexdigest()[:32]}.json"

    def _lies_in(self, project: Path) -> bool:
        return self.directory.resolve().is_relative_to(project.resolve())


def _read(path: Path) -> ProjectAnswer | None:
    read = read_json(path, _decoder)
    if read is None or read.version != 1:
        return None
    return ProjectAnswer(read.directory, read.digest, read.is_agreed)
