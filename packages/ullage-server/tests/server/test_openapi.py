"""The API's description, and that the API is what it describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.server.running_logs import GrowingSession, live_in
from tests.server.served import Api, Local, script, serving
from tests.tiers import examples
from ullage_server.app import HANDLERS
from ullage_server.openapi import type_schemas
from ullage_simulators import running

EXAMPLES = examples(40)
"""Requests for each operation and kind of path."""

ENDLESS = "follow_events"
"""Never answers to its end; packages/ullage-server/tests/server/test_event_stream.py is about it."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    """A server with a session that has something in it, and another program's that runs."""
    place = tmp_path_factory.mktemp("described")
    GrowingSession(place, "11111111-aaaa").turn("Which price?")
    with (
        running(script({"text": "Here is an answer. " * 5})) as simulator,
        serving(
            simulator.url("anthropic"), place / "s.db", shows=live_in(place)
        ) as server,
    ):
        api = server.api
        session = api.session("there")
        api.say(session, "hello", id="said")
        api.until(session)
        yield server


def document(api: Api) -> dict[str, Any]:
    return dict(api.get("/schema/openapi.json").json())


def test_every_handler_is_described_under_its_own_name(described: Local) -> None:
    paths = document(described.api)["paths"]
    names = [
        operation["operationId"] for item in paths.values() for operation in item.values()
    ]
    assert (
        len(names)
        == len(set(names))
        == sum(bool(handler.resolve_include_in_schema()) for handler in HANDLERS)
    )


def test_every_reference_leads_somewhere(described: Local) -> None:
    whole = document(described.api)

    def references(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for each in value.values():
                yield from references(each)
        elif isinstance(value, list):
            for each in value:
                yield from references(each)

    for reference in references(whole):
        found: Any = whole
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]


def test_words_that_are_stored_may_have_fields_of_newer_versions() -> None:
    schemas = type_schemas()
    assert "additionalProperties" not in schemas["Message"]
    assert "~" not in schemas["Message"]["properties"]
    assert schemas["NewMessage"]["additionalProperties"] is False


def test_no_request_finds_an_error_of_the_server_or_an_answer_that_is_not_described(
    described: Local,
) -> None:
    """Whatever is sent, to sessions that are there and to others, fits the description and is no 5xx."""
    schema = schemathesis.openapi.from_dict(document(described.api))
    schema.config.update(base_url=described.url)
    (line,) = described.api.get("/v1/live").json()["sessions"]
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if operation.definition.raw["operationId"] != ENDLESS:
            _fuzz(operation, described.url, line["id"])
            tried += 1
    assert tried == len(HANDLERS) - 4


def _fuzz(operation: Any, url: str, running_id: str) -> None:
    kinds = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=st.one_of(kinds), there=st.booleans())
    def holds(case: Any, there: bool) -> None:
        if there and "session" in (case.path_parameters or {}):
            case.path_parameters["session"] = "there"
        if there and "live" in (case.path_parameters or {}):
            case.path_parameters["live"] = running_id
        response = case.call(base_url=url, timeout=60)
        case.validate_response(response, checks=CHECKS)

    holds()
