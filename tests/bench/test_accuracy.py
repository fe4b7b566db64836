from collections import Counter

from bench import accuracy
from bench.evaluate import rows_of
from bench.recorded import pair_of
from tests.bench.recorded import pair
from tests.places import ROOT

PAIRS = [
    pair_of(pair(n, truth=1030, conversation=f"project{n % 3}/{n}.yaml"))
    for n in range(24)
]


def test_a_conversation_is_never_parted() -> None:
    twice = [each for each in PAIRS for _ in range(2)]
    folds = accuracy.split(twice, 4, by_project=False)
    assert folds[::2] == folds[1::2]
    assert len(set(folds)) == 4


def test_a_project_can_be_left_out_as_a_whole() -> None:
    folds = accuracy.split(PAIRS, 8, by_project=True)
    assert len(set(folds)) == 3
    assert folds[0::3] == [folds[0]] * 8


def test_every_row_is_predicted_by_the_other_folds() -> None:
    rows = [
        pair(n, truth=1030, conversation=f"project{n % 3}/{n}.yaml") for n in range(24)
    ]
    folds = accuracy.split(PAIRS, 4, by_project=False)
    outcomes = accuracy.cross_validated(rows, PAIRS, folds, "pretoken")
    assert [outcome.prediction.truth for outcome in outcomes] == [1030] * 24
    assert all(abs(outcome.prediction.predicted - 1030) <= 2 for outcome in outcomes)


def test_the_sessions_that_are_shipped_lack_nothing_between_their_calls() -> None:
    path = ROOT / "examples" / "recordings" / "sessions.jsonl.gz"
    pairs = [pair_of(row) for row in rows_of(path)]
    assert Counter(each.conversation for each in pairs).most_common() == [
        (("llama.cpp", f"llama.cpp/{name}", name), 60)
        for name in (
            "qwen3-0.6b",
            "qwen2.5-7b-instruct",
            "llama-3.1-8b-instruct",
            "gemma-4-31b-it",
        )
    ]
    assert all(each.is_clean and (each.growth or 0) > 0 for each in pairs)
