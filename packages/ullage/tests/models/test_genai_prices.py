import datetime
from dataclasses import dataclass, field
from typing import Any

import genai_prices.data
import pytest

from ullage.models.catalogue import BUILT_IN, CatalogueRow, built_in, checked, encode
from ullage.models.genai_prices import PROVIDERS, catalogue_of

ON = datetime.date(2026, 11, 20)


@dataclass
class ClauseEquals:
    equals: str


@dataclass
class ClauseContains:
    contains: str


@dataclass
class ClauseRegex:
    regex: str


@dataclass
class ClauseAnd:
    and_: list[Any]


@dataclass
class ClauseOr:
    or_: list[Any]


@dataclass
class ClauseNew:
    new: str


@dataclass
class FakeTier:
    start: int
    price: float


@dataclass
class FakeTiers:
    base: float
    tiers: list[FakeTier]


@dataclass
class FakePrice:
    input_mtok: Any = None
    output_mtok: Any = None
    cache_read_mtok: Any = None
    cache_write_mtok: Any = None


@dataclass
class FakeConstraint:
    start_date: datetime.date


@dataclass
class FakeConditional:
    prices: FakePrice
    constraint: FakeConstraint | None = None


@dataclass
class FakeModel:
    match: Any
    context_window: int | None = None
    prices: Any = field(default_factory=FakePrice)


@dataclass
class FakeProvider:
    id: str
    models: list[FakeModel]


def rows(*models: FakeModel, provider: str = "anthropic") -> tuple[CatalogueRow, ...]:
    providers = [
        FakeProvider(name, list(models) if name == provider else []) for name in PROVIDERS
    ]
    return catalogue_of(providers, "9.9.9", ON).providers[provider]


def test_the_built_in_catalogue_is_what_the_package_of_that_version_holds() -> None:
    on = datetime.date.fromisoformat(built_in().date)
    made = encode(catalogue_of(genai_prices.data.providers, genai_prices.__version__, on))
    assert checked(made).providers.keys() == built_in().providers.keys()
    if genai_prices.__version__ == built_in().version:
        assert made == BUILT_IN.read_bytes()


def test_a_model_has_its_patterns_its_window_and_its_prices_by_prompt_size() -> None:
    price = FakePrice(
        FakeTiers(3, [FakeTier(200_000, 6)]),
        FakeTiers(15, [FakeTier(200_000, 22.5)]),
        0.3,
    )
    (row,) = rows(
        FakeModel(ClauseOr([ClauseEquals("A"), ClauseContains("b c")]), 5_000, price)
    )
    assert row == (
        r"=a *b\sc",
        5_000,
        ((0, 3, 15, 0.3, None), (200_000, 6, 22.5, 0.3, None)),
    )


def test_a_conjunction_is_a_regular_expression() -> None:
    (row,) = rows(
        FakeModel(ClauseAnd([ClauseContains("pro"), ClauseRegex("^(?!.*tts)")]), 5)
    )
    assert [row.matches(name) for name in ("gemini-pro", "gemini-pro-tts", "gemini")] == [
        True,
        False,
        False,
    ]


def test_the_price_of_the_day_is_taken() -> None:
    first = FakeConditional(FakePrice(1, 1))
    since = FakeConditional(FakePrice(2, 2), FakeConstraint(ON))
    later = FakeConditional(
        FakePrice(9, 9), FakeConstraint(ON + datetime.timedelta(days=1))
    )
    (row,) = rows(FakeModel(ClauseEquals("m"), None, [first, since, later]))
    assert row.prices == ((0, 2, 2, None, None),)


def test_a_model_without_window_and_prices_is_left_out() -> None:
    assert (
        rows(
            FakeModel(ClauseEquals("m")), FakeModel(ClauseEquals("n"), None, FakePrice(1))
        )
        == ()
    )
    priced = FakeModel(ClauseEquals("m"), None, FakePrice(1, 1))
    assert len(rows(priced)) == 1
    assert rows(priced, provider="openrouter") == ()


def test_data_in_a_new_form_is_an_error() -> None:
    with pytest.raises(ValueError, match="a clause 'ClauseNew' is not known"):
        rows(FakeModel(ClauseNew("m"), 5))
    with pytest.raises(ValueError, match="does not list anthropic"):
        catalogue_of([], "9.9.9", ON)
