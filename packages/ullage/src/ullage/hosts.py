"""The host that a request names: for the relay and for servers."""

from __future__ import annotations

import re
from typing import Final

_HOST: Final = re.compile(
    r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:(?P<port>[0-9]{1,5}))?"
)


def host_name(host: str) -> str:
    """The name in a ``Host`` without its port; empty if the value is not exactly a host."""
    found = _HOST.fullmatch(host.lower())
    if found is None or not 0 < int(found["port"] or 80) <= 65_535:
        return ""
    return found["name"]
