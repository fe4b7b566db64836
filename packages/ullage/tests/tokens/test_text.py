import sys

import pytest

from ullage.errors import MissingExtra, SettingError
from ullage.tokens import bpe
from ullage.tokens.text import NAMES, _named, counter_for


@pytest.fixture(autouse=True)
def _fresh_names() -> None:
    _named.cache_clear()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"auto", "bpe"}])
def test_estimators_are_found_by_name(name: str) -> None:
    assert counter_for(name).name == name
    assert counter_for(name) is counter_for(name)


@pytest.mark.parametrize(("installed", "chosen"), [(True, "bpe"), (False, "pretoken")])
def test_auto_takes_the_tokenizer_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, installed: bool, chosen: str
) -> None:
    monkeypatch.setattr(bpe, "is_available", lambda: installed)
    assert counter_for("auto").name == chosen


def test_asking_for_the_tokenizer_without_the_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    with pytest.raises(MissingExtra, match=r"ullage\[bpe\]"):
        counter_for("bpe")


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(SettingError, match="quarter"):
        counter_for("tiktoken")


def test_a_function_of_ones_own_is_taken_at_its_word() -> None:
    counter = counter_for(lambda text: 20)
    assert (counter.name, counter.count("anything", "claude")) == ("custom", 20.0)
