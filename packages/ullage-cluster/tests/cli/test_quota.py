from __future__ import annotations

from pathlib import Path

import pytest

from ullage.cli.parser import parser
from ullage.errors import SettingError
from ullage_cluster.cli.quota import limit_of, run


def told(capsys: pytest.CaptureFixture[str], path: Path, words: str) -> str:
    assert run(parser().parse_args([*words.split(), "--store", str(path)])) == 0
    return capsys.readouterr().out


def test_quotas_are_set_changed_listed_and_removed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    assert f"No quotas in {path}, which does" in told(capsys, path, "admin quota list")
    assert not path.exists()
    said = told(capsys, path, "admin quota set acme --tokens 2M --usd 12.5")
    assert said.startswith("acme: 0 of 2,000,000 tokens, $0.00 of $12.50 on 20")
    said = told(capsys, path, "admin quota set acme --sessions 5 --usd none")
    assert said.startswith("acme: 0 of 5 sessions, 0 of 2,000,000 tokens on 20")
    assert told(capsys, path, "admin quota list").count("\n") == 1
    assert "no quota any more" in told(capsys, path, "admin quota remove acme")
    assert f"--tokens N --store {path}` makes" in told(capsys, path, "admin quota list")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("admin quota set acme", "give --sessions"),
        ("admin quota set Acme! --tokens 1", "can't name a tenant"),
        ("admin quota set acme --tokens many", "give a number"),
        ("admin quota set acme --usd 1e9", "give dollars"),
        ("admin quota remove acme", "has no quota"),
    ],
)
def test_a_mistake_is_said_and_changes_nothing(
    words: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=says):
        run(parser().parse_args([*words.split(), "--store", str(tmp_path / "s.db")]))


def test_a_message_s_command_acts_on_the_same_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    told(capsys, path, "admin quota set acme --sessions 5")
    with pytest.raises(SettingError, match=f"`ullage admin quota list --store {path}`"):
        told(capsys, path, "admin quota remove other")


def test_limits_have_units_and_may_be_none() -> None:
    assert limit_of("tokens", "200k") == 200_000
    assert limit_of("sessions", "0") == 0
    assert limit_of("usd", "0.25") == 0.25
    assert limit_of("usd", "none") is None
