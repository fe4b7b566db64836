import json
import os
from pathlib import Path

import pytest

from ullage.errors import UllageError
from ullage.store.calibration import FILE, CalibrationStore, DamagedStore
from ullage.store.private_file import UnwritableStore
from ullage.tokens.calibration import Calibration, Learnt
from ullage.tokens.regression import Observation

SEEN = Observation(content=900, residual=40, actual=5_000, corrected=12, expected=20)
HAIKU = (
    Calibration()
    .learn("anthropic", "claude-haiku-4-5", SEEN)
    .learn("anthropic", "claude-haiku-4-5", SEEN)
)
GPT = Calibration().learn("openai", "gpt-5", SEEN)


def test_a_store_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert CalibrationStore(tmp_path / "none").read() == Calibration()


def test_what_was_stored_is_read_back(tmp_path: Path) -> None:
    CalibrationStore(tmp_path).add(HAIKU)
    assert CalibrationStore(tmp_path).read() == HAIKU


def test_adding_a_model_keeps_the_others_and_replaces_its_own(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path)
    store.add(HAIKU)
    store.add(GPT)
    newer = GPT.learn("openai", "gpt-5", SEEN)
    store.add(newer)
    assert store.read() == Calibration(models=HAIKU.models | newer.models)


def test_the_directory_is_made_when_it_is_needed(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "a" / "b")
    store.add(GPT)
    assert store.shown == str(tmp_path / "a" / "b" / FILE)


def test_replacing_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path)
    for _ in range(3):
        store.add(GPT)
    assert os.listdir(tmp_path) == [FILE]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x00" * 40,
        b"[]",
        b'{"version":1}',
        b'{"version":"x"}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_damaged_store_is_named_with_what_to_do(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(DamagedStore) as problem:
        CalibrationStore(tmp_path).read()
    assert str(tmp_path / FILE) in str(problem.value)
    assert "Delete the file" in str(problem.value)
    assert isinstance(problem.value, UllageError)


def test_a_damaged_store_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"precious{")
    with pytest.raises(DamagedStore):
        CalibrationStore(tmp_path).add(GPT)
    assert (tmp_path / FILE).read_bytes() == b"precious{"


def test_a_newer_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"version": 99, "models": "other"}))
    with pytest.raises(DamagedStore, match="newer Ullage"):
        CalibrationStore(tmp_path).read()


def test_fields_of_a_later_release_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(
        '{"version":1,"models":{"a/m":{"n":2,"new":3}},"more":4}'
    )
    assert CalibrationStore(tmp_path).read().models == {"a/m": Learnt(n=2)}


def test_a_store_that_is_a_directory_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(DamagedStore, match="can't be opened"):
        CalibrationStore(tmp_path).read()


def test_a_place_that_can_not_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UllageError) as problem:
        CalibrationStore(tmp_path / "file").add(GPT)
    assert isinstance(problem.value, UnwritableStore | DamagedStore)
    assert "ULLAGE_DATA" in str(problem.value)
