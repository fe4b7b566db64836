from pathlib import Path

import pytest

from ullage_relay.options import BadOption, read_options

UPSTREAM = ["--upstream", "a=http://h"]


def test_the_options_of_the_command_line() -> None:
    options = read_options(
        [
            *UPSTREAM,
            "--port",
            "0",
            "--metering",
            '["python", "x"]',
            "--metering-settings",
            '{"a": 1}',
            "--guard",
        ]
    )
    assert options.host == "127.0.0.1"
    assert options.port == 0
    assert [upstream.name for upstream in options.upstreams] == ["a"]
    assert options.metering == ["python", "x"]
    assert options.metering_settings == b'{"a": 1}'
    assert options.guard
    assert options.token == b""


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "No upstream is given"),
        (["--upstream", "a"], "no http or https URL"),
        ([*UPSTREAM, "--host", "0.0.0.0"], "ULLAGE_PROXY_TOKEN"),
        ([*UPSTREAM, "--token-file", "/nowhere/token"], "can't be read"),
        ([*UPSTREAM, "--token-file", "/dev/null"], "is empty"),
        ([*UPSTREAM, "--metering", "python"], "--metering is no JSON"),
        ([*UPSTREAM, "--metering", '{"a": 1}'], "list of words"),
        ([*UPSTREAM, "--metering", "[1]"], "list of words"),
        ([*UPSTREAM, "--metering-settings", "[]"], "no JSON object"),
        ([*UPSTREAM, "--metering-settings", "{"], "no JSON"),
    ],
)
def test_an_option_that_can_not_be_used_says_why(
    arguments: list[str], problem: str
) -> None:
    with pytest.raises(BadOption, match=problem):
        read_options(arguments)


@pytest.mark.parametrize("where", ["file", "environment"])
def test_a_token_that_can_be_guessed_is_refused(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("\n\nx\n\n")
    arguments = [*UPSTREAM, "--token-file", str(file)]
    if where == "environment":
        arguments = UPSTREAM
        monkeypatch.setenv("ULLAGE_PROXY_TOKEN", "x")
    with pytest.raises(BadOption, match="A token of 1 characters can be guessed"):
        read_options(arguments)


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_is_none_ends_the_program(port: str) -> None:
    with pytest.raises(SystemExit):
        read_options([*UPSTREAM, "--port", port])


def test_a_token_comes_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_PROXY_TOKEN", "from the environment")
    assert read_options([*UPSTREAM, "--host", "0.0.0.0"]).token == b"from the environment"
    file = tmp_path / "token"
    file.write_text("read from the file\n")
    assert (
        read_options([*UPSTREAM, "--token-file", str(file)]).token
        == b"read from the file"
    )
