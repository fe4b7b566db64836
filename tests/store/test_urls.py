import pytest

from ullage.errors import StoreUnavailable
from ullage.store.places import store_at
from ullage.store.postgres.connecting import database_of
from ullage.store.urls import shown_place, with_bus


@pytest.mark.parametrize("url", ["mysql://localhost/x", "https://example.org/s.db"])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="postgresql://USER@HOST"):
        store_at(url)


def test_a_password_is_not_shown() -> None:
    shown = shown_place("postgresql://me:secret@db:5432/ullage?password=secret")
    assert shown == "postgresql://me@db:5432/ullage"
    assert shown_place("postgresql:///ullage") == "postgresql:///ullage"
    assert shown_place("a/b.db") == "a/b.db"


def test_a_bus_becomes_an_option_of_the_url_and_none_changes_nothing() -> None:
    assert with_bus("s.db", "") == "s.db"
    assert (
        with_bus("postgresql:///ullage", "nats://a:4222")
        == "postgresql:///ullage?bus=nats%3A%2F%2Fa%3A4222"
    )
    both = with_bus("postgresql:///ullage?host=/tmp", "nats://a,tls://b")
    assert database_of(str(both)).bus == "nats://a,tls://b"
    assert "bus" not in database_of(str(both)).pool


@pytest.mark.parametrize(
    "bus", ["a:4222", "http://a", "nats://", "nats://a,", "nats://[", "nats://u:secret@"]
)
def test_an_address_that_is_no_bus_is_refused_without_its_password(bus: str) -> None:
    with pytest.raises(StoreUnavailable, match="no address of a bus") as said:
        with_bus("postgresql:///ullage", bus)
    assert "secret" not in str(said.value)


def test_a_file_has_no_bus() -> None:
    with pytest.raises(StoreUnavailable, match="is a file"):
        with_bus("s.db", "nats://a:4222")
