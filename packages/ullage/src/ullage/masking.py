"""Hides keys and tokens in answers and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from ullage.errors import SettingError

SHOWN: Final = "[hidden]"

SHORTEST: Final = 6
"""The fewest characters of a secret: hiding shorter values would damage ordinary words."""

_USER_INFO: Final = re.compile(r"(?<=://)[^\s/@\"'<>]+@")
_BEARER: Final = re.compile(r"\b(bearer)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_NAMES: Final = re.compile(
    r"(^|_)(api_?key|key|token|secret|password|passwd|credentials?|authorization|auth)($|_)",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"-|(?<=[a-z])(?=[A-Z])")
"""Where a word of a name begins that no underscore divides."""
_OURS: Final = re.compile(r"\bullage_[\w-]{40,}")


def refuse_passwords(settings: Mapping[str, object]) -> None:
    """Raises ``SettingError`` for an address with a password: settings are stored, streamed and exported."""
    if _USER_INFO.search(str(settings.get("base_url") or "")):
        raise SettingError(
            "base_url: an address with a name or a password in it would be stored with the session. Leave them out: "
            "keys come from the server's environment."
        )


class Secrets:
    """Known secret values, and patterns of secrets."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = sorted(
            {value for value in values if len(value) >= SHORTEST}, key=len, reverse=True
        )
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def masked(self, text: str) -> str:
        """The text without known values, names and passwords in addresses, bearer tokens, and Ullage's tokens."""
        if self._known is not None:
            text = self._known.sub(SHOWN, text)
        text = _USER_INFO.sub(f"{SHOWN}@", text)
        text = _BEARER.sub(rf"\1 {SHOWN}", text)
        return _OURS.sub(SHOWN, text)

    def masked_value(self, value: object) -> object:
        """A JSON value with its texts masked, and without texts under the name of a secret, as ``"api_key"``."""
        match value:
            case str():
                return self.masked(value)
            case list():
                return [self.masked_value(item) for item in value]
            case dict():
                return {
                    name: SHOWN
                    if isinstance(item, str) and _is_secret(str(name))
                    else self.masked_value(item)
                    for name, item in value.items()
                }
            case _:
                return value


def _is_secret(name: str) -> bool:
    """Whether it is the name of a secret, in any spelling: ``api_key``, ``X-Api-Key``, ``apiKey``."""
    return bool(_NAMES.search(_WORDS.sub("_", name)))


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """The values of variables with the name of a secret."""
    return [value for name, value in environment.items() if _is_secret(name)]
