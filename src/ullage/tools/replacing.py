"""A file's content exchanged at once: whoever reads it sees the old or the new, also after a crash."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from ullage.tools.paths import ConfinedPath
from ullage.tools.tool import ToolError


def replace_content(place: ConfinedPath, data: bytes, *, read_as: os.stat_result | None = None) -> None:
    """Put a file with this content at the place; a file that was there keeps its permissions.

    ``read_as`` is what it was when its content was read: where it is another one now, nothing is written.
    Raises ``OSError``, and ``ToolError`` for a directory, a device, or a file changed meanwhile.
    """
    before = place.stat()
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise ToolError(f"{place.shown} is {'a directory' if stat.S_ISDIR(before.st_mode) else 'no plain file'}.")
    draft = f".ullage-{secrets.token_hex(8)}"
    descriptor = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=place.directory
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None:
                os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if read_as is not None and _identity(place.stat()) != _identity(read_as):
            raise ToolError(
                f"{place.shown} was changed by somebody else meanwhile; nothing was written. Read it again."
            )
        os.replace(draft, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=place.directory)
        raise


def _identity(found: os.stat_result | None) -> tuple[int, int, int] | None:
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
