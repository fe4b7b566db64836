"""Every error Ullage raises, as one tree.

    UllageError
    ├── InputError                what came from outside can't be used
    │   ├── UnreadableInput       the file or database can't be opened or is damaged as a whole
    │   ├── NotASession           no known format fits; says what each one missed
    │   └── InvalidRequest        a request body that is none of the known wires'
    ├── LedgerError               a row that can't follow the ones before it
    ├── SettingError              an unknown setting, or a value it can't take
    └── MissingExtra              an optional package is needed for what was asked

A message says what happened, to what, and what to do next; the cause is kept with ``raise … from``.
"""

from typing import NamedTuple


class UllageError(Exception):
    """The root of all errors raised on purpose by this package."""


class InputError(UllageError):
    """What came from outside can't be used."""


class UnreadableInput(InputError):
    """A file or database that can't be opened, or is damaged as a whole."""


class FormatMiss(NamedTuple):
    """One format that was tried on an input, and what the input lacked for it."""

    format: str
    missed: str


class NotASession(InputError):
    """No known format fits the input.

    ``tried`` names each format and what the input lacked for it.
    """

    def __init__(self, what: str, tried: tuple[FormatMiss, ...]) -> None:
        self.what = what
        self.tried = tried
        lines = "\n".join(f"  {miss.format}: {miss.missed}" for miss in tried)
        super().__init__(f"{what} is no session log that Ullage can read. Tried:\n{lines}")


class InvalidRequest(InputError):
    """A request body that none of the known wires could have been sent."""


class LedgerError(UllageError):
    """An event that can't follow the ones before it, for example a sequence number used twice."""


class SettingError(UllageError):
    """An unknown setting, or a value that a setting can't take."""


class MissingExtra(UllageError):
    """An optional package is needed for what was asked; the message says how to install it."""
