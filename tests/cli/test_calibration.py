import json
from pathlib import Path

import pytest

from tests.cli.logs import write_log
from ullage.cli import main
from ullage.cli.calibration import known, listed
from ullage.display.text import plain
from ullage.store.calibration import FILE, CalibrationStore
from ullage.tokens.calibration import Calibration
from ullage.tokens.regression import Observation

TAUGHT = {
    "offset",
    "offset_user",
    "ratio",
    "n",
    "error_before_percent",
    "error_after_percent",
}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CalibrationStore:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path / "data"))
    return CalibrationStore()


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(write_log(tmp_path / "session.jsonl", calls=6))


def test_an_empty_store_says_so_and_how_to_fill_it(
    store: CalibrationStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibration"]) == 0
    text = capsys.readouterr().out
    assert "Nothing learnt" in text
    assert "--save" in text
    assert not Path(store.shown).exists()


def test_logs_teach_without_leaving_a_trace(
    log: str, store: CalibrationStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibration", log]) == 0
    text = capsys.readouterr().out
    assert "Calibration  learnt in 1 log" in text
    assert "claude-haiku-4-5" in text
    assert not Path(store.shown).exists()


def test_saving_keeps_what_was_learnt_and_shows_it_again(
    log: str, store: CalibrationStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibration", log, "--save", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["saved"] == store.shown
    assert main(["calibration", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == first["models"]


def test_saving_the_same_log_twice_does_not_count_it_twice(
    log: str, store: CalibrationStore, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["calibration", log, "--save", "--json"]) == 0
    assert [state.n for state in store.read().models.values()] == [
        5
    ]  # six calls; the first has nothing to learn from


def test_each_model_has_offset_ratio_n_and_the_error_before_and_after(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibration", log, "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["models"]
    assert set(model) >= TAUGHT
    assert (model["provider"], model["model"], model["n"]) == (
        "anthropic",
        "claude-haiku-4-5",
        5,
    )


def test_a_log_that_can_not_be_used_is_named_and_the_others_are_read(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jsonl").write_text("no json")
    assert main(["calibration", str(tmp_path / "bad.jsonl"), log]) == 2
    streams = capsys.readouterr()
    assert "bad.jsonl" in streams.err
    assert "claude-haiku-4-5" in streams.out


def test_no_usable_log_ends_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jsonl").write_text("no json")
    assert main(["calibration", str(tmp_path / "bad.jsonl")]) == 2
    assert (
        main(["calibration", str(tmp_path / "bad.jsonl"), str(tmp_path / "none.jsonl")])
        == 2
    )
    assert "None of the 2 files could be used" in capsys.readouterr().err


def test_a_damaged_store_ends_with_2_and_what_to_do(
    store: CalibrationStore, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(store.shown).parent.mkdir()
    (Path(store.shown).parent / FILE).write_text("{")
    assert main(["calibration"]) == 2
    assert "Delete the file" in capsys.readouterr().err


def test_saving_needs_logs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibration", "--save"]) == 2
    assert "--save needs the logs" in capsys.readouterr().err


def test_models_stand_in_the_order_of_how_well_they_are_known() -> None:
    seen = Observation(content=900, residual=40, actual=5_000, corrected=12, expected=20)
    learnt = (
        Calibration()
        .learn("a", "little", seen)
        .learn("b/c", "much", seen)
        .learn("b/c", "much", seen)
    )
    assert [each.n for each in known(learnt)] == [2, 1]


def test_a_model_is_named_with_its_provider_where_two_serve_it() -> None:
    seen = Observation(content=900, residual=40, actual=5_000, corrected=12, expected=20)
    one = Calibration().learn("anthropic", "claude-haiku-4-5", seen)
    both = one.learn("bedrock", "claude-haiku-4-5", seen)

    def models(learnt: Calibration) -> list[str]:
        lines = [plain(line) for line in listed(known(learnt), "here", None, 100)]
        return [line.split()[0] for line in lines if "claude" in line]

    assert models(one) == ["claude-haiku-4-5"]
    assert models(both) == ["anthropic/claude-haiku-4-5", "bedrock/claude-haiku-4-5"]


def test_the_table_fits_eighty_columns() -> None:
    seen = Observation(content=900, residual=40, actual=5_000, corrected=12, expected=20)
    learnt = Calibration().learn("anthropic", "claude-opus-4-5-20251101", seen)
    assert all(
        len(plain(line)) <= 80 for line in listed(known(learnt), "2 logs", None, 80)
    )
