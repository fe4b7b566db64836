import pytest

from bench.formulas import FORMULAS, dexto, gemini_cli, last_total, quarter
from tests.bench.recorded import call, pair


def test_the_other_formulas_say_what_their_programs_would() -> None:
    row = pair(0, truth=1028, new=[{"r": "user", "k": "text", "t": "x" * 40, "m": 2}])
    assert last_total(row) == 1020
    assert dexto(row) == 1030
    assert dexto({**row, "new": [{"r": "user", "k": "image", "t": ""}]}) == 2020
    everything = (
        len("What is the weather in Oslo?") + len('{"city":"Oslo"}') + len("weather") + 40
    )
    assert quarter(row) == everything / 4
    assert gemini_cli(row) == pytest.approx(everything / 4)
    assert quarter(call(0, truth=14)) == len("What is the capital of France?") / 4


def test_a_formula_whose_inputs_a_row_lacks_says_nothing() -> None:
    assert quarter(pair(0, truth=1, a_atoms=None)) is None
    assert last_total(pair(0, truth=1, usage_a=None)) is None
    assert all(formula({}) is None for formula in FORMULAS.values())
