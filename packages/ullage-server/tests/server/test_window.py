"""The window over HTTP, and that it is the one everybody else has."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.hostile.logs import claude
from tests.importers.first_calls import claude_code
from tests.places import CLIENT_LOGS
from tests.server.served import Api, serving
from ullage.importers import read
from ullage.meter.meter import Meter
from ullage.store.overhead import OverheadStore
from ullage_server.live_types import SHOWN
from ullage_server.policy import LOGS_AT_ONCE


def test_steps_say_estimate_actual_and_growth(api: Api) -> None:
    session = api.session("steps")
    for number in range(3):
        api.say(session, f"number {number}")
        api.until(session)
    steps = api.get(f"/v1/sessions/{session}/steps").json()["steps"]
    assert [step["number"] for step in steps] == [1, 2, 3]
    for before, step in zip([None, *steps], steps, strict=False):
        assert step["tokens"] == step["actual"]
        assert step["error"] == step["estimated"] - step["actual"]
        expected = None if before is None else step["tokens"] - before["tokens"]
        assert step["grown"] == expected


def test_the_largest_items_come_first_with_how_they_begin(api: Api) -> None:
    session = api.session("largest")
    api.say(session, "the largest of all, " * 50, id="big")
    api.until(session)
    items = api.get(f"/v1/sessions/{session}/largest", params={"count": 1}).json()[
        "largest"
    ]
    assert [(item["message"], item["position"]) for item in items] == [("big", 1)]
    assert items[0]["preview"].startswith("the largest of all")
    assert len(items[0]["preview"]) <= SHOWN


def test_the_picture_is_one_file_that_may_load_nothing(api: Api) -> None:
    session = api.session("drawn")
    api.say(session, "<script>alert(1)</script> " * 40)
    api.until(session)
    path = f"/v1/sessions/{session}/picture"
    for format, kind in (("html", "text/html"), ("svg", "image/svg+xml")):
        answer = api.get(path, params={"format": format})
        assert answer.headers["content-type"].startswith(kind)
        assert "<script" not in answer.text and "alert(1)" in answer.text
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert "sandbox" in policy
        for header in ("x-content-type-options", "x-frame-options", "referrer-policy"):
            assert header in answer.headers
        assert answer.headers["cache-control"] == "no-store"
    used = api.get(f"/v1/sessions/{session}/context").json()["used"]["tokens"]
    assert f"{used:,}" in answer.text
    assert api.get(path, params={"format": "png"}).status_code == 400


FIXTURES = CLIENT_LOGS
LOGS = sorted(path for path in FIXTURES.glob("*/*.jsonl") if read(path).usable)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_it_is_read_as_a_file_is(api: Api, path: Path) -> None:
    answer = api.post("/v1/look", content=path.read_bytes())
    assert answer.status_code == 200, answer.text
    looked, imported = answer.json(), read(path)
    meter = Meter()
    for event in imported.events:
        meter.apply(event)
    assert looked["reading"]["used"]["tokens"] == meter.reading().used.tokens
    assert len(looked["steps"]) == len(meter.steps)
    assert looked["log"]["format"] == imported.format
    assert looked["log"]["skipped_lines"] == imported.skipped_lines


def test_a_log_is_shown_by_what_was_learnt(provider: str, tmp_path: Path) -> None:
    taught = Meter()
    for event in read(claude_code(tmp_path, 1, "Which price?", 21_000)).events:
        taught.apply(event)
    assert taught.first_call is not None
    log = claude_code(tmp_path, 2, "Which price?", 30_000)
    with serving(provider, tmp_path / "s.db") as server:
        store = OverheadStore(server.agent._data)
        store.add(taught.first_call)
        looked = server.api.post("/v1/look", content=log.read_bytes()).json()
        assert abs(looked["steps"][0]["estimated"] - 21_000) < 100
        assert store.read() == (taught.first_call,)


def test_health_answers_while_more_logs_are_read_than_may_be_at_once(api: Api) -> None:
    messages = (claude("a", uuid=f"u{number}") for number in range(10_000))
    log = b"\n".join(json.dumps(message).encode() for message in messages)
    with ThreadPoolExecutor(2 * LOGS_AT_ONCE) as clients:
        asked = [
            clients.submit(api.post, "/v1/look", content=log, timeout=300)
            for _ in range(2 * LOGS_AT_ONCE)
        ]
        assert api.get("/healthz", timeout=300).status_code == 200
        assert not all(each.done() for each in asked)
        assert {each.result().status_code for each in asked} == {200}


def test_the_window_may_be_said(api: Api) -> None:
    answer = api.post("/v1/look", params={"window": 12_345}, content=LOGS[0].read_bytes())
    assert answer.json()["reading"]["window"] == {"tokens": 12_345, "source": "user"}


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"\0\1\2",
        b"{}",
        b"[]",
        b"SQLite format 3\0" + b"x" * 100,
        b"\x1f\x8b123",
    ],
)
def test_what_is_no_log_is_refused_by_each_format(api: Api, content: bytes) -> None:
    answer = api.post("/v1/look", content=content)
    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert "/tmp" not in answer.text


def test_our_own_export_is_a_log_too(api: Api) -> None:
    session = api.session("own")
    api.say(session, "hello")
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export").content
    looked = api.post("/v1/look", content=exported).json()
    context = api.get(f"/v1/sessions/{session}/context").json()
    assert looked["log"]["format"] == "ullage"
    assert looked["reading"]["used"] == context["used"]
