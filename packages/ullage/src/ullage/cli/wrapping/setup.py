"""What a client's start needs: the addresses that it would use, and what to give it instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Final, NamedTuple

from ullage.cli.installing.files import CannotEdit, configured, text_of
from ullage.cli.upstreams import checked_address, name_for
from ullage.cli.wrapping.folder_trust import trusted_folders
from ullage.errors import SettingError
from ullage_programs.programs import folder_of

_MOST_UPSTREAMS: Final = 50

BASE: Final = "http://ullage-proxy.invalid"
"""Stands for the proxy's address, whose port is known once it listens: the proxy has to be told the upstreams first."""


HOST: Final = "127.0.0.1"

PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
EXCEPTED: Final = ("NO_PROXY", "no_proxy")


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
    place: Path | None = None
    """The directory whose files set it, where the client has not been told to trust them: its user is asked first."""


def client_of(name: str) -> ModuleType:
    """The module ``client`` of a program: what is put into its settings, and how it is started behind a proxy."""
    return import_module(f"ullage_programs.{folder_of(name)}.client")


Agree = Callable[[str, str, Path], None]
"""Asks the user about an address that a directory sets: the address, where, and the directory. Raises ``UllageError``
unless the answer is yes."""


def asking(client: str, environment: Mapping[str, str]) -> Agree:
    """Asks about the addresses of this client."""

    def agree(url: str, where: str, place: Path) -> None:
        from ullage.cli.wrapping.address_question import agree_to_address

        agree_to_address(client, url, where, place, environment)

    return agree


class Start:
    """A client that is about to start: the user's environment, directory and arguments.

    The directory is ``None`` where only what the user has set counts. ``upstreams`` is filled by ``through``.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        directory: Path | None,
        arguments: Sequence[str] = (),
        agree: Agree | None = None,
    ) -> None:
        self.environment = environment
        self.directory = directory
        self.arguments = arguments
        self.agree = agree or asking("the client", environment)
        self.upstreams: dict[str, str] = {}

    @property
    def home(self) -> Path:
        return Path(self.environment.get("HOME") or Path.home())

    @property
    def places(self) -> list[Path]:
        """The directory and all above it, whose files a client may read."""
        if self.directory is None:
            return []
        return [self.directory, *self.directory.parents]

    def unless_own(self, place: Path) -> Path | None:
        """The place, unless it is the user's home directory, whose files are the user's own."""
        return None if place.resolve() == self.home.resolve() else place

    def trusts(self, path: Path, place: Path) -> bool | None:
        """What ``trustedFolders.json`` at ``path`` says of a place's files in this directory."""
        rules = self.setting(path, [])
        answers = [trusted_folders(rules, self.directory or place)]
        answers.append(trusted_folders(rules, place))
        return False if False in answers else answers[0]

    def agreed(self, used: UsedAddress) -> str:
        """The address as it is checked; one of a directory only with the user's yes. Raises ``UllageError``."""
        address = checked_address(used.url, used.where)
        if used.place is not None:
            self.agree(address, used.where, used.place)
        return address

    def through(self, used: UsedAddress) -> str:
        """The address that leads to the same place through the proxy. Raises ``UllageError``, as ``agreed``."""
        address = self.agreed(used)
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

    def from_dotenv(
        self, used: UsedAddress, own: str, trusts: Callable[[Path], bool | None]
    ) -> UsedAddress:
        """The address with that of the first ``.env`` that a client reads: upwards from the directory, then at home.

        ``used.where`` is the variable's name, and ``own`` the client's directory, whose file comes before the other in
        the same place. Where its user said that it ``trusts`` no file of a directory, none is read.
        """
        for place in [*self.places, self.home]:
            foreign = self.unless_own(place)
            trust = None if foreign is None else trusts(place)
            if trust is False:
                continue
            for path in (place / own / ".env", place / ".env"):
                text = _text_of(path)
                if not text:
                    continue
                url = _variable(text, used.where)
                if not url:
                    return used
                where = f"{used.where} in {path}"
                return UsedAddress(url, where, used.provider, None if trust else foreign)
        return used


def reached_directly(value: Callable[[str], object]) -> dict[str, str]:
    """The variables by which no proxy, of a company or of a directory's files, gets the plain text that ours is sent.

    ``value`` gives what they have. Ours uses a proxy of the user's itself.
    """
    names = {name: value(name) for name in EXCEPTED}
    return {name: f"{had},{HOST}" if had else HOST for name, had in names.items()}


def _filled_in(texts: Mapping[str, str], base: str) -> dict[str, str]:
    return {name: text.replace(BASE, base) for name, text in texts.items()}


def _text_of(path: Path) -> str:
    try:
        return text_of(path)
    except (CannotEdit, OSError):
        return ""


def _variable(text: str, name: str) -> str:
    for line in text.splitlines():
        words, _, value = line.partition("=")
        if words.split() in ([name], ["export", name]):
            return value.strip().strip("'\"")
    return ""
