"""Answers that the relay gives itself, in the form of the wire that was asked: clients show them as they are."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Final

from ullage_proxy.relay.heads import HttpRequest

_REASONS: Final = {each.value: each.phrase for each in HTTPStatus}

STATUSES_OF_GEMINI: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
}
"""https://cloud.google.com/apis/design/errors"""

TYPES_OF_ANTHROPIC: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
"""https://platform.claude.com/docs/en/api/errors"""


def error_body(
    request: HttpRequest | None, upstream: str, status: int, message: str
) -> bytes:
    """The error as the wire of this request writes it."""
    text = f"ullage proxy: {message}"
    path = request.path.rstrip("/") if request is not None else ""
    if path.endswith("/messages") or upstream == "anthropic":
        kind = TYPES_OF_ANTHROPIC.get(status, "api_error")
        return json_body({"type": "error", "error": {"type": kind, "message": text}})
    if path.endswith("enerateContent") or upstream == "gemini":
        name = STATUSES_OF_GEMINI.get(status, "UNKNOWN")
        return json_body({"error": {"code": status, "message": text, "status": name}})
    error = {"message": text, "type": "ullage_proxy", "param": None, "code": None}
    return json_body({"error": error})


def own_answer(
    status: int,
    body: bytes,
    *,
    is_head: bool = False,
    is_last: bool = False,
) -> bytes:
    """A whole response."""
    reason = _REASONS.get(status, "Error")
    lines = [
        f"HTTP/1.1 {status} {reason}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "server: ullage",
    ]
    if status == 426:
        lines += ["upgrade: HTTP/1.1", "connection: upgrade"]
    if is_last:
        lines.append("connection: close")
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return head if is_head else head + body


def json_body(value: dict[str, object]) -> bytes:
    """An object as the body of an answer."""
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
