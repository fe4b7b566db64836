"""Makes mitmproxy pass bodies on as they come: otherwise it holds an answer back until it is complete."""

from typing import Any


def requestheaders(flow: Any) -> None:
    """Called with the head of a request."""
    flow.request.stream = True


def responseheaders(flow: Any) -> None:
    """Called with the head of a response."""
    flow.response.stream = True
