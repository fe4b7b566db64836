"""Errors as ``application/problem+json`` (RFC 9457): what happened, and what to do next."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException, SerializationException
from msgspec.structs import replace

from ullage.errors import (
    AnswerInvalid,
    BadKey,
    CommandRefused,
    CompactorBusy,
    ContextUnfixable,
    InputError,
    InternalError,
    LeaseLost,
    LedgerError,
    MissingExtra,
    ProviderError,
    QuotaReached,
    SessionBusy,
    SessionNotFound,
    SettingError,
    StoreUnavailable,
    UllageError,
    WrongPlace,
)
from ullage.similar import did_you_mean
from ullage.store.store import DEFAULT_TENANT
from ullage_server.api_types import FieldProblem, Problem
from ullage_server.live_types import SHOWN
from ullage_server.tokens import ANYONE

log = logging.getLogger("ullage.server")

LEFT: Final = "client disconnected prematurely"
"""The framework's message for a client that disconnected in the middle of its body."""

MEDIA_TYPE: Final = "application/problem+json"

AnyRequest: TypeAlias = Request[Any, Any, Any]
"""A request, whatever its user, its token and its state."""


class ScopeMissing(UllageError):
    """The token does not allow this request."""


class OperatorOnly(UllageError):
    """A tenant's token asks for what belongs to all tenants."""


class LinkVoid(UllageError):
    """The link that opens the page was used, or is of an earlier start."""


class TooManyStreams(UllageError):
    """The server has no slot for another stream."""


class LiveOff(UllageError):
    """This server does not show what runs on its machine."""


class NoLiveSession(UllageError):
    """No running session has this id."""


class ProblemKind(NamedTuple):
    """A kind of problem: its status, the last part of its type, and what to do about it."""

    status: int
    name: str
    next: str


TOLD_TENANTS: Final[Mapping[type[UllageError], str]] = {
    StoreUnavailable: "The store can't be used now.",
    SessionBusy: "Another process drives the session.",
    LeaseLost: "Another process has taken over the session.",
}
"""The details for tenants of errors whose own words name the store's address, or a machine and a process."""

KINDS: Final[Mapping[type[UllageError], ProblemKind]] = {
    ScopeMissing: ProblemKind(
        403,
        "scope",
        "Use another token, or ask the operator for one.",
    ),
    OperatorOnly: ProblemKind(
        404, "operator-only", "Use a token that was made without `--tenant`."
    ),
    LinkVoid: ProblemKind(
        403,
        "link",
        "Or give the page a token, as that in the file that the server named.",
    ),
    TooManyStreams: ProblemKind(
        503, "busy", "Close unused streams, or try again in a moment."
    ),
    LiveOff: ProblemKind(404, "live-off", "Start the server with `ullage serve --live`."),
    NoLiveSession: ProblemKind(
        404, "session-not-found", "GET /v1/live lists the sessions that run."
    ),
    SessionNotFound: ProblemKind(
        404, "session-not-found", "GET /v1/sessions lists the existing sessions."
    ),
    CommandRefused: ProblemKind(
        409, "refused", "GET the session to see its state, then decide again."
    ),
    SessionBusy: ProblemKind(
        409, "session-busy", "Another process drives it: try again in a few seconds."
    ),
    LeaseLost: ProblemKind(
        409, "session-busy", "Another process has taken over the session: try again."
    ),
    QuotaReached: ProblemKind(
        429, "quota", "GET /v1/quota says what is left and when the next day begins."
    ),
    WrongPlace: ProblemKind(
        409,
        "wrong-place",
        "Start a worker of the session's place: `ullage admin worker --place NAME`.",
    ),
    CompactorBusy: ProblemKind(
        409, "compactor-busy", "Wait for the request before, or use a Compactor for each."
    ),
    AnswerInvalid: ProblemKind(
        502, "answer-invalid", "Ask again, with a simpler type or another model."
    ),
    ContextUnfixable: ProblemKind(
        409,
        "context-too-large",
        "Make the largest parts smaller, or choose a larger window.",
    ),
    SettingError: ProblemKind(
        422, "setting", "docs/settings.md lists every setting and the values it takes."
    ),
    LedgerError: ProblemKind(
        422, "no-such-event", "GET the session: `seq` is its newest event."
    ),
    InputError: ProblemKind(
        422, "unusable-input", "Correct what the detail names, then send it again."
    ),
    MissingExtra: ProblemKind(
        501,
        "missing-extra",
        "Install what the detail names, then start the server again.",
    ),
    BadKey: ProblemKind(
        502,
        "key",
        "Set the variable that the detail names where the server is started, then send it again.",
    ),
    InternalError: ProblemKind(
        503,
        "failed",
        "The server's log has the traceback. Send a message or resume to try again.",
    ),
    ProviderError: ProblemKind(
        502, "provider", "Nothing is lost: resume when the provider answers again."
    ),
    StoreUnavailable: ProblemKind(
        503,
        "store-unavailable",
        "Nothing was stored. Send it again when the store works.",
    ),
}
"""Ullage's errors, the most specific class first; a class includes its subclasses."""

NEXT: Final[Mapping[int, str]] = {
    400: "Compare the request with GET /schema/openapi.json.",
    401: "Send `Authorization: Bearer TOKEN` with a token of this server: it said at its start where one is, and "
    "`ullage admin token add NAME` makes one.",
    404: "GET /schema/openapi.json lists every path.",
    405: "GET /schema/openapi.json lists the methods of every path.",
    413: "Send less at once, or set a higher limit where the server is started.",
    415: "Send JSON with `Content-Type: application/json`.",
    429: "Close some of them, or try again in a minute.",
    500: "This is a bug in the server: its log has the details.",
}


def problem(
    status: int,
    name: str,
    detail: str,
    next_: str = "",
    errors: tuple[FieldProblem, ...] = (),
) -> Problem:
    """One problem. ``name`` becomes the last part of its type."""
    return Problem(
        type=f"urn:ullage:problem:{name}",
        title=_title(status),
        status=status,
        detail=detail,
        next=next_ or NEXT.get(status, ""),
        errors=errors,
    )


def of_error(error: UllageError) -> Problem:
    """The problem for an error of Ullage."""
    for known, kind in KINDS.items():
        if isinstance(error, known):
            return problem(kind.status, kind.name, str(error), kind.next)
    return problem(500, "internal", str(error))


def told(error: UllageError, tenant: str) -> str:
    """The error in the words that a tenant's callers may read: addresses and machines are for the operator."""
    if tenant != DEFAULT_TENANT:
        for known, words in TOLD_TENANTS.items():
            if isinstance(error, known):
                return words
    return str(error)


def of_http_error(error: HTTPException) -> Problem:
    """The problem for an error of the framework: an unknown path, an invalid body, a body that is too large."""
    status = error.status_code
    if status >= 500:
        return problem(500, "internal", "Something went wrong that should not.")
    name = _title(status).lower().replace(" ", "-")
    return problem(status, name, error.detail, errors=tuple(_fields(error.extra)))


def in_words(request: AnyRequest, error: HTTPException) -> Problem:
    """The same, with a detail that names what was asked for: the framework's own says "Not Found" or less."""
    found = of_http_error(error)
    path = request.url.path[:SHOWN]
    asked = f"{request.method} {path}"
    detail = found.detail
    if found.errors:
        wrong = "; ".join(f"{each.field}: {each.message}" for each in found.errors)
        detail = f"{asked} does not fit its description: {wrong}."
    elif isinstance(error.__cause__, SerializationException):
        detail = f"The body of {asked} is no JSON: {detail}."
    elif found.status == 404 and detail == found.title:
        session = "".join(path.split("/")[3:4])
        known = [
            route.path.replace("{session:str}", session).replace(":str}", "}")
            for route in request.app.routes
        ]
        detail = f"There is no path {path}.{did_you_mean(path, known)}"
    elif found.status == 405:
        detail = f"{request.method} is no method of {path}: the header Allow names those it takes."
    elif found.status == 413:
        detail = f"The body of {asked} is larger than this server takes. Nothing of it was used."
    return replace(found, detail=detail)


def _title(status: int) -> str:
    """The status's reason phrase of RFC 9110. Before version 3.13, two of Python's own are those of older documents."""
    renamed = {413: "Content Too Large", 422: "Unprocessable Content"}
    return renamed.get(status, HTTPStatus(status).phrase)


def _fields(extra: object) -> Iterator[FieldProblem]:
    if not isinstance(extra, list):
        return
    for item in extra:
        if isinstance(item, Mapping):
            yield FieldProblem(
                field=str(item.get("key", "")), message=str(item.get("message", ""))
            )


def answer(found: Problem, headers: Mapping[str, str] | None = None) -> Response[bytes]:
    """The problem as a response."""
    content = msgspec.json.encode(found)
    return Response(
        content,
        status_code=found.status,
        media_type=MEDIA_TYPE,
        headers=dict(headers or {}),
    )


def masked(request: AnyRequest, found: Problem) -> Problem:
    """The problem without keys and tokens: an error may quote an address, a file or a provider's message."""
    secrets = request.app.state.secrets
    errors = []
    for error in found.errors:
        errors.append(replace(error, message=secrets.masked(error.message)))
    return replace(found, detail=secrets.masked(found.detail), errors=tuple(errors))


def handle_error(request: AnyRequest, error: UllageError) -> Response[bytes]:
    """Answers an error of Ullage, a tenant in the words of ``told``."""
    headers = {}
    if isinstance(error, SessionBusy | LeaseLost | StoreUnavailable | TooManyStreams):
        headers["retry-after"] = "2"
    if isinstance(error, QuotaReached):
        headers["retry-after"] = str(max(1, math.ceil(error.until - time.time())))
        request.app.state.metrics.quota_refusals.inc()
    if isinstance(error, TooManyStreams):
        headers["connection"] = "close"
    bearer = request.scope.get("state", {}).get("bearer", ANYONE)
    found = of_error(error)
    detail = told(error, bearer.tenant)
    if detail != found.detail:
        log.warning(
            "The tenant %s was told: %s Because: %s", bearer.tenant, detail, error
        )
        found = replace(found, detail=detail)
    return answer(masked(request, found), headers)


def handle_http_error(request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """Answers an error of the framework."""
    if error.detail == LEFT:  # the client is gone, and the server made no error
        return answer(problem(400, "bad-request", "The body broke off."))
    if error.status_code >= 500:
        log.error("A request failed: %s", error, exc_info=error)
    return answer(masked(request, in_words(request, error)), error.headers)


def handle_mistake(request: AnyRequest, error: Exception) -> Response[bytes]:
    """Unexpected errors: logged, not shown to the client."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer(problem(500, "internal", "Something went wrong that should not."))
