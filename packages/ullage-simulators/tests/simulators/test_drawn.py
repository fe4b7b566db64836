from ullage_simulators.drawn import draw
from ullage_simulators.models import MODELS


def test_a_draw_is_the_same_for_a_seed_and_differs_between_models() -> None:
    one, two = MODELS[0], MODELS[1]
    assert draw(1, one, {}) == draw(1, one, {}) != draw(2, one, {})
    assert draw(1, one, {}).factor != draw(1, two, {}).factor
    assert draw(1, one, {"factor": 3.0, "loop": False}).factor == 3.0


def test_numbers_of_one_model_come_before_those_of_all() -> None:
    one, two = MODELS[0], MODELS[1]
    pinned = {"factor": 3.0, "tool": 5, one.name: {"factor": 2.0, "declared": 0.5}}
    own, other = draw(1, one, pinned), draw(1, two, pinned)
    assert (own.factor, own.declared, own.tool) == (2.0, 0.5, 5)
    assert (other.factor, other.declared, other.tool) == (3.0, 3.0, 5)


def test_where_deployments_differ_the_rule_is_drawn() -> None:
    gemini = next(model for model in MODELS if model.name == "gemini-3-flash-preview")
    assert {draw(seed, gemini, {}).loop for seed in range(20)} == {True, False}
