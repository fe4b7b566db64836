import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from tests.simulators.asking import Ask, Talk
from ullage_simulators import running
from ullage_simulators.faults import HUGE, TINY
from ullage_simulators.scenario import read

ASKS: dict[str, Ask] = {
    "anthropic": Ask(
        "/v1/messages",
        {
            "model": "claude-opus-4-6",
            "max_tokens": 500,
            "messages": [{"role": "user", "content": "hello"}],
            "stream": True,
        },
    ),
    "openai": Ask("/responses", {"model": "gpt-5", "input": "hello", "stream": True}),
    "deepseek": Ask(
        "/chat/completions",
        {
            "model": "deepseek-reasoner",
            "messages": [{"role": "user", "content": "hello"}],
            "stream": True,
        },
    ),
    "gemini": Ask(
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        {"contents": [{"parts": [{"text": "hello"}]}]},
    ),
}
WIRES = pytest.mark.parametrize("wire", ASKS)


@contextmanager
def broken(*faults: Any, **content: Any) -> Iterator[Talk]:
    with running(read({"faults": list(faults), **content}), seed=1) as server:
        yield Talk(server)


def usages(text: str) -> list[Any]:
    """Every usage object in a streamed answer that says something."""
    found: list[Any] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(
                value[name] for name in ("usage", "usageMetadata") if value.get(name)
            )
            for each in value.values():
                look(each)
        elif isinstance(value, list):
            for each in value:
                look(each)

    for line in text.splitlines():
        if line.startswith("data: {"):
            look(json.loads(line[6:]))
    return found


def numbers(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, int) else []


@WIRES
def test_without_usage_the_answer_is_whole_but_for_it(wire: str) -> None:
    with broken({"kind": "no-usage", "request": 1}) as talk:
        first, second = (talk.send(wire, ASKS[wire]).text for _ in range(2))
    assert usages(first) == []
    assert usages(second)


@WIRES
def test_zero_usage_is_zero_throughout(wire: str) -> None:
    with broken({"kind": "zero-usage"}) as talk:
        shown = usages(talk.send(wire, ASKS[wire]).text)
        assert talk.server.truth().bills[0].input > 0
    assert shown
    assert not any(numbers(shown))


FALSE: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "huge-usage": lambda first, second: (HUGE, HUGE),
    "tiny-usage": lambda first, second: (TINY, TINY),
    "cumulative-usage": lambda first, second: (first, first + second),
    "uncached-only": lambda first, second: (first, second - first),
}


def longer(ask: Ask) -> Ask:
    """The same request with a longer text."""
    return Ask(ask.path, json.loads(json.dumps(ask.body).replace("hello", "hello " * 40)))


@WIRES
@pytest.mark.parametrize("kind", FALSE)
def test_a_false_input_is_shown_and_the_truth_is_kept(wire: str, kind: str) -> None:
    with broken({"kind": kind}) as talk:
        last = []
        for ask in (ASKS[wire], longer(ASKS[wire])):
            last.append(usages(talk.send(wire, ask).text)[-1])
        first, second = (bill.input for bill in talk.server.truth().bills)
    for usage, wanted in zip(last, FALSE[kind](first, second), strict=True):
        assert wanted in numbers(usage)
        assert not any("cache" in name.lower() for name in usage)


@WIRES
def test_an_input_that_is_no_number_is_shown_as_such(wire: str) -> None:
    with broken({"kind": "nan-usage"}) as talk:
        assert "NaN" in talk.send(wire, ASKS[wire]).text
        assert talk.server.truth().bills[0].input > 0


@WIRES
def test_late_usage_comes_in_one_piece_near_the_end(wire: str) -> None:
    with broken({"kind": "late-usage", "seconds": 0.05}) as talk:
        text = talk.send(wire, ASKS[wire]).text
        true = talk.server.truth().bills[0]
    telling = [each for each in usages(text) if any(numbers(each))]
    assert {
        each.get("input_tokens", each.get("prompt_tokens", each.get("promptTokenCount")))
        for each in telling
    } == {true.input}
    assert len(telling) == 1


@WIRES
@pytest.mark.parametrize("size", [0, 1, 200])
def test_a_cut_answer_ends_after_exactly_that_many_bytes(wire: str, size: int) -> None:
    with broken({"kind": "cut", "at": size}) as talk:
        got = bytearray()
        headers = {
            "x-api-key": "a",
            "authorization": "Bearer a",
            "x-goog-api-key": "a",
            "anthropic-version": "2023-06-01",
        }
        url = talk.server.url(wire) + ASKS[wire].path
        with (
            pytest.raises(httpx2.RemoteProtocolError),
            talk.http.stream(
                "POST", url, json=ASKS[wire].body, headers=headers
            ) as response,
        ):
            for part in response.iter_raw():
                got += part
    assert len(got) == size


def test_a_reset_connection_is_reset() -> None:
    with (
        broken({"kind": "reset", "at": 100}) as talk,
        pytest.raises((httpx2.ReadError, httpx2.RemoteProtocolError)),
    ):
        talk.send("anthropic", ASKS["anthropic"])


def test_a_hanging_answer_hangs_and_the_server_still_stops() -> None:
    with broken({"kind": "hang", "at": 50}) as talk:
        talk.http.timeout = httpx2.Timeout(0.3)
        with pytest.raises(httpx2.ReadTimeout):
            talk.send("anthropic", ASKS["anthropic"])
        began = time.monotonic()
    assert time.monotonic() - began < 60


def test_a_slow_answer_is_whole() -> None:
    with broken({"kind": "slow", "seconds": 0.005}) as talk:
        assert talk.events("openai", ASKS["openai"])[-1]["type"] == "response.completed"


@pytest.mark.parametrize(
    ("wire", "status", "kind"),
    [
        ("anthropic", 429, "rate_limit_error"),
        ("anthropic", 500, "api_error"),
        ("anthropic", 529, "overloaded_error"),
        ("openai", 429, "requests"),
        ("openai", 503, "server_error"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("gemini", 503, "UNAVAILABLE"),
    ],
)
def test_trouble_has_the_providers_error(wire: str, status: int, kind: str) -> None:
    fault = {"kind": "status", "request": 1, "status": status, "retry_after_s": 2}
    with broken(fault) as talk:
        first, second = (talk.send(wire, ASKS[wire]) for _ in range(2))
    assert (first.status_code, first.headers["retry-after"]) == (status, "2")
    assert kind in (
        first.json()["error"].get("type"),
        first.json()["error"].get("status"),
    )
    assert second.status_code == 200


@WIRES
def test_what_carries_the_bill_can_come_twice(wire: str) -> None:
    with broken({"kind": "duplicate-events", "request": 1}) as talk:
        twice, once = (usages(talk.send(wire, ASKS[wire]).text) for _ in range(2))
    assert len(twice) == 2 * len(once)


@WIRES
def test_events_of_unknown_kinds_come_in_between(wire: str) -> None:
    with broken({"kind": "unknown-events"}) as talk:
        text = talk.send(wire, ASKS[wire]).text
    assert ": a comment" in text
    assert "simulated" in text


@WIRES
def test_one_event_is_no_json(wire: str) -> None:
    with broken({"kind": "malformed-json"}) as talk:
        lines = [
            line[6:]
            for line in talk.send(wire, ASKS[wire]).text.splitlines()
            if line.startswith("data: {")
        ]
    bad = 0
    for line in lines:
        try:
            json.loads(line)
        except ValueError:
            bad += 1
    assert bad == 1


def test_a_page_can_come_instead_of_an_answer() -> None:
    with broken({"kind": "content-type"}) as talk:
        response = talk.send("openai", ASKS["openai"])
    assert response.headers["content-type"].startswith("text/html")
    assert "Sign in" in response.text


def test_a_fault_can_be_for_one_path_alone() -> None:
    with broken({"kind": "status", "path": "/gemini"}) as talk:
        assert talk.status("gemini", ASKS["gemini"]) == 500
        assert talk.status("openai", ASKS["openai"]) == 200
