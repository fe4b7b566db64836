"""``ullage admin token``: what it prints, and what a server makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.served import process
from ullage.cli import main
from ullage.cli.stores import place_option
from ullage.errors import SettingError
from ullage.store.records import FileRecords
from ullage.store.urls import shown_place
from ullage_server.cli.token import scopes_of, seconds_of
from ullage_server.tokens import NamedTokens


def test_a_token_is_shown_once_listed_and_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    found = main(
        [
            "admin",
            "token",
            "add",
            "ci",
            "--scope",
            "write,approve",
            "--expires",
            "30d",
        ]
    )
    assert found == 0
    told = capsys.readouterr().out
    token = told.splitlines()[0]
    assert (
        token.startswith("ullage_")
        and "not shown again" in told
        and "write, approve" in told
    )
    assert main(["admin", "token", "list"]) == 0
    listed = capsys.readouterr().out
    assert "ci" in listed and "write,approve" in listed and "expires" in listed
    kept = (tmp_path / "tokens" / "ci.json").read_text()
    assert token not in listed and token[7:] not in kept
    assert main(["admin", "token", "add", "ci"]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["admin", "token", "revoke", "ci"]) == 0
    assert "still require one" in capsys.readouterr().out
    assert main(["admin", "token", "revoke", "ci"]) == 2
    assert main(["admin", "token", "list"]) == 0
    assert "`ullage admin token add NAME --scope read` makes" in capsys.readouterr().out


def test_a_message_s_command_acts_on_the_same_database(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["admin", "token", "list", "--store", database_url]) == 0
    listed = capsys.readouterr().out
    assert f"--scope read{place_option('--store', database_url)}` makes" in listed
    assert main(["admin", "token", "revoke", "nope", "--store", database_url]) == 2
    refused = capsys.readouterr().err
    assert f"no token 'nope' in {shown_place(database_url)}." in refused
    assert main(["permissions", "--revoke", "nope", "--store", database_url]) == 2
    refused = capsys.readouterr().err
    assert f"`ullage permissions{place_option('--store', database_url)}`" in refused


@pytest.mark.parametrize(
    "words",
    [
        ["add", "a b"],
        ["add", ""],
        ["add", "x", "--scope", "root"],
        ["add", "x", "--expires", "soon"],
    ],
)
def test_what_can_t_be_made_is_said_and_not_made(
    tmp_path: Path,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ULLAGE_DATA", str(tmp_path))
    assert main(["admin", "token", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert not (tmp_path / "tokens").exists()


def test_times_and_scopes_are_read() -> None:
    assert seconds_of("30d") == 30 * 86_400
    assert seconds_of("12h") == 43_200
    assert seconds_of("never") is None
    for bad in ("0d", "-1d", "d", "1.5d", "99999999d", "1d "):
        with pytest.raises(SettingError, match="30d"):
            seconds_of(bad)
    assert scopes_of([]) == ("read",)
    assert scopes_of(["admin, write", "read"]) == ("read", "write", "admin")


def test_a_server_asks_for_them_and_no_log_holds_one(tmp_path: Path) -> None:
    store = NamedTokens(FileRecords(tmp_path / "data"))
    token = store.add("ci", ("read",), expires=None, now=0)
    with (
        process(
            "http://127.0.0.1:9", tmp_path / "s.db", ULLAGE_DATA=str(tmp_path / "data")
        ) as server,
        server.api() as api,
    ):
        assert api.get("/v1/sessions").status_code == 401
        api.headers["Authorization"] = f"Bearer {token}"
        assert api.get("/v1/sessions").status_code == 200
        assert api.post("/v1/sessions", json={}).status_code == 403
        store.revoke("ci")
        assert api.get("/v1/sessions").status_code == 401
        code, said, errors = server.end()
    assert (code, token in said + errors) == (0, False)


def test_a_public_address_is_a_name_and_an_origin(tmp_path: Path) -> None:
    with (
        process(
            "http://127.0.0.1:9",
            tmp_path / "s.db",
            "--public-url",
            "https://agent.example.com",
        ) as server,
        server.api() as api,
    ):
        own = {"Host": "agent.example.com", "Origin": "https://agent.example.com"}
        assert api.post("/v1/sessions", json={}, headers=own).status_code == 201
        assert api.get("/", headers={"Host": "other.example.com"}).status_code == 403
        found = api.post(
            "/v1/sessions",
            json={},
            headers={**own, "Origin": "http://agent.example.com"},
        ).status_code
        assert found == 403


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--public-url", "agent.example.com/x", "https://"),
        ("--trusted-proxies", "10.0.0.5, *", "10.0.0.0/8"),
    ],
)
def test_an_address_that_is_none_is_said(
    option: str, value: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["serve", "--port", "0", "--store", str(tmp_path / "s.db"), option, value]
    assert main(words) == 2
    assert told in capsys.readouterr().err
