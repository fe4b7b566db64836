"""Errors as answers."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from litestar.exceptions import HTTPException, NotFoundException, ValidationException

from tests.cases import case, filled
from tests.server.served import Api
from ullage import errors
from ullage.errors import (
    CommandRefused,
    LeaseLost,
    Overflow,
    SessionBusy,
    SessionNotFound,
    SettingError,
    StoreUnavailable,
    UllageError,
)
from ullage.masking import Secrets
from ullage_server.api_types import Problem
from ullage_server.problems import handle_error, of_error, of_http_error
from ullage_server.tokens import ANYONE


def every_error() -> list[type[UllageError]]:
    found = [
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind) and issubclass(kind, UllageError)
    ]
    return [kind for kind in found if kind is not UllageError]


def test_every_error_of_ours_has_a_status_and_says_what_to_do_next() -> None:
    for kind in filled(every_error()):
        with case(kind):
            error = kind.__new__(kind)
            Exception.__init__(error, "Something happened.")
            said = of_error(error)
            if kind is not errors.StoreError:
                assert said.status != 500
            assert said.type.startswith("urn:ullage:problem:")
            assert said.detail == "Something happened."
            assert said.next


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SessionNotFound("x"), 404),
        (CommandRefused("x"), 409),
        (SessionBusy("x"), 409),
        (LeaseLost("x"), 409),
        (SettingError("x"), 422),
        (StoreUnavailable("x"), 503),
        (Overflow("x"), 502),
    ],
)
def test_the_most_special_class_counts(error: UllageError, status: int) -> None:
    assert of_error(error).status == status


def test_what_is_wrong_with_a_body_is_said_field_by_field(api: Api) -> None:
    answer = api.post("/v1/sessions", json={"id": 3})
    problem = msgspec.json.decode(answer.content, type=Problem)
    assert problem.status == answer.status_code == 400
    assert problem.errors or problem.detail
    assert "openapi.json" in problem.next


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("POST", "/v1/sessions", b'{"id":', "The body of POST /v1/sessions is no JSON"),
        ("POST", "/v1/sessions", b'{"idd":"x"}', "unknown field `idd`"),
        ("GET", "/v1/sesions", None, "no path /v1/sesions. Did you mean '/v1/sessions'?"),
        ("GET", "/docs", None, "no path /docs."),
        (
            "POST",
            "/v1/sessions/cellar/message",
            b"{}",
            "Did you mean '/v1/sessions/cellar/messages'?",
        ),
        ("PUT", "/v1/sessions", b"{}", "PUT is no method of /v1/sessions"),
        ("POST", "/v1/sessions", b" " * 2_000_000, "is larger than this server takes"),
    ],
)
def test_a_refused_request_is_told_what_was_wrong_with_it(
    api: Api, method: str, path: str, body: bytes | None, words: str
) -> None:
    json = {"Content-Type": "application/json"}
    answer = api.request(method, path, content=body, headers=json)
    problem = msgspec.json.decode(answer.content, type=Problem)
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in problem.detail
    assert problem.next
    assert (
        problem.status != 404
        or problem.next == "GET /schema/openapi.json lists every path."
    )
    assert problem.status == answer.status_code


def test_nobody_is_told_what_a_mistake_of_the_server_was() -> None:
    said = of_http_error(HTTPException("password=hunter2", status_code=500))
    assert (said.status, "hunter2" in said.detail) == (500, False)


def test_the_framework_s_errors_keep_their_words() -> None:
    found = of_http_error(NotFoundException("There is no such thing.")).detail
    assert found == "There is no such thing."
    extra = [{"key": "text", "message": "Expected `str`", "source": "body"}, "odd"]
    (field,) = of_http_error(ValidationException("Bad body", extra=extra)).errors
    assert (field.field, field.message) == ("text", "Expected `str`")


@pytest.mark.parametrize(("tenant", "is_told"), [("acme", False), ("default", True)])
@pytest.mark.parametrize("kind", [StoreUnavailable, SessionBusy, LeaseLost])
def test_only_the_operator_is_told_of_addresses_and_machines(
    kind: type[UllageError], tenant: str, is_told: bool
) -> None:
    state = SimpleNamespace(secrets=Secrets())
    bearer = ANYONE._replace(tenant=tenant)
    request = SimpleNamespace(
        scope={"state": {"bearer": bearer}}, app=SimpleNamespace(state=state)
    )
    error = kind("postgresql://db.example.org/ullage can't be reached.")
    answer = handle_error(cast(Any, request), error)
    assert answer.status_code in (409, 503)
    assert (b"db.example.org" in answer.content) is is_told
