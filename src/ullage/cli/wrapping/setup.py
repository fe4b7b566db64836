"""What a client's start needs: the addresses that it would use, and what to give it instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from ullage.cli.installing.plan import configured, text_of
from ullage.cli.installing.splice import CannotEdit
from ullage.cli.upstreams import checked_address, name_for
from ullage.errors import SettingError

_MOST_UPSTREAMS: Final = 50

BASE: Final = "http://ullage-proxy.invalid"
"""Stands for the proxy's address, whose port is known once it listens: the proxy has to be told the upstreams first."""


class WrapRefused(SettingError):
    """The client can't be started so that its calls are metered; says why, and what to do."""


class ClientSetup(NamedTuple):
    """What the client gets besides what its user gave it."""

    environment: Mapping[str, str]
    arguments: Sequence[str] = ()
    """They stand before the user's own."""
    said: Sequence[str] = ()
    """What else was set than the address, for the line that is printed before the client starts."""
    files: Mapping[str, str] = MappingProxyType({})
    """Contents of files of this run, each with the variable that gets the file's name."""

    def at(self, base: str) -> ClientSetup:
        """The same with the proxy's address."""
        return self._replace(
            environment=_filled_in(self.environment, base),
            arguments=[word.replace(BASE, base) for word in self.arguments],
            files=_filled_in(self.files, base),
        )


class UsedAddress(NamedTuple):
    """Where a client sends its calls without a proxy, where that is set, and the name of the provider there."""

    url: str
    where: str
    provider: str


class Start:
    """A client that is about to start: the user's environment, directory and arguments.

    ``upstreams`` is filled by ``through``.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        directory: Path,
        arguments: Sequence[str] = (),
    ) -> None:
        self.environment = environment
        self.directory = directory
        self.arguments = arguments
        self.upstreams: dict[str, str] = {}

    @property
    def home(self) -> Path:
        return Path(self.environment.get("HOME") or Path.home())

    def through(self, used: UsedAddress) -> str:
        """The address that leads to the same place through the proxy."""
        address = checked_address(used.url, used.where)
        first = name = name_for(address, used.provider)
        for number in range(2, _MOST_UPSTREAMS):
            if self.upstreams.setdefault(name, address) == address:
                return f"{BASE}/{name}"
            name = f"{first}-{number}"
        raise WrapRefused(
            f"More than {_MOST_UPSTREAMS} addresses are set for this client. Remove those that are not used."
        )

    def setting(self, path: Path, keys: Sequence[str]) -> object:
        """A value in one of the client's files; ``None`` where there is none. Raises ``WrapRefused``."""
        try:
            return configured(path, keys)
        except CannotEdit as problem:
            raise WrapRefused(
                f"{problem}. Its addresses can't be read, so nothing was started. Repair the file."
            ) from None

    def from_dotenv(self, name: str, own: str) -> str:
        """A variable of the first ``.env`` that a client reads: upwards from the directory, then at home.

        ``own`` is the client's directory, whose file comes before the other in the same place.
        """
        places = [self.directory, *self.directory.parents, self.home]
        for place in places:
            for path in (place / own / ".env", place / ".env"):
                text = _text_of(path)
                if text:
                    return _variable(text, name)
        return ""


def _filled_in(texts: Mapping[str, str], base: str) -> dict[str, str]:
    return {name: text.replace(BASE, base) for name, text in texts.items()}


def _text_of(path: Path) -> str:
    try:
        return text_of(path)
    except (CannotEdit, OSError):
        return ""


def _variable(text: str, name: str) -> str:
    pattern = rf"^\s*(?:export\s+)?{name}\s*=\s*(.*?)\s*$"
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        return ""
    return found[1].strip("'\"")
