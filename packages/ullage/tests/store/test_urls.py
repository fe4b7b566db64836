import pytest

from ullage.errors import StoreUnavailable
from ullage.store.places import store_at
from ullage.store.urls import shown_place


@pytest.mark.parametrize("url", ["mysql://localhost/x", "https://example.org/s.db"])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="postgresql://USER@HOST"):
        store_at(url)


def test_a_password_is_not_shown() -> None:
    shown = shown_place("postgresql://me:secret@db:5432/ullage?password=secret")
    assert shown == "postgresql://me@db:5432/ullage"
    assert shown_place("postgresql:///ullage") == "postgresql:///ullage"
    assert shown_place("a/b.db") == "a/b.db"
