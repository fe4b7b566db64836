"""Each request in the log and in the metrics."""

from __future__ import annotations

import logging

import pytest

from tests.server.served import Api
from ullage.log_lines import fields_of

REQUESTS = "http_server_request_duration_seconds_count"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class FakeOperator(logging.Handler):
    """Keeps the fields of each line of the access log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, object]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(fields_of(record))


@pytest.fixture
def operator() -> FakeOperator:
    return FakeOperator()


def counted(api: Api) -> list[str]:
    told = api.get("/metrics").text.splitlines()
    return [line for line in told if line.startswith(REQUESTS)]


def test_a_request_keeps_the_id_that_it_came_with(api: Api) -> None:
    answer = api.get("/v1/access", headers={"X-Request-Id": "from-the.proxy:1"})
    assert answer.headers.get_list("x-request-id") == ["from-the.proxy:1"]


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, 'a"b', "\xe9"])
def test_an_id_that_could_harm_a_log_is_replaced(api: Api, given: str) -> None:
    headers = {b"X-Request-Id": given.encode("latin-1")}
    made = api.get("/v1/access", headers=headers).headers["x-request-id"]
    assert len(made) == 32 and made != given


def test_requests_are_counted_by_route_and_status_and_never_by_path(api: Api) -> None:
    api.session("secret-plan")
    for path in ("/v1/sessions/secret-plan", "/v1/sessions/none", "/no/such/path"):
        api.get(path)
    api.request("BREW", "/v1/sessions")
    told = "\n".join(counted(api))
    for labels in (
        'method="POST",http_response_status_code="201",http_route="/v1/sessions"',
        'method="GET",http_response_status_code="200",http_route="/v1/sessions/{session}"',
        'method="GET",http_response_status_code="404",http_route="/v1/sessions/{session}"',
        'method="GET",http_response_status_code="404",http_route="(none)"',
        'method="_OTHER",http_response_status_code="405",http_route="(none)"',
    ):
        assert f"{labels}}} 1.0" in told
    assert "secret-plan" not in told and "/no/such" not in told


def test_a_line_of_the_log_is_one_request(api: Api, operator: FakeOperator) -> None:
    api.session("s")
    access = logging.getLogger("ullage.access")
    access.addHandler(operator)
    access.setLevel(logging.INFO)
    try:
        api.get("/healthz")
        api.get(
            "/v1/sessions/s?secret=1",
            headers={
                "X-Request-Id": "r1",
                "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01",
            },
        )
    finally:
        access.removeHandler(operator)
        access.setLevel(logging.NOTSET)
    (line,) = operator.lines
    assert isinstance(line.pop("duration_s"), float)
    assert line == {
        "request_id": "r1",
        "trace_id": TRACE,
        "span_id": "00f067aa0ba902b7",
        "route": "/v1/sessions/{session}",
        "tenant": "default",
        "session": "s",
        "method": "GET",
        "status": 200,
    }
