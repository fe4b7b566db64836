"""``ullage serve`` on the command line."""

from pathlib import Path

import pytest
from ullage_simulators import running
from ullage_simulators.scenario import read

from tests.processes import run_python
from tests.server.served import process
from ullage.cli import main
from ullage.cli.parser import parser
from ullage.cli.serve import agent_of, greeting, should_show_live
from ullage.installation import extra_command
from ullage.server.tokens import TokenStore


def test_another_address_without_a_token_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ULLAGE_TOKEN", raising=False)
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "--token" in capsys.readouterr().err


def test_it_says_where_it_is_who_reaches_it_and_what_to_do() -> None:
    said = greeting(
        "http://127.0.0.1:8801",
        "anthropic:claude-haiku-4-5",
        is_local=True,
        has_token=False,
    )
    assert "http://127.0.0.1:8801 (this machine only)" in said
    assert "browser" in said and "Ctrl-C" in said
    other = greeting("http://10.0.0.1:8801", "", is_local=False, has_token=True)
    assert "everybody who has a token" in other and "asks for a token" in other


def test_the_token_comes_from_the_environment(tmp_path: Path) -> None:
    with (
        process("http://127.0.0.1:9", tmp_path / "s.db", ULLAGE_TOKEN="secret") as server,
        server.api() as api,
    ):
        assert api.get("/v1/sessions").status_code == 401
        assert (
            api.get(
                "/v1/sessions", headers={"Authorization": "Bearer secret"}
            ).status_code
            == 200
        )
        code, said, errors = server.end()
        assert (code, "secret" in said + errors) == (0, False)


def test_what_a_session_says_wins_over_the_server_s_options(tmp_path: Path) -> None:
    options = parser().parse_args(
        ["serve", "--model", "anthropic:claude-haiku-4-5", "--tools", "read,list"]
    )
    agent = agent_of(options, store=tmp_path / "s.db", environment={})
    assert agent.settings.model == "anthropic:claude-haiku-4-5"
    assert agent.settings.tools == ("read", "list")


async def test_tools_that_change_things_wait_for_an_approval(tmp_path: Path) -> None:
    command = {"name": "shell", "arguments": {"command": "touch ran"}}
    with running(read({"answers": [{"calls": [command]}]})) as simulator:
        given = [
            "--tools",
            "shell,write",
            "--root",
            str(tmp_path),
            "--base-url",
            simulator.url("anthropic"),
        ]
        options = parser().parse_args(
            ["serve", "--model", "anthropic:claude-haiku-4-5", *given]
        )
        agent = agent_of(
            options, store=tmp_path / "s.db", environment={"ANTHROPIC_API_KEY": "x"}
        )
        result = await agent.ask("Please.", session="s")
    assert (result.reason, result.is_paused) == ("approval", True)
    assert not (tmp_path / "ran").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['litestar'] = None\n"
        "from ullage.cli import main\n"
        "sys.exit(main(['serve', '--port', '0', '--store', sys.argv[1]]))"
    )
    ran = run_python("-c", script, str(tmp_path / "s.db"))
    assert (ran.returncode, extra_command("server") in ran.stderr) == (2, True), (
        ran.stderr
    )


@pytest.mark.parametrize(
    ("said", "is_private", "shown"),
    [
        ([], True, True),
        ([], False, False),
        (["--live"], False, True),
        (["--no-live"], True, False),
        (["--simulate"], True, False),
    ],
)
def test_running_sessions_are_shown_where_the_user_alone_reaches_the_server_or_asks_for_it(
    said: list[str], is_private: bool, shown: bool
) -> None:
    args = parser().parse_args(["serve", *said])
    assert should_show_live(args, is_private=is_private) is shown


def test_named_tokens_keep_running_sessions_from_the_page(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    kept = TokenStore(tokens)
    token = kept.add("ada", ("admin",), expires=None, now=0)
    headers = {"Authorization": f"Bearer {token}"}
    for options, status in (((), 404), (("--live",), 200)):
        with (
            process("", tmp_path / "s.db", "--tokens", str(tokens), *options) as server,
            server.api() as api,
        ):
            assert api.get("/v1/live", headers=headers).status_code == status
