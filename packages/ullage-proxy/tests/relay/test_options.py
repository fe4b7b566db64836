import json
from pathlib import Path

import pytest

from ullage_proxy.relay.options import BadOption, RelayOptions, read_options, token_of

OPEN = RelayOptions({}, host="0.0.0.0")


def test_what_is_not_named_has_its_default() -> None:
    options = read_options(json.dumps({"upstreams": {"a": "http://h"}, "port": 0}))
    assert (options.host, options.port) == ("127.0.0.1", 0)
    assert token_of(options) == b""


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (OPEN, "ULLAGE_PROXY_TOKEN"),
        (RelayOptions({}, token_file="/nowhere/token"), "can't be read"),
        (RelayOptions({}, token_file="/dev/null"), "is empty"),
    ],
)
def test_an_unusable_token_says_why(options: RelayOptions, problem: str) -> None:
    with pytest.raises(BadOption, match=problem):
        token_of(options)


@pytest.mark.parametrize("where", ["file", "environment"])
def test_a_token_that_can_be_guessed_is_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("\n\nx\n\n")
    options = RelayOptions({}, token_file=str(file))
    if where == "environment":
        options = RelayOptions({})
        monkeypatch.setenv("ULLAGE_PROXY_TOKEN", "x")
    with pytest.raises(BadOption, match="A token of 1 characters can be guessed"):
        token_of(options)


def test_a_token_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_PROXY_TOKEN", "from the environment")
    assert token_of(OPEN) == b"from the environment"
    file = tmp_path / "token"
    file.write_text("read from the file\n")
    assert token_of(OPEN._replace(token_file=str(file))) == b"read from the file"
