"""The token of this machine's servers, which they take where none is given: in a file that only its user reads.

Loopback is no boundary: other users and commands in the network sandbox reach it too.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from ullage.errors import SettingError
from ullage.guessing import guessable
from ullage.store.private_file import locked, read_file, replace_file
from ullage_server.tokens import new_token

FILE: Final = "server-token"
"""The file's name in the user's data directory."""

LONGEST: Final = 1_000
"""Bytes of the file."""


def own_token(path: Path) -> str:
    """The token in this file; a new one if there is none. Raises ``SettingError``."""
    try:
        with locked(path):
            if not path.exists():
                replace_file(path, f"{new_token()}\n".encode())
            status = path.stat()
            token = read_file(path, most=LONGEST).decode().strip()
            if guessable(token):
                raise OSError(errno.EINVAL, "the file holds no token")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no text"
        raise SettingError(
            f"The token of this machine's servers can't be kept in {path}: {reason}. Delete the file and allow "
            "writing there, or give a token with ULLAGE_TOKEN."
        ) from problem
    is_shared = status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    if is_shared or status.st_uid not in (0, os.geteuid()):
        raise SettingError(
            f"Other users can read the token of this machine's servers in {path}. Delete the file: the next start "
            "makes a new one."
        )
    return token
