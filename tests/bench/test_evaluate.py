import gzip
import json
from pathlib import Path

import pytest

from bench.evaluate import (
    Prediction,
    Replay,
    evaluate,
    main,
    run,
    table,
)
from bench.recorded import pair_of
from tests.bench.recorded import Row, call, pair
from tests.places import CLIENT_LOGS
from ullage.errors import NotASession, UnreadableInput

LOGS = CLIENT_LOGS


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_is_written_per_pair_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "pairs.jsonl", pair(0, truth=1028), pair(1, truth=1029))
    assert run(rows, tmp_path / "out.jsonl", "pretoken") == 0
    first, second = lines(tmp_path / "out.jsonl")
    assert list(first) == ["id", "predicted", "low", "high"]
    assert (first["id"], second["id"]) == ("one-0", "one-1")
    assert all(isinstance(first[key], int) for key in ("predicted", "low", "high"))
    shown = capsys.readouterr().out
    assert "API recordings, clean: 2 rows" in shown
    assert "inside the interval" in shown


def test_whole_requests_are_told_by_their_source_and_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(
        tmp_path / "calls.jsonl", call(7, truth=14), call(8, truth=14, is_b=True)
    )
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


@pytest.mark.parametrize(
    "content", [None, gzip.compress(b"x" * 1000, mtime=0)[:-9], b"\x1f\x8bnonsense"]
)
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "missing.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableInput, match=r"missing\.jsonl"):
        evaluate(path, "pretoken")


ODD = [
    [1, 2],
    {},
    {"new": 5, "id": 3},
    {
        "usage_b": {"input": "many"},
        "a_response": [[]],
        "new": [{"k": "tool_result", "cont": True}],
    },
    {
        "atoms": [
            {"k": "image", "blob": {"w": -5, "h": 1e308, "pages": 1e308, "seconds": -1}}
        ],
        "usage": {"input": 9},
    },
    {
        "atoms": [{"k": "text", "t": "\ud800" * 9, "r": "assistant"}],
        "tools": [{"function": {"parameters": {"$ref": "#"}}}],
    },
    {
        "new": [{"k": "text", "t": "x"}],
        "usage_a": {"input": 10**30},
        "usage_b": {"input": -1},
    },
]


def test_no_row_makes_it_fail_and_each_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.jsonl"
    torn = b'{"id": "torn", \n' + b"[" * 100_000 + b"\n" + b"\xff\xfe\n" + b"NaN\n"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in ODD) + torn)
    assert run(path, tmp_path / "out.jsonl", "pretoken") == 0
    written = lines(tmp_path / "out.jsonl")
    assert len(written) == len(ODD) + 4
    assert all(row["low"] <= row["predicted"] <= row["high"] for row in written)
    assert "no call in it can be compared" in capsys.readouterr().err


def test_a_row_that_nothing_understands_gets_the_plain_formula(tmp_path: Path) -> None:
    def refuse(text: str) -> float:
        raise ZeroDivisionError

    (row,) = evaluate(
        write(tmp_path / "pairs.jsonl", pair(0, truth=1028)), refuse
    ).written
    assert row == {"id": "one-0", "predicted": 1021, "low": 255, "high": 14_084}


@pytest.mark.parametrize("content", [b"", b"no JSON\n", b'{"a": 1}\n', b"[1, 2]\n{}\n"])
def test_a_file_that_is_no_recording_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotASession, match=r"other\.jsonl"):
        evaluate(path, "pretoken")


def test_a_session_log_is_replayed_call_by_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(LOGS / "claude_code" / "session.jsonl", tmp_path / "out.jsonl", "pretoken")
        == 0
    )
    first, *further = lines(tmp_path / "out.jsonl")
    assert list(first) == ["call", "predicted", "low", "high"]
    shown = capsys.readouterr().out
    assert "first call: 1 rows, |error| as % of input" in shown
    assert f"further calls: {len(further)} rows, |error| as % of growth" in shown


@pytest.mark.parametrize(
    ("change", "groups"),
    [
        ({}, ("API recordings, all", "API recordings, clean")),
        ({"same_tools": False}, ("API recordings, all",)),
        ({"new": [{"k": "image", "r": "user", "t": ""}]}, ("API recordings, all",)),
        ({"kind": "pi"}, ("agent sessions, all", "agent sessions, clean")),
        (
            {"kind": "pi", "output_placeholder": True},
            ("agent sessions, all", "output placeholders"),
        ),
    ],
)
def test_rows_count_in_the_groups_of_the_accuracy_definition(
    tmp_path: Path, change: Row, groups: tuple[str, ...]
) -> None:
    (outcome,) = evaluate(
        write(tmp_path / "pairs.jsonl", pair(0, truth=1028, **change)), "pretoken"
    ).outcomes
    assert outcome.groups == groups


# -- what the Meter is told of the recorded calls --


def predict(replay: Replay, *rows: Row) -> list[Prediction]:
    return [replay.pair(pair_of(row)) for row in rows]


@pytest.fixture
def replay() -> Replay:
    return Replay("pretoken")


def test_a_pair_is_the_last_total_and_what_was_added(replay: Replay) -> None:
    (made,) = predict(replay, pair(0, truth=1028))
    # 1,000 + 20, 4 for closing the answer, 2 for the result, 1 each for "weather" and "sunny"
    assert made.predicted == pytest.approx(1028, abs=1)
    assert made.low <= 1028 <= made.high
    assert (made.truth, made.growth) == (1028, 28)


def test_a_rows_own_truth_moves_nothing_in_its_prediction(replay: Replay) -> None:
    rows = [pair(n, truth=1033) for n in range(6)]
    altered = [*rows[:5], pair(5, truth=999_999)]
    assert predict(replay, *rows)[5][:3] == predict(Replay("pretoken"), *altered)[5][:3]


def test_earlier_truths_of_the_conversation_move_later_predictions(
    replay: Replay,
) -> None:
    made = predict(replay, *[pair(n, truth=1035) for n in range(8)])
    assert made[0].predicted == pytest.approx(1028, abs=1)
    assert made[-1].predicted == 1035


def test_reasoning_of_the_turn_leaves_with_the_next_user_message(replay: Replay) -> None:
    thought = {"r": "assistant", "k": "reasoning", "t": "hm", "m": 1}
    thinking: Row = {
        "api": "responses",
        "model": "gpt-5.5",
        "reasoning_sent_back": "yes",
        "a_response": [thought, *pair(0, truth=1)["a_response"]],
        "usage_a": {"input": 1000, "output": 320, "reasoning": 300},
        "usage_b": {"input": 1335, "output": 320, "reasoning": 300},
    }
    user: Row = {
        "user_turn": True,
        "tool_turn": False,
        "new": [{"r": "user", "k": "text", "t": "next", "m": 2}],
    }
    answered = {"r": "assistant", "k": "text", "t": "Sunny.", "m": 1}
    following = thinking | {"usage_a": thinking["usage_b"], "usage_b": {"input": 1070}}
    following["a_response"] = [thought, answered]
    loop, turn = predict(
        replay, pair(0, truth=1335, **thinking), pair(1, truth=1070, **(following | user))
    )
    assert loop.predicted == pytest.approx(1335, abs=5)
    # 1,335 + 320 - 300 of its own reasoning - 300 of the call before
    assert turn.predicted == pytest.approx(1062, abs=10)


def test_agents_errors_are_shares_of_the_growth(tmp_path: Path) -> None:
    outcomes = evaluate(
        write(tmp_path / "p.jsonl", pair(0, truth=1040, kind="pi")), "pretoken"
    ).outcomes
    shown = "\n".join(table(outcomes))
    off = 1040 - outcomes[0].prediction.predicted
    assert f"{100 * off / 40:.2f}" in shown


def test_without_the_first_calls_input_the_interval_says_how_little_is_known(
    replay: Replay,
) -> None:
    (made,) = predict(replay, pair(0, truth=5000, usage_a={}))
    assert made.low == 0
    assert made.high > 10_000


def test_other_conversations_teach_nothing(replay: Replay) -> None:
    (alone,) = predict(Replay("pretoken"), pair(0, truth=1028, conversation="two"))
    predict(replay, *[pair(n, truth=1050) for n in range(8)])
    assert predict(replay, pair(0, truth=1028, conversation="two")) == [alone]


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "gone")]) == 2
    assert "gone can't be opened" in capsys.readouterr().err
