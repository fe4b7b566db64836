import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case, filled
from tests.turns.test_simple_command import NOT_SIMPLE
from ullage.turns.grants import Grant, covers, offered_prefix, why_no_prefix

STATUS = Grant(id="g", tool="shell", prefix=("git", "status"))


def test_a_prefix_covers_the_commands_that_begin_with_its_words() -> None:
    for command in (
        "git status",
        "git status --short",
        "git 'status' -- a",
        "  git  status",
    ):
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


def test_no_prefix_covers_what_is_no_simple_command() -> None:
    for command in filled(NOT_SIMPLE):
        with case(command):
            assert not covers(STATUS, "shell", {"command": command})


@given(st.text(st.sampled_from("git status;&|$()`<>\n\\\"' -x="), max_size=20))
def test_a_covered_command_has_the_granted_words_first_for_a_second_reader_too(
    more: str,
) -> None:
    command = f"git status{more}"
    if covers(STATUS, "shell", {"command": command}):
        assert shlex.split(command)[:2] == ["git", "status"]
        assert not set(";&|<>\n") & set(re.sub("'[^']*'|\"[^\"]*\"", "", command.strip()))


@pytest.mark.parametrize(
    "arguments",
    [None, {}, {"command": 5}, {"command": ["git", "status"]}, {"command": None}],
)
def test_a_call_whose_command_is_no_text_is_not_covered(
    arguments: dict[str, object] | None,
) -> None:
    assert not covers(STATUS, "shell", arguments)


def test_a_grant_without_a_prefix_covers_one_tool_but_never_the_shell() -> None:
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


RUNNERS = [
    "bash", "bunx", "busybox", "bwrap", "capsh", "chroot", "conda", "deno", "docker", "env", "find", "fish",
    "flock", "gdb", "go", "ionice", "java", "ld-linux-x86-64.so.2", "linux64", "test", "make", "micromamba", "node",
    "npm", "npx", "nsenter", "parallel", "perl", "pipx", "pnpm", "poetry", "pytest", "python", "python3.12",
    "rg", "ruby", "setarch", "sort", "ssh", "stdbuf", "strace", "sudo", "systemd-run", "tar", "taskset",
    "timeout", "tsx", "uv", "uvx", "vim", "watch", "xargs", "yarn", "zsh", "./git", "/usr/bin/git", "GIT",
]  # fmt: skip
GIT_RUNNERS = [
    "-c", "--exec-path=.", "alias", "bisect", "fetch", "grep", "pull", "push", "rebase", "submodule", "archive",
    "clone", "difftool", "mergetool",
]  # fmt: skip


def test_of_what_may_run_programs_only_the_exact_command_can_be_granted() -> None:
    words_cases: list[tuple[str, ...]] = [("git",)]
    words_cases += [(each,) for each in RUNNERS]
    words_cases += [("git", each) for each in GIT_RUNNERS]
    for words in words_cases:
        with case(words):
            for more in (
                (),
                ("run",),
                ("tool", "run"),
                ("x",),
                ("eval",),
                ("-m", "pytest"),
                ("status",),
            ):
                given = (*words, *more)
                if given != ("git", "status"):
                    assert why_no_prefix(given)
                    grant = Grant(id="g", tool="shell", prefix=given)
                    assert not covers(grant, "shell", {"command": " ".join(given)})
                    assert offered_prefix(" ".join(given)) == (*given, "")


@given(st.lists(st.text("abcgit-./ls", min_size=1, max_size=6), min_size=1, max_size=4))
def test_an_offer_is_a_known_prefix_or_covers_one_command_alone(words: list[str]) -> None:
    command = " ".join(words)
    offer = offered_prefix(command)
    grant = Grant(id="g", tool="shell", prefix=offer)
    if offer:
        assert covers(grant, "shell", {"command": command})
        assert covers(grant, "shell", {"command": f"{command} more"}) is (offer[-1] != "")


def test_an_exact_command_is_granted_with_its_empty_words() -> None:
    grant = Grant(id="g", tool="shell", prefix=offered_prefix("npx 'a b' ''"))
    assert grant.prefix == ("npx", "a b", "", "")
    assert str(grant) == "shell: exactly npx 'a b' ''"
    assert covers(grant, "shell", {"command": 'npx "a b" ""'})
    assert not covers(grant, "shell", {"command": "npx 'a b'"})
    assert not covers(grant, "shell", {"command": "npx 'a b' '' ''"})


@pytest.mark.parametrize("prefix", [(), ("",), ("", "")])
def test_no_words_are_no_prefix(prefix: tuple[str, ...]) -> None:
    assert why_no_prefix(prefix)


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("git status --short", ("git", "status")),
        ("ls -la", ("ls",)),
        ("ruff check src", ("ruff", "check")),
        ("make check", ("make", "check", "")),
        ("rm -rf build", ("rm", "-rf", "build", "")),
        ("cd a && ls", ()),
        ("ls; rm x", ()),
    ],
)
def test_the_prefix_that_is_offered_is_the_shortest_that_is_known(
    command: str, prefix: tuple[str, ...]
) -> None:
    assert offered_prefix(command) == prefix


def test_nothing_is_offered_for_what_is_no_command() -> None:
    assert offered_prefix(5) == offered_prefix(None) == ()


def test_a_grant_says_what_it_allows() -> None:
    assert str(STATUS) == "shell: git status …"
    assert str(Grant(id="g", tool="write")) == "write"
