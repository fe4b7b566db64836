import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ullage.store.calibration import KIND, CalibrationStore
from ullage.store.private_file import UnwritableStore
from ullage.tokens.calibration import Calibration, Learnt
from ullage.tokens.regression import Observation

SEEN = Observation(content=900, residual=40, corrected=12, expected=20)
HAIKU = (
    Calibration()
    .learn("anthropic", "claude-haiku-4-5", SEEN)
    .learn("anthropic", "claude-haiku-4-5", SEEN)
)
NAME = "openai%2Fgpt-5.json"
GPT = Calibration().learn("openai", "gpt-5", SEEN)


def test_a_store_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert CalibrationStore(tmp_path / "none").read() == Calibration()


def test_adding_a_model_keeps_the_others_and_replaces_its_own(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path)
    store.add(HAIKU)
    store.add(GPT)
    newer = GPT.learn("openai", "gpt-5", SEEN)
    store.add(newer)
    assert store.read() == Calibration(models=HAIKU.models | newer.models)


def test_each_model_has_a_file_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path / "a")
    for _ in range(3):
        store.add(GPT)
    assert os.listdir(tmp_path / "a" / KIND) == [NAME]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\x00" * 40, b"[]", b'{"n":"x"}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_damaged_record_is_learnt_again(tmp_path: Path, content: bytes) -> None:
    store = CalibrationStore(tmp_path)
    store.add(HAIKU)
    (tmp_path / KIND / NAME).write_bytes(content)
    assert store.read() == HAIKU
    store.add(GPT)
    assert store.read() == Calibration(models=HAIKU.models | GPT.models)


def test_of_several_that_learnt_at_once_the_longest_stays(tmp_path: Path) -> None:
    learnt = [Calibration()]
    for _ in range(4):
        learnt.append(learnt[-1].learn("openai", "gpt-5", SEEN))
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda one: CalibrationStore(tmp_path).add(one), learnt))
    CalibrationStore(tmp_path).add(learnt[1])
    assert CalibrationStore(tmp_path).read() == learnt[-1]


def test_that_a_model_binds_reasoning_is_not_forgotten(tmp_path: Path) -> None:
    store = CalibrationStore(tmp_path)
    store.add(Calibration().bound("openai", "gpt-5"))
    store.add(GPT)
    assert store.read().models["openai/gpt-5"].binds


def test_fields_of_a_later_release_are_no_damage(tmp_path: Path) -> None:
    (tmp_path / KIND).mkdir()
    (tmp_path / KIND / "a%2Fm.json").write_text('{"n":2,"new":3}')
    assert CalibrationStore(tmp_path).read().models == {"a/m": Learnt(n=2)}


def test_a_place_that_can_not_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnwritableStore, match="ULLAGE_DATA"):
        CalibrationStore(tmp_path / "file").add(GPT)
