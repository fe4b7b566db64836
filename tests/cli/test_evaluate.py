import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.recorded import Row, call, pair
from ullage.cli import evaluate as command
from ullage.cli.evaluate import evaluate, percentile, run, table
from ullage.cli.prediction import Predictor
from ullage.errors import MissingExtra, SettingError, UnreadableInput
from ullage.tokens.text import counter_for


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_is_written_per_pair_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "pairs.jsonl", pair(0, truth=1028), pair(1, truth=1029))
    assert run(rows, tmp_path / "out.jsonl", "pretoken") == 0
    first, second = lines(tmp_path / "out.jsonl")
    assert list(first) == ["id", "predicted", "low", "high"]
    assert (first["id"], second["id"]) == ("one-0", "one-1")
    assert all(isinstance(first[key], int) for key in ("predicted", "low", "high"))
    shown = capsys.readouterr().out
    assert "API recordings, clean: 2 rows" in shown
    assert "Dexto's formula" in shown


def test_whole_requests_are_told_by_their_source_and_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "calls.jsonl", call(7, truth=14), call(8, truth=14, is_b=True))
    run(rows, tmp_path / "out.jsonl", "pretoken")
    first, _ = lines(tmp_path / "out.jsonl")
    assert list(first) == ["src", "idx", "predicted", "low", "high"]
    assert (first["src"], first["idx"]) == ("calls", 7)
    assert "first call, OpenAI chat: 1 rows" in capsys.readouterr().out


def test_a_packed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    plain = write(tmp_path / "pairs.jsonl", pair(0, truth=1028))
    packed = tmp_path / "pairs.anything"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert evaluate(packed, "pretoken").written == evaluate(plain, "pretoken").written


@pytest.mark.parametrize("content", [None, gzip.compress(b"x" * 1000)[:-9], b"\x1f\x8bnonsense"])
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "missing.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableInput, match=r"missing\.jsonl"):
        evaluate(path, "pretoken")


def test_predictions_that_cannot_be_written_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="written"):
        run(write(tmp_path / "pairs.jsonl", pair(0, truth=1)), tmp_path / "no" / "where.jsonl", "pretoken")


def test_an_unknown_estimator_is_an_error(tmp_path: Path) -> None:
    with pytest.raises((SettingError, MissingExtra)):
        evaluate(write(tmp_path / "pairs.jsonl", pair(0, truth=1)), "guess")


ODD = [
    [1, 2],
    {},
    {"new": 5, "id": 3},
    {"usage_b": {"input": "many"}, "a_response": [[]], "new": [{"k": "tool_result", "cont": True}]},
    {"atoms": [{"k": "image", "blob": {"w": -5, "h": 1e308, "pages": 1e308, "seconds": -1}}], "usage": {"input": 9}},
    {
        "atoms": [{"k": "text", "t": "\ud800" * 9, "r": "assistant"}],
        "tools": [{"function": {"parameters": {"$ref": "#"}}}],
    },
    {"new": [{"k": "text", "t": "x"}], "usage_a": {"input": 10**30}, "usage_b": {"input": -1}},
]


def test_no_row_makes_it_fail_and_each_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.jsonl"
    torn = b'{"id": "torn", \n' + b"[" * 100_000 + b"\n" + b"\xff\xfe\n" + b"NaN\n"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in ODD) + torn)
    assert run(path, tmp_path / "out.jsonl", "pretoken") == 0
    written = lines(tmp_path / "out.jsonl")
    assert len(written) == len(ODD) + 4
    assert all(row["low"] <= row["predicted"] <= row["high"] for row in written)
    assert "No row holds" in capsys.readouterr().out


def test_a_row_that_nothing_understands_gets_the_plain_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Predictor, "pair", refuse)
    (row,) = evaluate(write(tmp_path / "pairs.jsonl", pair(0, truth=1028)), "pretoken").written
    assert row == {"id": "one-0", "predicted": 1021, "low": 255, "high": 14_084}


def test_the_table_compares_only_rows_whose_truth_is_known(tmp_path: Path) -> None:
    rows = [pair(0, truth=1028), pair(1, truth=1030, usage_b={}), pair(2, truth=1030, usage_a={})]
    outcomes = evaluate(write(tmp_path / "pairs.jsonl", *rows), "pretoken").outcomes
    assert [bool(outcome.groups) for outcome in outcomes] == [True, False, False]


@pytest.mark.parametrize(
    ("change", "groups"),
    [
        ({}, ("API recordings, all", "API recordings, clean")),
        ({"same_tools": False}, ("API recordings, all",)),
        ({"new": [{"k": "image", "r": "user", "t": ""}]}, ("API recordings, all",)),
        ({"kind": "pi"}, ("agent sessions, all", "agent sessions, clean")),
        ({"kind": "pi", "output_placeholder": True}, ("agent sessions, all", "output placeholders")),
    ],
)
def test_rows_count_in_the_groups_of_the_accuracy_definition(
    tmp_path: Path, change: Row, groups: tuple[str, ...]
) -> None:
    (outcome,) = evaluate(write(tmp_path / "pairs.jsonl", pair(0, truth=1028, **change)), "pretoken").outcomes
    assert outcome.groups == groups


def test_agents_errors_are_shares_of_the_growth(tmp_path: Path) -> None:
    outcomes = evaluate(write(tmp_path / "p.jsonl", pair(0, truth=1040, kind="pi")), "pretoken").outcomes
    shown = "\n".join(table(outcomes))
    off = 1040 - outcomes[0].prediction.predicted
    assert f"{100 * off / 40:.2f}" in shown


@pytest.mark.parametrize(
    ("values", "share", "expected"), [([], 0.5, 0), ([3], 0.9, 3), ([1, 2, 3, 4], 0.5, 2.5), ([0, 10], 0.95, 9.5)]
)
def test_percentiles_lie_between_neighbours_by_proportion(values: list[float], share: float, expected: float) -> None:
    assert percentile(values, share) == pytest.approx(expected)


@given(st.binary(max_size=40))
def test_any_line_of_bytes_is_answered(line: bytes) -> None:
    predictor = Predictor(counter_for("pretoken"))
    written, _ = command._predict(predictor, command._row(line))
    assert written["low"] <= written["predicted"] <= written["high"]
