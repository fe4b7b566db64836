"""The catalogue as the package's data give it: what is committed is the golden file of all kinds of rows."""

import datetime
from dataclasses import dataclass, field
from typing import Any

import genai_prices.data
import pytest

from ullage.models.catalogue import BUILT_IN, built_in, checked, encode
from ullage.models.genai_prices import PROVIDERS, catalogue_of

ON = datetime.date(2026, 11, 20)


@dataclass
class ClauseNew:
    new: str


@dataclass
class FakeModel:
    match: Any
    context_window: int = 5
    prices: Any = None


@dataclass
class FakeProvider:
    id: str
    models: list[FakeModel] = field(default_factory=list)


def test_the_built_in_catalogue_is_what_the_package_of_that_version_holds() -> None:
    on = datetime.date.fromisoformat(built_in().date)
    made = encode(catalogue_of(genai_prices.data.providers, genai_prices.__version__, on))
    assert checked(made).providers.keys() == built_in().providers.keys()
    if genai_prices.__version__ == built_in().version:
        assert made == BUILT_IN.read_bytes()


def test_data_in_a_new_form_is_an_error() -> None:
    providers = [FakeProvider(name, [FakeModel(ClauseNew("m"))]) for name in PROVIDERS]
    with pytest.raises(ValueError, match="a clause 'ClauseNew' is not known"):
        catalogue_of(providers, "9.9.9", ON)
    with pytest.raises(ValueError, match="does not list anthropic"):
        catalogue_of([], "9.9.9", ON)
