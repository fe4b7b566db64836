import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.test_simple_command import NOT_SIMPLE
from ullage.agent.grants import Grant, covers, offered_prefix, why_no_prefix

STATUS = Grant(id="g", tool="shell", prefix=("git", "status"))


def test_a_prefix_covers_the_commands_that_begin_with_its_words() -> None:
    for command in ("git status", "git status --short", "git 'status' -- a", "  git  status"):
        assert covers(STATUS, "shell", {"command": command})
        assert covers(STATUS, "shell", {"command": command, "timeout_s": 5})


@pytest.mark.parametrize(
    "command",
    [
        "git", "git stat", "git statusx", "git -c core.fsmonitor=x status", "git stash", "xgit status",
        "/tmp/git status", "./git status", "git --exec-path=. status", "Git status", "git 'status x'", "'git status'",
    ],
)  # fmt: skip
def test_a_prefix_covers_whole_words_alone(command: str) -> None:
    assert not covers(STATUS, "shell", {"command": command})


@pytest.mark.parametrize("command", NOT_SIMPLE)
def test_no_prefix_covers_what_is_no_simple_command(command: str) -> None:
    assert not covers(STATUS, "shell", {"command": command})


@given(st.text(st.sampled_from("git status;&|$()`<>\n\\\"' -x="), max_size=20))
def test_a_covered_command_has_the_granted_words_first_for_a_second_reader_too(more: str) -> None:
    command = f"git status{more}"
    if covers(STATUS, "shell", {"command": command}):
        assert shlex.split(command)[:2] == ["git", "status"]
        assert not set(";&|<>\n") & set(re.sub("'[^']*'|\"[^\"]*\"", "", command.strip()))


@pytest.mark.parametrize("arguments", [None, {}, {"command": 5}, {"command": ["git", "status"]}, {"command": None}])
def test_a_call_whose_command_is_no_text_is_not_covered(arguments: dict[str, object] | None) -> None:
    assert not covers(STATUS, "shell", arguments)


def test_a_grant_without_a_prefix_covers_a_tool_and_no_other_but_never_the_shell() -> None:
    assert covers(Grant(id="g", tool="write"), "write", {"path": "a"})
    assert not covers(Grant(id="g", tool="write"), "edit", {"path": "a"})
    assert not covers(Grant(id="g", tool="write"), "write", None)
    assert not covers(Grant(id="g", tool="shell"), "shell", {"command": "ls"})
    assert not covers(Grant(id="g", tool="write", prefix=("a",)), "write", {"path": "a"})


def test_a_grant_for_a_servers_tool_ends_with_its_declaration() -> None:
    grant = Grant(id="g", tool="mcp__notes", declaration="as it was")
    assert covers(grant, "mcp__notes", {}, "as it was")
    assert not covers(grant, "mcp__notes", {}, "as it is now")
    assert not covers(grant, "mcp__notes", {})


@pytest.mark.parametrize(
    "prefix",
    [
        (), ("",), ("sudo",), ("sudo", "apt"), ("env",), ("env", "A=b", "ls"), ("bash", "-c"), ("bash", "x.sh"),
        ("xargs",), ("xargs", "ls"), ("python",), ("python3", "-c"), ("python3.12",), ("python", "-"), ("python", "-m"),
        ("python", "-m", "-c"), ("/usr/bin/python3",), ("/bin/sh", "-c"), ("perl", "-e"), ("node", "-e"), ("ruby",),
        ("git",), ("git", "-c"), ("git", "--exec-path"), ("npm",), ("npm", "run"), ("npm", "exec", "--yes"),
        ("docker", "run"), ("uv", "run"), ("timeout", "5"), ("find", "."), ("ssh", "host"), ("eval",), (".",),
        ("source", "x"), ("SUDO",), ("awk", "1"), ("sed", "p"),
    ],
)  # fmt: skip
def test_what_runs_anything_is_no_prefix(prefix: tuple[str, ...]) -> None:
    assert why_no_prefix(prefix)
    assert not covers(Grant(id="g", tool="shell", prefix=prefix), "shell", {"command": " ".join(prefix)})


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("git status --short", ("git", "status")),
        ("python -m pytest -q tests", ("python", "-m", "pytest")),
        ("python3 scripts/build.py --fast", ("python3", "scripts/build.py")),
        ("uv run pytest -q", ("uv", "run", "pytest")),
        ("npm run build", ("npm", "run", "build")),
        ("npm test", ("npm", "test")),
        ("make check", ("make", "check")),
        ("ls -la", ("ls",)),
        ("git", ()),
        ("git -C .. status", ()),
        ("sudo ls", ()),
        ("rm -rf build", ()),
        ("curl https://example.org", ()),
        ("bash -c ls", ()),
        ("env A=b ls", ()),
        ("xargs rm", ()),
        ("python", ()),
        ("python -c 'print(1)'", ()),
        ("python -m", ()),
        ("cd a && ls", ()),
        ("ls; rm x", ()),
    ],
)
def test_the_prefix_that_is_offered_is_the_shortest_that_says_what_is_done(
    command: str, prefix: tuple[str, ...]
) -> None:
    assert offered_prefix(command) == prefix


def test_nothing_is_offered_for_what_is_no_command() -> None:
    assert offered_prefix(5) == offered_prefix(None) == ()


def test_a_grant_says_what_it_allows() -> None:
    assert str(STATUS) == "shell: git status …"
    assert str(Grant(id="g", tool="write")) == "write"
