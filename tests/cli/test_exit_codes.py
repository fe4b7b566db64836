"""The exit code of every command, as a shell sees it; docs/exit-codes.md is the table for users."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.logs import home_of, write_log
from tests.forking import run_ullage
from ullage.cli import exit_codes
from ullage.cli.mistyped import CommandParser
from ullage.cli.parser import parser
from ullage_simulators.answer import ScriptedAnswer as Scripted
from ullage_simulators.scenario import Scenario, ScriptLine
from ullage_simulators.server import Server, running

DOCUMENT = Path(__file__).parents[2] / "docs" / "exit-codes.md"

ANSWER = "A cask is a barrel. " * 20


class Case(NamedTuple):
    """A command line, the code it ends with and a part of what it says. ``typed`` is its standard input."""

    words: str
    code: int
    says: str = ""
    typed: str = ""


DONE = [
    Case("", 0, "see what fills a window:"),
    Case("help", 0, "see what fills a window:"),
    Case("help context", 0, "usage: ullage context"),
    Case("--version", 0, "ullage 0."),
    Case("context LOG", 0, "claude-haiku-4-5"),
    Case("models gpt-4o", 0, "128,000"),
    Case("run hi MODEL", 0, "A cask"),
    Case("chat MODEL", 0, "A cask", "hi\n"),
    Case("chat MODEL", 0, "", "/quit\n"),
    Case("permissions", 0, "Nothing is allowed"),
    Case("admin approve", 0, "needs a person."),
    Case("admin token list", 0, "No tokens"),
    Case("admin quota list", 0, "No quotas"),
    Case("top --once", 0, "0 sessions"),
    Case("wrap -- true", 0),
    Case("install claude-code --hooks --dry-run", 0, "would be changed"),
    Case("install claude --remove", 0, "Nothing of that is installed"),
]

FAILED = [
    Case("contxt", 2, "There is no command 'contxt'. Did you mean `ullage context`?"),
    Case("frobnicate", 2, "There is no command 'frobnicate'. There are context, "),
    Case("--versoin", 2, "Did you mean --version?"),
    Case("context --josn LOG", 2, "has no option --josn. Did you mean --json?"),
    Case("--json context LOG", 2, "stands behind the command, as in `ullage context"),
    Case("context --window many LOG", 2, "--window: 'many' is no number of tokens"),
    Case("context --at x LOG", 2, "--at: 'x' is no whole number"),
    Case(
        "context --estimator bppe LOG",
        2,
        "'bppe' is no choice of --estimator. Did you mean 'bpe'?",
    ),
    Case("context LOG more", 2, "has no place for 'more'"),
    Case("context --at 99 LOG", 2, "There is no call number 99"),
    Case("context gone", 2, "There is no file gone"),
    Case("sessions", 2, "No session log was found"),
    Case("usage", 2, "No session log was found"),
    Case("usage --since tomorrow", 2, "'tomorrow' is no date"),
    Case("models gpt-4oo", 2, "Did you mean"),
    Case("run What is a cask MODEL", 2, "stands in quotes"),
    Case("run hi --model antropic:x", 2, "Did you mean 'anthropic:x'?"),
    Case("run hi MODEL --max-output 5", 2, "largest output"),
    Case("run hi MODEL --tools read,serch", 2, "Did you mean 'search'?"),
    Case("chat MODEL", 2, "Did you mean /context?", "/contxt\nhi\n"),
    Case("demo --seed x", 2, "--seed: 'x' is no whole number"),
    Case("serve MODEL --tools bsh", 2, "There is no built-in tool 'bsh'"),
    Case("serve MODEL --port TAKEN", 2, "Address already in use"),
    Case("mcp x", 2, "has no place for 'x'"),
    Case("admin approve nope", 2, "There is no session 'nope'"),
    Case("permissions --revoke nope", 2, "There is no permission 'nope'"),
    Case("admin token", 2, "`ullage admin token` is incomplete: it needs ACTION"),
    Case("serve --live=x", 2, "takes no value, and was given 'x'"),
    Case("admin token ad", 2, "Did you mean `ullage admin token add`?"),
    Case("admin token revoke nope", 2, "There is no token 'nope'"),
    Case("context --follow gone", 2, "There is no file gone"),
    Case("top --sort name", 2, "There are activity, fullness, cost."),
    Case("wrap -- nosuchprogram", 2, "There is no program 'nosuchprogram'"),
    Case("wrap claud", 2, "Did you mean `ullage wrap claude-code`?"),
    Case("proxy --port TAKEN", 2, "is in use"),
    Case("install claude-cod", 2, "Did you mean 'claude-code'?"),
    Case("install codex --statusline", 2, "codex takes no status line"),
    Case("install", 2, "`ullage install` is incomplete: it needs CLIENT"),
    Case("admin worker", 2, "`ullage admin worker` is incomplete: it needs --store"),
    Case("admin cluster", 2, "give --local"),
    Case(
        "admin worker --store gone --dispatch restate --no-token --restate-admin here",
        2,
        "--restate-admin 'here' is no URL",
    ),
    Case("admin worker --store gone --dispatch restate --listen 80", 2, "give HOST:PORT"),
    Case("admin worker --store gone --drives x", 2, "'x' is no whole number above 0"),
    Case("admin quota set default --tokens x", 2, "give a number"),
    Case("admin store restor", 2, "Did you mean `ullage admin store restore`?"),
    Case("simulate --port TAKEN", 2, "can't be used"),
]

OF_THE_CLIENT = [
    Case("wrap -- false", 1),
    Case("wrap -- sh -c kill${IFS}-9${IFS}$$", 137),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running(Scenario(answers=(ScriptLine(Scripted(text=ANSWER)),)), seed=3) as made:
        yield made


@pytest.mark.parametrize(
    "case",
    [*DONE, *FAILED, *OF_THE_CLIENT],
    ids=lambda case: f"{case.words} {case.typed.strip()}".strip() or "nothing",
)
def test_a_command_ends_with_the_code_of_what_it_did(
    case: Case, server: Server, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log.jsonl")
    unreported = write_log(tmp_path / "unreported.jsonl", calls=1)
    unreported.write_text(
        re.sub(r'"usage": \{[^}]*\}', '"usage": {}', unreported.read_text())
    )
    address = ["--base-url", server.url("anthropic")]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        meanings = {
            "LOG": [str(log)],
            "UNREPORTED": [str(unreported)],
            "TAKEN": [str(taken.getsockname()[1])],
            "MODEL": ["--model", "anthropic:claude-haiku-4-5", *address],
            "URL": address,
        }
        words: list[str] = []
        for word in case.words.split():
            words += meanings.get(word, [word])
        ended = run_ullage(
            *words,
            cwd=tmp_path,
            env=home_of(tmp_path / "home") | {"ANTHROPIC_API_KEY": "any"},
            typed=case.typed,
        )
    said = ended.stdout + ended.stderr
    assert ended.returncode == case.code, said
    assert case.says in said
    assert "Traceback" not in said
    if case.code == exit_codes.FAILED and "MODEL" not in case.words:
        assert ended.stderr


def test_every_command_has_a_row_for_a_failure() -> None:
    typed = {case.words for case in FAILED}
    root = parser().commands()
    admin = {f"admin {name}" for name in root["admin"].commands()}
    for command in {*root, *admin} - {"admin"}:
        assert any(f"{words} ".startswith(f"{command} ") for words in typed), command


def test_every_code_is_in_the_table_for_users() -> None:
    rows = re.findall(r"^\| (\d+|128 \+ N) \|", DOCUMENT.read_text(), re.MULTILINE)
    codes = {exit_codes.DONE, exit_codes.FAILED, exit_codes.INTERRUPTED}
    assert rows == ["0", "1", "2", "130", "128 + N"]
    assert {str(code) for code in codes} < set(rows)


def test_no_command_gives_a_code_of_its_own() -> None:
    """A number in ``return 2`` says nothing; a name of ``exit_codes`` does."""
    found = []
    for path in (DOCUMENT.parents[1] / "packages").glob("*/src/*/cli/*.py"):
        for match in re.finditer(
            r"^    +return ([1-9]\d*)( if .*)?$", path.read_text(), re.MULTILINE
        ):
            found.append((path.name, match[0]))
    assert found == []


def test_an_error_of_a_subcommand_names_the_whole_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as end:
        parser().refuse_unknown(["admin", "token", "add", "x"], ["--scop"])
    assert end.value.code == exit_codes.FAILED
    assert capsys.readouterr().err == (
        "ullage: `ullage admin token add` has no option --scop. Did you mean --scope? "
        "`ullage admin token add --help` says more.\n"
    )


def test_a_sentence_of_argparse_is_ours_with_an_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = CommandParser(prog="ullage run")
    made.add_argument("question", metavar="QUESTION")
    with pytest.raises(SystemExit):
        made.parse_args([])
    assert capsys.readouterr().err == (
        "ullage: `ullage run` is incomplete: it needs QUESTION. `ullage run --help` says more.\n"
    )
