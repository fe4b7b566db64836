"""The trace that a message belongs to: that of the request that sends it (https://www.w3.org/TR/trace-context/).

It is stored with the message, so that whichever process drives the turn continues it: see ``runtime/telemetry.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ullage_agent.runtime.telemetry import NAME
from ullage_agent.runtime.trace_context import context_of, current_trace

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

SEND: Final = "/v1/sessions/{session}/messages"

_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)
"""Of version 00, the only one there is; https://www.w3.org/TR/trace-context/#traceparent-header."""


def checked_trace(header: str | None) -> str:
    """A ``traceparent`` header; empty for none, and for one that is to be ignored."""
    return header if header and _TRACEPARENT.fullmatch(header) else ""


class RequestTraces:
    """Spans of requests that send a message. Without a ``provider`` the sender's own trace is passed on as it is."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider

    @contextmanager
    def sending(self, header: str | None, session: str) -> Iterator[str]:
        """The ``traceparent`` to store with a message that is sent in this block."""
        given = checked_trace(header)
        if self._provider is None:
            yield given
            return
        from opentelemetry.trace import SpanKind

        attributes = {
            "http.request.method": "POST",
            "http.route": SEND,
            "gen_ai.conversation.id": session,
        }
        with self._provider.get_tracer(NAME).start_as_current_span(
            f"POST {SEND}", context_of(given), SpanKind.SERVER, attributes
        ):
            yield current_trace()
