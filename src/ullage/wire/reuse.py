"""Whether a connection may serve another request: only where nothing has arrived behind the answer.

HTTP/1.1 has no number that binds an answer to its request. Bytes behind an answer, of a broken gateway or a hostile
server, would be read as the answer to the next request. The transport looks at the socket before it reuses a
connection, but not at bytes that were read from it already. Those wait in three places: the HTTP parser, the queue of
the stream, and the TLS layer. No public interface shows them, so this file looks inside; where a new version keeps
them elsewhere, connections are closed rather than reused.
"""

from __future__ import annotations

from typing import Any

import httpx2


async def close(response: httpx2.Response) -> None:
    """Close an answer, and its connection too where the answer was left unread or bytes have arrived behind it."""
    stream = response.extensions.get("network_stream")
    try:
        if stream is not None and _holds_more(response.stream, stream):
            await stream.aclose()
    finally:
        await response.aclose()


def _holds_more(body: Any, stream: Any) -> bool:
    try:
        return _is_behind_body(body) or _is_waiting(stream)
    except (AttributeError, TypeError):
        return True


def _is_behind_body(body: Any) -> bool:
    """Whether the parser holds bytes that belong to no answer: ``h11.Connection.trailing_data``."""
    while not hasattr(body, "_connection"):
        body = body._httpcore_stream if hasattr(body, "_httpcore_stream") else body._stream
    parser = body._connection._h11_state
    return bool(parser.trailing_data[0])


def _is_waiting(stream: Any) -> bool:
    """Whether bytes were read from the socket, or decrypted, that the parser has not asked for yet."""
    layer = stream._stream
    while hasattr(layer, "transport_stream"):
        if layer._read_bio.pending or layer._ssl_object.pending():
            return True
        layer = layer.transport_stream
    return bool(layer._protocol.read_queue)
