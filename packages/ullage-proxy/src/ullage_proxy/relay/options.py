"""What the relay is started with: a JSON object, which Ullage's own command line fills in."""

from __future__ import annotations

import json
import os
from typing import Any, Final, NamedTuple

from ullage.guessing import guessable
from ullage.upstreams import is_loopback

TOKEN_VARIABLE: Final = "ULLAGE_PROXY_TOKEN"  # noqa: S105 - the name of the variable
TOKEN_AT_MOST: Final = 4_096


class BadOption(ValueError):
    """An option that can't be used. The message says why and what to do."""


class RelayOptions(NamedTuple):
    """The members of the object."""

    upstreams: dict[str, str]
    """Addresses by name."""
    host: str = "127.0.0.1"
    port: int = 4141
    """0 for a free one."""
    token_file: str = ""
    """Holds the token; else the environment does."""
    metering: tuple[str, ...] = ()
    """The command that meters."""
    metering_settings: dict[str, Any] | None = None
    marks: tuple[str, ...] = ()
    """Headers that tell conversations apart, which metering gets."""
    version: str = ""
    """Shown by ``/ullage/health``."""
    ready_message: str = ""
    """Printed in place of the JSON line; ``{address}`` is filled in."""
    until_stdin_closes: bool = False
    log_format: str = ""
    """That of ``--log-format``."""


def read_options(text: str) -> RelayOptions:
    """The options of this object."""
    return RelayOptions(**json.loads(text))


def token_of(options: RelayOptions) -> bytes:
    """The token that clients have to know; empty for none. Raises ``BadOption``."""
    path = options.token_file
    token = os.environ.get(TOKEN_VARIABLE, "").encode()
    if path:
        try:
            with open(path, "rb") as file:
                token = file.read(TOKEN_AT_MOST)
        except OSError as error:
            raise BadOption(
                f"The token file {path} can't be read: {error.strerror}."
            ) from error
    token = token.strip()
    if path and not token:
        raise BadOption(f"The token file {path} is empty. Write a token into it.")
    if token and (problem := guessable(token)):
        raise BadOption(problem)
    if not token and not is_loopback(options.host):
        raise BadOption(
            f"Listening on {options.host} lets other machines use your keys, and no token is set."
            f" Set {TOKEN_VARIABLE} or give --token-file, or listen on 127.0.0.1."
        )
    return token
