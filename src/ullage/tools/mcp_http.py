"""An MCP server at a URL: the HTTP client it is talked to with, within limits.

Headers with keys go to the configured origin alone: redirects are followed by the SDK within it and nowhere else.
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports ("Streamable HTTP")
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from ullage.envelope import MCP_MESSAGE_BYTES, MIB
from ullage.errors import UllageError

CONNECT_S: Final = 30.0
"""Seconds for a connection, and for sending a request."""

SILENCE_S: Final = 300.0
"""Seconds without a byte in an answer, which may be a stream of events."""


class AnswerRefused(UllageError):
    """The answer of a server is beyond the limits; the message says what it is."""


def http_client(headers: Mapping[str, str]) -> Any:
    """A client, a context manager, that sends these headers and takes answers within the limits."""
    import httpx2

    async def limit(response: httpx2.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise AnswerRefused(f"its answer is compressed ({encoding[:40]}), which was not asked for")
        kind = response.headers.get("content-type", "").strip().lower()
        if not kind.startswith("text/event-stream"):  # whose events are limited one by one, by the SDK
            response.stream = _Limited(response.stream)

    class _Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._stream:
                size += len(piece)
                if size > MCP_MESSAGE_BYTES:
                    raise AnswerRefused(f"its answer has more than {MCP_MESSAGE_BYTES // MIB} MB")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_S, read=SILENCE_S),
        event_hooks={"response": [limit]},
        follow_redirects=False,
    )
