import json
import os
from pathlib import Path

import msgspec
import pytest

from ullage.events import FirstCall
from ullage.meter.policy import FIRST_CALLS_KEPT
from ullage.store.overhead import KIND, OverheadStore
from ullage.store.private_file import UnwritableStore


def call(number: int, **about: object) -> FirstCall:
    made = FirstCall(
        id=f"{number:016x}",
        session=f"{number}",
        program="codex 0.169.0",
        provider="openai",
        model="gpt-5",
        unlogged="tools",
        tokens=3_000 + number,
        at=float(number + 1),
    )
    return msgspec.structs.replace(made, **about)


def test_a_store_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert OverheadStore(tmp_path / "none").read() == ()


def test_what_was_stored_is_read_back_newest_first(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    for number in (2, 0, 1):
        store.add(call(number))
    assert store.read() == (call(2), call(1), call(0))
    assert (tmp_path / KIND / f"{2:016x}.json").stat().st_mode & 0o777 == 0o600


def test_the_same_call_is_stored_once_and_may_change(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    for tokens in (5, 5, 6):
        store.add(call(1, tokens=tokens))
    assert [each.tokens for each in store.read()] == [6]


def test_the_newest_few_of_a_kind_stay_on_disk(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    for number in range(3 * FIRST_CALLS_KEPT):
        store.add(call(number))
    newest = [3 * FIRST_CALLS_KEPT - 1 - number for number in range(FIRST_CALLS_KEPT)]
    assert store.read() == tuple(call(number) for number in newest)
    assert len(os.listdir(tmp_path / KIND)) == FIRST_CALLS_KEPT
    store.add(call(0))  # an old log that is read again
    assert len(os.listdir(tmp_path / KIND)) == FIRST_CALLS_KEPT


def test_no_call_from_the_future_is_stored(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path, clock=lambda: 100.0)
    store.add(call(1, at=101.0))
    assert store.read() == ()


def test_files_from_the_future_are_deleted(tmp_path: Path) -> None:
    ahead = OverheadStore(tmp_path, clock=lambda: 1e12)
    for number in range(100, 100 + 2 * FIRST_CALLS_KEPT):
        ahead.add(call(number, at=1e11 + number))
    store = OverheadStore(tmp_path, clock=lambda: 100.0)
    store.add(call(1))
    found = store.read()
    assert found == (call(1),)
    assert os.listdir(tmp_path / KIND) == [f"{1:016x}.json"]


@pytest.mark.parametrize("name", ["", "../../escaped", "a" * 16 + "/b", "G" * 16])
def test_an_id_that_is_no_digest_names_no_file(tmp_path: Path, name: str) -> None:
    OverheadStore(tmp_path).add(call(1, id=name))
    assert list(tmp_path.rglob("*.json")) == []


def test_what_is_written_holds_numbers_names_and_digests_alone(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    store.add(call(1, program="p" * 9_000, model="m" * 9_000))
    (path,) = (tmp_path / KIND).iterdir()
    assert path.stat().st_size < 1_000
    assert set(json.loads(path.read_bytes())) == {
        "id", "session", "program", "provider", "model", "unlogged", "tokens", "at",
    }  # fmt: skip


DAMAGES = [
    b"",
    b"{",
    b"\x00" * 40,
    b"[" * 9_000,
    b'{"tokens":"many"}',
    b'{"tokens":1}',
    b'{"id":"0000000000000007","tokens":1' + b"0" * 30 + b"}",
    b'{"id":"0000000000000007","tokens":1,"doubt":-5}',
]


def test_a_damaged_file_is_left_out_and_replaced(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    store.add(call(1))
    for number, content in enumerate(DAMAGES, 7):
        (tmp_path / KIND / f"{number:016x}.json").write_bytes(content)
    assert store.read() == (call(1),)
    store.add(call(2))
    assert len(os.listdir(tmp_path / KIND)) == 2
    assert store.read() == (call(2), call(1))


def test_other_files_are_neither_read_nor_deleted(tmp_path: Path) -> None:
    store = OverheadStore(tmp_path)
    store.add(call(1))
    (tmp_path / KIND / "notes.txt").write_text("mine")
    assert store.read() == (call(1),)
    store.add(call(2))
    assert "notes.txt" in os.listdir(tmp_path / KIND)


def test_a_directory_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / KIND).write_text("")
    store = OverheadStore(tmp_path)
    with pytest.raises(UnwritableStore, match="can't be read"):
        store.read()
    with pytest.raises(UnwritableStore, match="ULLAGE_DATA"):
        store.add(call(1))
