"""A small file of the user's that changes at once or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Put these bytes in the place of the file, on disk and readable by the user alone. Its directory must exist.

    Raises ``OSError``; the file is then as it was, and nothing is left beside it.
    """
    import tempfile  # only writing needs it, and it costs more to import than the rest of this file

    handle, temporary = tempfile.mkstemp(
        prefix=f".{path.name}.", dir=path.parent
    )  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
