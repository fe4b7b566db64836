"""A request's body as a file, for what reads files: sessions to import, logs to look at."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from litestar import Request
from litestar.exceptions import ClientException

from ullage.errors import InputError

LARGEST: Final = 512 * 1024 * 1024
"""Bytes of a file that is sent: a session of 100,000 messages has about 100 MB."""


class UnusableFile(InputError):
    """A file that was sent and can't be used."""


@asynccontextmanager
async def received(request: Request[Any, Any, Any], name: str = "upload.jsonl") -> AsyncIterator[Path]:
    """The body in a file of its own, which is gone afterwards. Raises ``ClientException`` for one that is empty.

    An ``InputError`` of what reads it becomes ``UnusableFile``, which does not tell where the file lay.
    """
    with tempfile.TemporaryDirectory(prefix="ullage-upload-") as place:
        path = Path(place) / name
        with await asyncio.to_thread(path.open, "wb") as file:
            size = 0
            async for chunk in request.stream():
                size += len(chunk)
                await asyncio.to_thread(file.write, chunk)
        if not size:
            raise ClientException("The body is empty: send the file itself as the body.")
        try:
            yield path
        except InputError as problem:
            raise UnusableFile(str(problem).replace(str(path), "The file")) from problem
