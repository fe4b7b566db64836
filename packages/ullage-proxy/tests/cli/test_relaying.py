import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ullage.cli.parser import parser
from ullage.errors import SettingError
from ullage_proxy.cli.relaying import RelayRun, metering_settings, relay_command

UPSTREAMS = {"anthropic": "https://api.anthropic.com", "lab": "http://127.0.0.1:9/v1"}


def options(*words: str) -> argparse.Namespace:
    return parser().parse_args(["proxy", *words])


def given_to_relay(**metering: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(relay_command(UPSTREAMS, metering, port=0)[-1])
    return found


def test_the_relay_starts_without_the_modules_of_the_directory() -> None:
    command = relay_command(UPSTREAMS, {})
    assert command[:4] == [sys.executable, "-P", "-m", "ullage_proxy.relay"]


def test_metering_never_loads_modules_of_the_directory_where_it_starts() -> None:
    assert given_to_relay()["metering"][1] == "-P"


def test_the_relay_gets_its_upstreams_and_marks() -> None:
    assert given_to_relay()["upstreams"] == UPSTREAMS
    assert given_to_relay()["port"] == 0
    assert "session-id" in given_to_relay()["marks"]


def test_metering_gets_what_the_user_asked_for() -> None:
    given = options("--no-store", "--no-content", "--keep-days", "7")
    assert metering_settings(given, UPSTREAMS, lines=True) == {
        "is_stored": False,
        "content": False,
        "keep_days": 7.0,
        "lines": True,
        "local": ["lab"],
    }


def test_a_relay_for_one_client_ends_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    relay = RelayRun(UPSTREAMS, {"is_stored": False}, log)
    try:
        assert relay.address.startswith("http://127.0.0.1:")
        assert len(relay.name) == 16
    finally:
        said = relay.end()
    assert said == ""
    relay.close()


def test_a_relay_that_can_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"did not start.* no upstream"):
        RelayRun({"s": "https://a.example"}, {}, tmp_path / "log")
