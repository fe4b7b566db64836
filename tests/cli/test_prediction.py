import pytest

from tests.cli.recorded import Row, call, pair
from ullage.cli.prediction import FORMULAS, Prediction, Predictor, dexto, gemini_cli, last_total, plain, quarter
from ullage.importers.recordings import pair_of
from ullage.tokens.text import counter_for


@pytest.fixture
def predictor() -> Predictor:
    return Predictor(counter_for("pretoken"))


def predict(predictor: Predictor, *rows: Row) -> list[Prediction]:
    return [predictor.pair(pair_of(row)) for row in rows]


def test_a_pair_is_the_last_total_and_what_was_added(predictor: Predictor) -> None:
    (made,) = predict(predictor, pair(0, truth=1028))
    # 1,000 + 20, 4 for closing the answer, 2 for the result, 1 each for "weather" and "sunny"
    assert made.predicted == pytest.approx(1028, abs=1)
    assert made.low <= 1028 <= made.high
    assert (made.truth, made.growth) == (1028, 28)


def test_a_rows_own_truth_moves_nothing_in_its_prediction(predictor: Predictor) -> None:
    other = Predictor(counter_for("pretoken"))
    rows = [pair(n, truth=1033) for n in range(6)]
    altered = [*rows[:5], pair(5, truth=999_999)]
    assert predict(predictor, *rows)[5][:3] == predict(other, *altered)[5][:3]


def test_earlier_truths_of_the_conversation_move_later_predictions(predictor: Predictor) -> None:
    told = predict(predictor, *[pair(n, truth=1035) for n in range(8)])
    assert told[0].predicted == pytest.approx(1028, abs=1)
    assert told[-1].predicted == 1035


def test_other_conversations_teach_nothing(predictor: Predictor) -> None:
    (alone,) = predict(Predictor(counter_for("pretoken")), pair(0, truth=1028, conversation="two"))
    predict(predictor, *[pair(n, truth=1050) for n in range(8)])
    assert predict(predictor, pair(0, truth=1028, conversation="two")) == [alone]


def test_a_conversation_may_be_taken_up_again_after_another(predictor: Predictor) -> None:
    rows = [pair(n, truth=1035) for n in range(8)]
    between = [row for n, row in enumerate(rows) for row in (row, pair(n, truth=1028, conversation="two"))]
    assert (
        predict(predictor, *between)[-2].predicted == predict(Predictor(counter_for("pretoken")), *rows)[-1].predicted
    )


def test_reasoning_of_the_turn_leaves_with_the_next_user_message(predictor: Predictor) -> None:
    thinking: Row = {
        "api": "messages",
        "provider": "anthropic",
        "model": "claude-sonnet-4-5",
        "reasoning_sent_back": "yes",
        "a_response": [{"r": "assistant", "k": "reasoning", "t": "hm", "m": 1}],
        "usage_a": {"input": 1000, "output": 320, "reasoning": 300},
    }
    user: Row = {"user_turn": True, "tool_turn": False, "new": [{"r": "user", "k": "text", "t": "next", "m": 2}]}
    loop, turn = predict(predictor, pair(0, truth=1335, **thinking), pair(1, truth=750, **(thinking | user)))
    assert loop.predicted == pytest.approx(1335, abs=5)
    # 1,000 + 320 - 300 of its own reasoning - 300 of the call before
    assert turn.predicted == pytest.approx(722, abs=5)


def test_a_changed_set_of_tools_enters_by_difference(predictor: Predictor) -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "x " * 200, "parameters": {}}}
    same, more = predict(
        predictor, pair(0, truth=1028), pair(1, truth=1250, same_tools=False, tools=[tool], a_tools=[])
    )
    assert more.predicted - same.predicted > 150


def test_without_the_first_calls_input_the_interval_says_how_little_is_known(predictor: Predictor) -> None:
    (made,) = predict(predictor, pair(0, truth=5000, usage_a={}))
    assert made.low == 0
    assert made.high > 10_000


def test_a_whole_request_is_predicted_from_its_content(predictor: Predictor) -> None:
    made = predictor.call(call(0, truth=14))
    assert made.predicted == pytest.approx(14, abs=2)
    assert made.growth is None


def test_the_other_formulas_say_what_their_programs_would() -> None:
    row = pair(0, truth=1028, new=[{"r": "user", "k": "text", "t": "x" * 40, "m": 2}])
    assert last_total(row) == 1020
    assert dexto(row) == 1030
    assert dexto({**row, "new": [{"r": "user", "k": "image", "t": ""}]}) == 2020
    everything = len("What is the weather in Oslo?") + len('{"city":"Oslo"}') + len("weather") + 40
    assert quarter(row) == everything / 4
    assert gemini_cli(row) == pytest.approx(everything / 4)
    assert quarter(call(0, truth=14)) == len("What is the capital of France?") / 4


def test_a_formula_whose_inputs_a_row_lacks_says_nothing() -> None:
    assert quarter(pair(0, truth=1, a_atoms=None)) is None
    assert last_total(pair(0, truth=1, usage_a=None)) is None
    assert all(formula({}) is None for formula in FORMULAS.values())


@pytest.mark.parametrize("row", [{}, {"usage_a": 3}, {"usage_a": {"input": -4, "output": "x"}, "new": 5}])
def test_the_plain_formula_takes_anything(row: Row) -> None:
    made = plain(row)
    assert made.low <= made.predicted < made.high
