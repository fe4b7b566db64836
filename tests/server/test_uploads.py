"""A body as a file."""

import tempfile
from pathlib import Path

from tests.server.served import Api


def uploads() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("ullage-upload-*"))


def test_nothing_of_what_was_sent_is_left(api: Api) -> None:
    before = uploads()
    for content in (b"hello", b'{"format": "ullage-session", "version": 1, "session": "left"}\n'):
        api.post("/v1/look", content=content)
        api.post("/v1/sessions/import", content=content)
    assert uploads() == before


def test_a_file_that_is_sent_in_pieces_is_put_together(api: Api) -> None:
    session = api.session("pieces")
    api.say(session, "hello " * 2_000)
    api.until(session)
    exported = api.get(f"/v1/sessions/{session}/export").content
    pieces = (exported[start : start + 1_000] for start in range(0, len(exported), 1_000))
    taken = api.post("/v1/sessions/import", params={"id": "whole"}, content=pieces)
    assert taken.json()["skipped"] == []
    assert api.messages("whole") == api.messages(session)
