"""A provider whose answers say when each of their pieces was sent, for ``bench.live``; a process of its own.

    python -m bench.live_provider PIECES EVERY_S        # prints its port

Each piece is the time at which it was sent, in seconds of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator

from bench.proxy_server import BEGIN, end_of, framed, piece_of, run


async def answer(body: bytes) -> AsyncIterator[bytes]:
    pieces, every_s = int(sys.argv[1]), float(sys.argv[2])
    for event in BEGIN:
        yield framed(event)
    for _ in range(pieces):
        await asyncio.sleep(every_s)
        yield framed(piece_of(f"{time.monotonic():.9f} "))
    for event in end_of(10 * pieces):
        yield framed(event)


if __name__ == "__main__":
    asyncio.run(run(answer))
