"""Named tokens: stored hashed, with scopes and an end, read again when the file changes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.server.served import WAIT_S, Api, Local, patiently, serving
from ullage.errors import SettingError, StoreUnavailable, UllageError
from ullage.guessing import WRONG_AT_ONCE
from ullage.store.private_file import replace_file
from ullage.store.records import FileRecords, RecentRecords
from ullage_cluster.postgres.store import PostgresStore
from ullage_server.tokens import KIND, Bearer, NamedTokens, TokenRecord, Tokens

NOW = 1_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> NamedTokens:
    return NamedTokens(FileRecords(tmp_path / "data"))


def file_of(store: NamedTokens, name: str = "ci") -> Path:
    return Path(store.shown, KIND, f"{name}.json")


def test_a_token_is_stored_as_its_hash_for_the_user_alone(store: NamedTokens) -> None:
    token = store.add("ci", ("read",), expires=None, now=NOW)
    text = file_of(store).read_text()
    assert token not in text and token.removeprefix("ullage_") not in text
    assert json.loads(text).keys() <= {*TokenRecord.__struct_fields__}
    assert len(token) >= 40
    assert stat.S_IMODE(file_of(store).stat().st_mode) == 0o600
    assert stat.S_IMODE(file_of(store).parent.stat().st_mode) == 0o700
    assert store.add("other", ("read",), expires=None, now=NOW) != token


def test_names_are_given_once_and_unknown_ones_not_revoked(store: NamedTokens) -> None:
    store.add("ci", ("read",), expires=None, now=NOW)
    with pytest.raises(SettingError, match="already"):
        store.add("ci", ("admin",), expires=None, now=NOW)
    with pytest.raises(SettingError, match="no token 'other'"):
        store.revoke("other")
    assert store.revoke("ci") == 0
    assert store.read() == ()


def test_tokens_that_are_added_at_once_are_all_there(store: NamedTokens) -> None:
    def add(number: int) -> None:
        store.add(f"t{number}", ("read",), expires=None, now=NOW)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.read() or ()) == 12


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[" * 100_000, b"\xff", b'{"version": 2}', b"x" * 2_000_000]
)
def test_a_file_that_can_t_be_read_is_said_at_the_start_and_lets_nobody_in_later(
    store: NamedTokens, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    token = store.add("ci", ("read",), expires=None, now=NOW)
    tokens = Tokens("", store)
    assert isinstance(tokens.bearer(token), Bearer)
    replace_file(file_of(store), damage)
    assert tokens.bearer(token) is None
    assert tokens.are_required()
    assert "accepted" in caplog.text and token not in caplog.text
    with pytest.raises(SettingError, match="tokens"):
        Tokens("", store)


def test_a_directory_that_others_may_change_is_not_trusted(store: NamedTokens) -> None:
    token = store.add("ci", ("read",), expires=None, now=NOW)
    tokens = Tokens("", store)
    assert isinstance(tokens.bearer(token), Bearer)
    os.chmod(file_of(store).parent, 0o720)
    with pytest.raises(UllageError, match="chmod 700"):
        store.read()
    assert tokens.bearer(token) is None
    assert tokens.are_required()


def test_what_is_no_regular_file_is_not_waited_for(store: NamedTokens) -> None:
    store.add("ci", ("read",), expires=None, now=NOW)
    os.symlink("/dev/zero", file_of(store, "zero"))
    with pytest.raises(SettingError):
        store.read()


def test_a_token_that_is_over_is_told_from_a_wrong_one(store: NamedTokens) -> None:
    now = [NOW]
    token = store.add("ci", ("read",), expires=NOW + 60, now=NOW)
    tokens = Tokens("", store, clock=lambda: now[0])
    bearer = tokens.bearer(token)
    assert isinstance(bearer, Bearer) and tokens.is_valid(bearer)
    now[0] += 60
    assert isinstance(tokens.bearer(token), TokenRecord)
    assert not tokens.is_valid(bearer)
    assert tokens.bearer(token + "x") is None
    assert tokens.bearer("") is None


def test_tokens_stay_required_when_the_last_one_is_revoked(store: NamedTokens) -> None:
    tokens = Tokens("", store)
    assert not tokens.are_required()
    store.add("ci", ("read",), expires=None, now=NOW)
    assert tokens.are_required()
    store.revoke("ci")
    assert tokens.are_required()
    shutil.rmtree(file_of(store).parent)
    assert not tokens.are_required()
    assert Tokens("the-launch-token").are_required()


def test_scopes_include_what_they_need(store: NamedTokens) -> None:
    tokens = Tokens("the-launch-token", store)
    for scope, allowed in {
        "read": {"read"},
        "write": {"read", "write"},
        "approve": {"read", "approve"},
        "admin": {"read", "write", "approve", "admin"},
    }.items():
        found = tokens.bearer(store.add(scope, (scope,), expires=None, now=NOW))  # type: ignore[arg-type]
        assert isinstance(found, Bearer) and found.scopes == allowed
    own = tokens.bearer("the-launch-token")
    assert isinstance(own, Bearer) and "admin" in own.scopes


def test_a_token_that_can_be_guessed_is_refused() -> None:
    with pytest.raises(SettingError, match=r"15 characters can be guessed.*at least 16"):
        Tokens("x" * 15)
    assert Tokens("x" * 16).are_required()


def test_a_link_is_exchanged_for_a_token_once() -> None:
    tokens = Tokens("the-launch-token")
    word = tokens.new_link()
    assert tokens.redeem("wrong") == tokens.redeem("") == ""
    token = tokens.redeem(word)
    found = tokens.bearer(token)
    assert isinstance(found, Bearer) and "admin" in found.scopes
    assert tokens.is_valid(found)
    assert tokens.redeem(word) == ""
    assert tokens.bearer(word) is None
    earlier = tokens.new_link()
    assert tokens.redeem(tokens.new_link())
    assert tokens.redeem(earlier) == ""
    assert Tokens("the-launch-token").bearer(token) is None


@pytest.fixture(scope="module")
def named(
    provider: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Local, NamedTokens, dict[str, str]]]:
    place = tmp_path_factory.mktemp("named")
    kept = NamedTokens(FileRecords(place))
    made = {
        scope: kept.add(scope, (scope,), expires=None, now=NOW)  # type: ignore[arg-type]
        for scope in ("read", "write", "approve", "admin")
    }
    with serving(provider, place / "s.db", tokens=kept) as server:
        yield server, kept, made


def as_bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_403_says_which_scope_is_missing(
    named: tuple[Local, NamedTokens, dict[str, str]],
) -> None:
    server, _, made = named
    assert server.api.get("/v1/sessions").status_code == 401
    found = server.api.get("/v1/sessions", headers=as_bearer(made["read"])).status_code
    assert found == 200
    refused = server.api.post("/v1/sessions", json={}, headers=as_bearer(made["read"]))
    assert refused.status_code == 403
    assert refused.json()["type"] == "urn:ullage:problem:scope"
    assert "'write'" in refused.json()["detail"] and "'read'" in refused.json()["detail"]
    begun = server.api.post(
        "/v1/sessions", json={"id": "s"}, headers=as_bearer(made["write"])
    )
    assert begun.status_code == 201
    assert (
        server.api.delete("/v1/sessions/s", headers=as_bearer(made["write"])).status_code
        == 403
    )
    answer = {"approved": True}
    path = "/v1/sessions/s/approvals/none"
    assert (
        server.api.post(path, json=answer, headers=as_bearer(made["write"])).status_code
        == 403
    )
    assert (
        server.api.post(path, json=answer, headers=as_bearer(made["approve"])).status_code
        == 409
    )
    assert (
        server.api.delete("/v1/sessions/s", headers=as_bearer(made["admin"])).status_code
        == 204
    )


def test_a_token_is_told_what_it_may(
    named: tuple[Local, NamedTokens, dict[str, str]],
) -> None:
    server, _, made = named
    told = server.api.get("/v1/access", headers=as_bearer(made["write"])).json()
    rights = {"name": "write", "scopes": ["read", "write"], "expires": None}
    assert told == {**rights, "live": False, "tenant": "default", "session": ""}


def test_revoking_needs_no_restart_and_ends_what_is_followed(
    named: tuple[Local, NamedTokens, dict[str, str]],
) -> None:
    server, kept, made = named
    token = kept.add("short", ("read",), expires=None, now=NOW)
    write = as_bearer(made["write"])
    server.api.post("/v1/sessions", json={"id": "followed"}, headers=write)
    with Api(base_url=server.url, timeout=WAIT_S, headers=as_bearer(token)) as api:
        assert api.get("/v1/sessions").status_code == 200
        with api.stream("GET", "/v1/sessions/followed/events?after=0") as stream:
            chunks = stream.iter_text()
            assert "retry" in next(chunks)
            kept.revoke("short")
            server.api.post(
                "/v1/sessions/followed/messages", json={"text": "a secret"}, headers=write
            )
            assert "a secret" not in "".join(chunks)
        assert api.get("/v1/sessions").status_code == 401


def test_wrong_tokens_of_one_address_have_to_wait(provider: str, tmp_path: Path) -> None:
    kept = NamedTokens(FileRecords(tmp_path))
    good = kept.add("good", ("read",), expires=None, now=NOW)
    with serving(provider, tmp_path / "s.db", tokens=kept) as server:
        statuses = [
            server.api.get(
                "/v1/sessions", headers=as_bearer(f"guess-{number}")
            ).status_code
            for number in range(WRONG_AT_ONCE + 3)
        ]
        assert statuses == [401] * WRONG_AT_ONCE + [429] * 3
        assert server.api.get("/v1/sessions", headers=as_bearer(good)).status_code == 200


@pytest.fixture
async def table(database_url: str) -> AsyncIterator[Callable[[], NamedTokens]]:
    """Opens the tokens of one database as another machine each time."""
    stores: list[PostgresStore] = []

    def new() -> NamedTokens:
        stores.append(PostgresStore(database_url))
        return NamedTokens(stores[-1].records())

    yield new
    for store in stores:
        await store.close()


async def test_a_token_of_one_machine_is_accepted_and_refused_by_a_server_of_another(
    table: Callable[[], NamedTokens],
) -> None:
    here, there = table(), table()
    tokens = Tokens("", there)
    assert not tokens.are_required()
    token = here.add("ci", ("read",), expires=None, now=NOW, tenant="acme")
    for _ in patiently():
        if tokens.are_required():
            break
    bearer = tokens.bearer(token)
    assert isinstance(bearer, Bearer) and bearer.tenant == "acme"
    assert here.revoke("ci") == 0
    for _ in patiently():
        if not tokens.is_valid(bearer):
            break
    assert tokens.bearer(token) is None
    assert tokens.are_required()
    assert here.read() == ()


async def test_tokens_of_a_machine_count_beside_those_of_the_database(
    store: NamedTokens, table: Callable[[], NamedTokens]
) -> None:
    both = table()
    tokens = Tokens("", store, both)
    of_file = store.add("a", ("read",), expires=None, now=NOW)
    of_table = both.add("a", ("read",), expires=None, now=NOW)
    assert isinstance(tokens.bearer(of_file), Bearer)
    assert isinstance(tokens.bearer(of_table), Bearer)


class FlakyTokens(NamedTokens):
    """A table that can't be asked while it ``fails``."""

    def __init__(self, inner: NamedTokens) -> None:
        super().__init__(inner.records)
        self.fails = False

    def recent(self) -> RecentRecords:
        if self.fails:
            raise StoreUnavailable("The database can't be asked.")
        return super().recent()


async def test_a_database_that_can_not_be_asked_lets_nobody_in_until_it_can(
    table: Callable[[], NamedTokens], caplog: pytest.LogCaptureFixture
) -> None:
    flaky = FlakyTokens(table())
    token = flaky.add("ci", ("read",), expires=None, now=NOW)
    tokens = Tokens("", flaky)
    assert isinstance(tokens.bearer(token), Bearer)
    flaky.fails = True
    assert tokens.bearer(token) is None
    assert tokens.are_required()
    assert "accepted" in caplog.text
    flaky.fails = False
    assert isinstance(tokens.bearer(token), Bearer)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_wrong_tokens_count_for_the_client_that_a_trusted_proxy_names(
    is_trusted: bool, provider: str, tmp_path: Path
) -> None:
    proxies = ["10.0.0.0/8", "127.0.0.1"] if is_trusted else ["10.0.0.0/8"]

    def status(client: str, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": client}
        return int(server.api.get("/v1/access", headers=headers).status_code)

    right = "the-right-token-of-this-server"
    with serving(provider, tmp_path / "s.db", token=right, proxies=proxies) as server:
        for number in range(WRONG_AT_ONCE):
            assert status(f"forged-{number}, 192.0.2.7", "wrong") == 401
        assert status("192.0.2.7, 10.1.1.1", "wrong") == 429
        assert status("192.0.2.8", "wrong") == (401 if is_trusted else 429)
        assert status("192.0.2.7", right) == 200, "others' guesses lock nobody out"
