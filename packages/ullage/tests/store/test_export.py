import json
import os
import random
from pathlib import Path

import pytest

from tests.store.sessions import said, step
from ullage.encoding import decode_event, encode
from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import (
    CommandRefused,
    NotASession,
    SessionNotFound,
    StoreUnavailable,
    UnreadableInput,
)
from ullage.events import Event, Imported, QueueLeft, SessionStarted
from ullage.store.export import (
    FORMAT,
    PIECE_BYTES,
    VERSION,
    Taken,
    export_file,
    export_lines,
    import_file,
    one_line,
)
from ullage.store.places import store_at
from ullage.store.store import SessionStore

LONG = random.Random(2).randbytes(PIECE_BYTES * 2 + 17)


async def exported(store: SessionStore, path: Path) -> list[Event]:
    """A session with every kind of thing in it, written to a file; gives its events."""
    chance = random.Random(1)
    await store.create("s", [SessionStarted(model="m", title="A title")], origin="from")
    lease = await store.acquire("s", "o", ttl_s=60)
    for name in ("gone", "waits"):
        await store.send("s", said(name), "steer")
    newer = decode_event(b'{"type":"newer","of":{\n"lines": [1,\n2]}}')
    events = [
        QueueLeft(message_id="gone", how="returned"),
        newer,
        *(e for n in range(30) for e in step(chance, n)),
    ]
    await store.append(lease, events, after=0)
    for data in (b"short", b"", LONG):
        await store.keep("s", data)
    await export_file(store, "s", path)
    return await store.read("s")


async def test_a_session_comes_back_from_its_file_as_it_was(
    store: SessionStore, other_place: str, tmp_path: Path
) -> None:
    events = await exported(store, tmp_path / "s.jsonl")
    other = store_at(other_place)
    taken = await import_file(other, tmp_path / "s.jsonl")
    assert taken == Taken("s", len(events), 3, (), ("the queued message waits",))
    whole = await other.read("s")
    again, added = whole[: len(events)], whole[len(events) :]
    assert [type(event) for event in added] == [QueueLeft, Imported]
    assert [one_line(event) for event in again] == [one_line(event) for event in events]
    assert await other.handles("s") == await store.handles("s")
    for handle in await store.handles("s"):
        assert await other.kept("s", handle) == await store.kept("s", handle)
    assert await other.pending("s") == []
    here, there = await store.about("s"), await other.about("s")
    assert there == here._replace(
        key=there.key,
        changed=there.changed,
        listed=there.listed,
        created=events[0].at,
        held_by="",
        seq=len(whole),
        drivers=0,
        due_at=None,  # what waited was returned
    )
    assert here.created <= events[0].at
    await other.close()


async def test_an_import_is_at_its_place(store: SessionStore, tmp_path: Path) -> None:
    await store.create("s", place="cellar")
    file = tmp_path / "s.jsonl"
    await export_file(store, "s", file)
    for name, place in (("own", None), ("other", "attic"), ("none", "")):
        await import_file(store, file, name, place=place)
    places = [(await store.about(name)).place for name in ("own", "other", "none")]
    assert places == ["cellar", "attic", ""]
    file.write_text(file.read_text().replace('"cellar"', '"The Cellar"'))
    with pytest.raises(UnreadableInput, match="names the place 'The Cellar'") as refused:
        await import_file(store, file, "damaged")
    assert "Correct or remove `place`" in str(refused.value)


async def test_a_session_can_have_another_id(store: SessionStore, tmp_path: Path) -> None:
    await exported(store, tmp_path / "s.jsonl")
    with pytest.raises(CommandRefused, match="already"):
        await import_file(store, tmp_path / "s.jsonl")
    assert (await import_file(store, tmp_path / "s.jsonl", "t")).session == "t"
    assert not list(tmp_path.glob(".*")), "no part of a file is left"
    assert {event.session for event in await store.read("t")} == {"t"}


async def test_the_file_has_one_event_a_line(store: SessionStore, tmp_path: Path) -> None:
    events = await exported(store, tmp_path / "s.jsonl")
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines()
    assert json.loads(lines[0]) == {
        "format": FORMAT,
        "version": VERSION,
        "session": "s",
        "title": "A title",
        "origin": "from",
        "events": len(events),
        "kept": 3,
        "place": "",
    }
    assert [json.loads(line) for line in lines[1 : len(events) + 1]] == [
        json.loads(encode(event)) for event in events
    ]
    assert sorted(json.loads(line)["number"] for line in lines[len(events) + 1 :]) == [
        0,
        0,
        0,
        1,
        2,
    ]


async def test_a_cut_file_says_what_lacks(store: SessionStore, tmp_path: Path) -> None:
    events = await exported(store, tmp_path / "s.jsonl")
    data = (tmp_path / "s.jsonl").read_bytes()
    first = data.index(b"\n") + 1
    chance = random.Random(4)
    for number in range(40):
        end = (
            chance.randrange(first, len(data) - 1)
            if number % 2
            else chance.randrange(first, len(data) // 20)
        )
        (tmp_path / "cut.jsonl").write_bytes(data[:end])
        taken = await import_file(store, tmp_path / "cut.jsonl", f"cut-{number}")
        again = await store.read(taken.session)
        assert isinstance(again[-1], Imported)
        assert [each.id for each in again[: taken.events]] == [
            each.id for each in events[: taken.events]
        ]
        assert taken.skipped, "what lacks is said"
        if not data[:end].endswith(b"\n"):
            assert "torn" in taken.skipped[0][1]


async def test_unusable_lines_are_named(store: SessionStore, tmp_path: Path) -> None:
    events = await exported(store, tmp_path / "s.jsonl")
    lines = (tmp_path / "s.jsonl").read_bytes().splitlines(keepends=True)
    lines[3], lines[5], lines[6] = b"rubbish\n", b'{"seq":3}\n', b"\n"
    lines[-1] = lines[-1].replace(b'"data":"', b'"data":"AAAA')
    lines.append(b'{"kept":"\xff","number":0,"of":1,"data":""}\n')
    (tmp_path / "bad.jsonl").write_bytes(b"".join(lines))
    taken = await import_file(store, tmp_path / "bad.jsonl", "t")
    assert taken.events == len(events) - 3
    assert [number for number, _ in taken.skipped] == [4, 6, len(lines), 0, 0]
    assert "not whole" in taken.skipped[3][1]
    assert "lacks 3 events" in taken.skipped[4][1]
    again = await store.read("t")
    assert [event.seq for event in again] == list(range(1, len(again) + 1))


async def test_what_is_no_export_is_refused(store: SessionStore, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for content in (b"", b"\xff\xfe", b"{}\n", b'{"type":"session_started"}\n'):
        path.write_bytes(content)
        with pytest.raises(NotASession, match=FORMAT):
            await import_file(store, path)
    path.write_bytes(b'{"format":"ullage-session","version":99,"session":"s"}\n')
    with pytest.raises(UnreadableInput, match="newer format"):
        await import_file(store, path)
    with pytest.raises(UnreadableInput, match="can't be opened"):
        await import_file(store, tmp_path / "none.jsonl")
    assert await store.sessions() == []


async def test_what_can_not_be_exported_says_why(
    store: SessionStore, tmp_path: Path
) -> None:
    with pytest.raises(SessionNotFound):
        await anext(export_lines(store, "s"))
    (tmp_path / "old.jsonl").write_text("precious")
    with pytest.raises(SessionNotFound):
        await export_file(store, "s", tmp_path / "old.jsonl")
    assert (tmp_path / "old.jsonl").read_text() == "precious"
    await store.create("s")
    with pytest.raises(StoreUnavailable, match="can't be used"):
        await export_file(store, "s", tmp_path / "no" / "directory.jsonl")


async def test_limits_of_lines_and_files_hold(
    store: SessionStore, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    deep = (
        b'{"type":"params_changed","params":{"x":'
        + b"[" * 200_000
        + b"]" * 200_000
        + b"}}"
    )
    lines = [
        b'{"format":"ullage-session","version":1,"session":"s"}',
        deep,
        b"x" * (LOG_LINE_BYTES + 5),
        b"",
    ]
    path.write_bytes(b"\n".join(lines))
    taken = await import_file(store, path)
    assert taken.skipped == ((2, "nested too deep"), (3, "too long"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableInput, match="no regular file"):
        await import_file(store, tmp_path / "pipe")
    os.truncate(path, 1 << 40)
    with pytest.raises(UnreadableInput, match="the most that is imported"):
        await import_file(store, path)


async def test_the_file_is_the_users_alone(store: SessionStore, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch(mode=0o644)
    await exported(store, path)
    assert path.stat().st_mode & 0o777 == 0o600
