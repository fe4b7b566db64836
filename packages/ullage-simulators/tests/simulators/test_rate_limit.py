"""The simulators' rate limits."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from ullage_simulators import running
from ullage_simulators.rate_limit import RateLimit
from ullage_simulators.scenario import read

BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("/v1/messages",
        {"model": "claude-haiku-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi."}]}),
    "openai": ("/chat/completions", {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi."}]}),
}  # fmt: skip


def post(url: str, path: str, body: dict[str, Any], key: str) -> tuple[int, Any]:
    headers = {"x-api-key": key, "authorization": f"Bearer {key}"}
    headers |= {"anthropic-version": "2023-06-01", "content-type": "application/json"}
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), headers=headers
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers
    except urllib.error.HTTPError as problem:
        return problem.code, problem.headers


@pytest.mark.parametrize("wire", list(BODIES))
def test_one_request_too_many_is_refused_with_the_provider_s_headers(wire: str) -> None:
    path, body = BODIES[wire]
    begin = "anthropic-ratelimit-requests-" if wire == "anthropic" else "x-ratelimit-"
    end = "" if wire == "anthropic" else "-requests"
    with running(read({"server": {"requests_per_minute": 2}})) as server:
        url = server.url(wire)
        answers = [post(url, path, body, "a") for _ in range(3)]
        assert [status for status, _ in answers] == [200, 200, 429]
        shown = answers[2][1]
        assert 25 <= int(shown["retry-after"]) <= 30
        assert shown[f"{begin}limit{end}"] == "2"
        assert shown[f"{begin}remaining{end}"] == "0"
        assert shown[f"{begin}reset{end}"]
        assert post(url, path, body, "another")[0] == 200


def test_a_limit_refills_continuously() -> None:
    now = 0.0
    limit = RateLimit(6, 0, lambda: now)
    assert [limit.take() for _ in range(7)] == [None] * 6 + [10.0]
    now = 10.0
    assert limit.take() is None and limit.take() == 10.0
    assert limit.headers("openai", 10.0) == {
        "x-ratelimit-limit-requests": "6",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
        "retry-after": "10",
    }


def test_tokens_are_counted_when_they_are_known() -> None:
    now = 0.0
    limit = RateLimit(0, 600, lambda: now)
    assert limit.take() is None
    limit.spend(900)
    assert limit.take() == pytest.approx(30.1)
