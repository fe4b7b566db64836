from pathlib import Path

import pytest

from ullage.tools.denials import denial_note
from ullage.tools.sandbox import Sandbox

NO_NETWORK = "the sandbox has no network"
HIDDEN = "a path outside the working directory is hidden by the sandbox"
READ_ONLY = "outside the working directory and $TMPDIR files are read-only in the sandbox"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("curl: (6) Could not resolve host: example.org", NO_NETWORK),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", NO_NETWORK),
        ("connect ENETUNREACH 10.0.0.1:443", NO_NETWORK),
        ("touch: cannot touch '/etc/new': Read-only file system", READ_ONLY),
        ("bash: /usr/lib/x: Permission denied", READ_ONLY),
        ("cat: /home/nobody-here/.ssh/id: No such file or directory", HIDDEN),
        ("/usr/bin/bash: line 1: notes/a: Permission denied", ""),
        ("/usr/bin/bash: line 1: /etc/new: Read-only file system", READ_ONLY),
        ("bash: line 1: /nobody-here/new: Read-only file system", READ_ONLY),
        ("bash: line 1: /nobody-here/new: Permission denied", HIDDEN),
        ("AssertionError: 1 != 2", ""),
        ("bash: line 1: foo: command not found", ""),
        ("cat: missing: No such file or directory", ""),
        ("cat: /usr/missing: No such file or directory", ""),
        ("cat: /tmp/missing: No such file or directory", ""),
        ("chmod: x: Operation not permitted", ""),
        ("connection to 127.0.0.1 refused", ""),
    ],
)
def test_a_note_says_only_what_the_rules_make_certain(text: str, note: str, tmp_path: Path) -> None:
    assert denial_note(text, Sandbox(), tmp_path) == note


def test_inside_the_workspace_the_sandbox_is_not_blamed(tmp_path: Path) -> None:
    text = f"cat: {tmp_path}/a: Permission denied\ncat: {tmp_path}/b: No such file or directory"
    assert denial_note(text, Sandbox(), tmp_path) == ""


def test_with_the_network_or_without_a_sandbox_nothing_is_said_of_it(tmp_path: Path) -> None:
    text = "Could not resolve host: x"
    assert denial_note(text, Sandbox(mode="workspace+network"), tmp_path) == ""
    assert denial_note(text, Sandbox(mode="off"), tmp_path) == ""


def test_a_command_that_did_not_fail_is_told_only_of_what_is_read_only(tmp_path: Path) -> None:
    for line in ("Could not resolve host: x", "cat: /nobody-here/x: not found", "bash: /usr/lib/x: Permission denied"):
        assert denial_note(line, Sandbox(), tmp_path, failed=False) == ""
    assert denial_note("touch: '/etc/new': Read-only file system", Sandbox(), tmp_path, failed=False) == READ_ONLY


def test_a_repository_is_named_as_the_setting_takes_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.git").write_text("gitdir: ../kept")
    note = denial_note("fatal: sub/.git: Read-only file system", Sandbox(), tmp_path)
    assert f'a person can run that git command, or open it to commands with sandbox_write = ["{tmp_path}/kept"]' in note
    nothing = denial_note("fatal: .git: Read-only file system", Sandbox(), tmp_path)
    assert nothing.endswith("a person can run that git command")
