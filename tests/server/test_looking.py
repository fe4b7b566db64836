"""Another agent's log, sent to be looked at."""

from pathlib import Path

import pytest

from tests.server.served import Api
from ullage.importers import read
from ullage.meter.meter import Meter

FIXTURES = Path(__file__).parents[1] / "importers" / "fixtures"
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


def test_there_are_logs_to_look_at() -> None:
    assert len({path.parent.name for path in LOGS}) >= 4


def test_the_window_may_be_said(api: Api) -> None:
    answer = api.post("/v1/look", params={"window": 12_345}, content=LOGS[0].read_bytes())
    assert answer.json()["reading"]["window"] == {"tokens": 12_345, "source": "user"}


@pytest.mark.parametrize(
    "content", [b"hello", b"\0\1\2", b"{}", b"[]", b"SQLite format 3\0" + b"x" * 100, b"\x1f\x8b123"]
)
def test_what_is_no_log_is_refused_with_what_each_format_missed(api: Api, content: bytes) -> None:
    answer = api.post("/v1/look", content=content)
    assert answer.status_code == 422
    assert answer.json()["detail"]
    assert "/tmp" not in answer.text


def test_nothing_is_no_log(api: Api) -> None:
    assert api.post("/v1/look").status_code == 400


def test_our_own_export_is_a_log_too(api: Api) -> None:
    session = api.session("own")
    api.say(session, "hello")
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export").content
    looked = api.post("/v1/look", content=exported).json()
    context = api.get(f"/v1/sessions/{session}/context").json()
    assert looked["log"]["format"] == "ullage"
    assert looked["reading"]["used"] == context["used"]
