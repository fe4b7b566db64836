"""``ullage serve`` on the command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.server.served import WAIT_S, Api, process
from ullage.cli import main
from ullage.cli.parser import parser
from ullage.installation import extra_command
from ullage.store.records import FileRecords
from ullage_server.cli.serve import LaunchToken, agent_of, launch_token, should_show_live
from ullage_server.tokens import NamedTokens
from ullage_simulators import running
from ullage_simulators.scenario import read


def test_another_address_without_a_token_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ULLAGE_TOKEN", raising=False)
    assert main(["serve", "--host", "0.0.0.0"]) == 2
    assert "--token" in capsys.readouterr().err


def test_without_a_token_it_takes_that_of_this_machine(tmp_path: Path) -> None:
    environment = {"ULLAGE_DATA": str(tmp_path), "HOME": str(tmp_path)}
    first = launch_token("", [], environment, is_off=False)
    assert first.file == tmp_path / "server-token"
    assert launch_token("", [], environment, is_off=False) == first
    assert first.text in first.file.read_text()
    assert launch_token("", [], environment, is_off=True) == LaunchToken("")
    given = {**environment, "ULLAGE_TOKEN": "given"}
    assert launch_token("", [], given, is_off=False) == LaunchToken("given")
    named = NamedTokens(FileRecords(tmp_path))
    named.add("ada", ("admin",), expires=None, now=0)
    assert launch_token("", [named], environment, is_off=False) == LaunchToken("")


@pytest.mark.parametrize("words", ["serve --port 0", "admin worker --store s.db"])
def test_a_setting_without_its_tool_is_a_start_error(words: str, tmp_path: Path) -> None:
    model = ["--model", "anthropic:claude-haiku-4-5", "--tools", "read"]
    done = subprocess.run(
        [sys.executable, "-m", "ullage", *words.split(), *model],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "ANTHROPIC_API_KEY": "x", "ULLAGE_APPROVE": "write,shel"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'shell'" in done.stderr


def test_the_link_that_it_prints_opens_the_page_once(tmp_path: Path) -> None:
    words = ["serve", "--port", "0", "--store", str(tmp_path / "s.db")]
    with subprocess.Popen(
        [sys.executable, "-m", "ullage", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            url, word = program.stdout.readline().split()[1].split("/#link=")
            with Api(base_url=url, timeout=WAIT_S) as api:
                assert api.get("/v1/sessions").status_code == 401
                redeemed = api.post("/v1/link", json={"word": word})
                assert api.post("/v1/link", json={"word": word}).status_code == 403
                headers = {"Authorization": f"Bearer {redeemed.json()['token']}"}
                assert api.get("/v1/sessions", headers=headers).status_code == 200
        finally:
            program.terminate()


def test_no_token_says_what_it_means(tmp_path: Path) -> None:
    with process("http://127.0.0.1:9", tmp_path / "s.db") as server, server.api() as api:
        assert api.get("/v1/sessions").status_code == 200
    assert "--no-token every user and program of this machine" in server.opened


@pytest.mark.program
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
    kept = NamedTokens(FileRecords(tmp_path / "data"))
    token = kept.add("ada", ("admin",), expires=None, now=0)
    headers = {"Authorization": f"Bearer {token}"}
    for options, status in (((), 404), (("--live",), 200)):
        with (
            process(
                "", tmp_path / "s.db", *options, ULLAGE_DATA=str(tmp_path / "data")
            ) as server,
            server.api() as api,
        ):
            assert api.get("/v1/live", headers=headers).status_code == status
