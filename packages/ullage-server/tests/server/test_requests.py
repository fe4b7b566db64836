"""A body as a file."""

import json
import tempfile
from contextlib import closing
from glob import glob
from pathlib import Path

import pytest
from litestar.exceptions import ClientException

from tests.hostile.logs import DEEP, claude
from tests.server.raw import connected, request
from tests.server.served import Api, Local, patiently
from ullage_server.requests import RESERVED, usable_id

EXPORT = {"format": "ullage-session", "version": 1, "session": "left"}


def uploads(content: bytes) -> list[Path]:
    """The files of uploads that begin with these bytes: other programs' uploads may be in the same directory."""
    found = []
    for name in glob(f"{tempfile.gettempdir()}/ullage-upload-*/*"):
        path = Path(name)
        try:
            if path.read_bytes().startswith(content):
                found.append(path)
        except (FileNotFoundError, PermissionError):
            continue
    return found


def test_nothing_of_what_was_sent_is_left(api: Api) -> None:
    for start, content in (
        (b"hello", b"hello"),
        (b'{"format": "ullage-session", "left": 4711', b"}\n"),
    ):
        for path in ("/v1/look", "/v1/sessions/import"):
            api.post(path, content=start + content)
        for _ in patiently():
            if not uploads(start):
                break
        assert uploads(start) == []


HOSTILE = {
    "nested deep": DEEP,
    "100,000 lines": b"{}\n" * 100_000,
    "100,000 messages": b"".join(
        json.dumps(claude("a", uuid=f"u{at}")).encode() + b"\n" for at in range(100_000)
    ),
    "no UTF-8": b"\xff\xfe{" * 5_000,
    "compressed": b"\x1f\x8b\x08" + b"x" * 500,
    "an export with lines nested deep": json.dumps(EXPORT).encode() + b"\n" + DEEP,
}


@pytest.mark.parametrize("path", ["/v1/look", "/v1/sessions/import"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(log, id=name, marks=[pytest.mark.sweep] * (len(log) > 1_000_000))
        for name, log in HOSTILE.items()
    ],
)
def test_a_hostile_log_is_read_or_refused_and_the_server_goes_on(
    api: Api, path: str, content: bytes
) -> None:
    answer = api.post(path, content=content)
    assert answer.status_code in (200, 201, 400, 422), answer.text
    assert api.get("/healthz").status_code == 200


@pytest.mark.parametrize("kind", ["application/json", "application/octet-stream"])
def test_deep_json_is_refused_whatever_it_is_called(api: Api, kind: str) -> None:
    body = b'{"settings":' + DEEP
    answer = api.post("/v1/sessions", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400, answer.text
    assert "nested too deep" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/look", "/v1/sessions/import"])
def test_a_log_that_is_half_sent_leaves_nothing(local: Local, path: str) -> None:
    start = b'{"half": "sent 4711'
    with closing(connected(local.url)) as connection:
        connection.sendall(
            request(
                "Content-Type: application/octet-stream",
                "Content-Length: 5000000",
                method="POST",
                target=path,
            )
            + start
            + b"a" * 2_000_000
        )
        for _ in patiently():
            if uploads(start):
                break
        assert len(uploads(start)) == 1
    for _ in patiently():
        if not uploads(start):
            break
    assert uploads(start) == []
    assert local.api.get("/healthz").status_code == 200


def test_a_file_that_is_sent_in_pieces_is_put_together(api: Api) -> None:
    session = api.session("pieces")
    api.say(session, "hello " * 2_000)
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export").content
    pieces = (exported[start : start + 1_000] for start in range(0, len(exported), 1_000))
    taken = api.post("/v1/sessions/import", params={"id": "whole"}, content=pieces)
    assert taken.json()["skipped"] == []
    assert api.messages("whole") == api.messages(session)


@pytest.mark.parametrize("said", [*RESERVED, "notes\n"])
def test_an_id_that_means_something_else_is_refused(said: str) -> None:
    with pytest.raises(ClientException):
        usable_id(said)
