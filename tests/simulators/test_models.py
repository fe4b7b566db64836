from ullage_simulators.models import MODELS


def test_names_of_models_are_unique() -> None:
    assert len({(model.family, model.name) for model in MODELS}) == len(MODELS)
