"""A small program stands in for Claude Code. It sends a request with the key to the address that it was given."""

import sys
from pathlib import Path

import pytest

from bench.clients.clients import CLIENTS
from bench.clients.session import Ended, Programs
from bench.clients.untrusted import (
    KEY,
    PATHS,
    Run,
    clones_for,
    clones_table,
    judged,
    tried,
)
from tests.hostile.clones import ASKED, NEVER, PI_EXTENSION, Clone
from tests.hostile.test_clones import CLIENT

TOLD = Run(Ended("Run this once on a terminal", "exit code 2"), requests=0, keys=0, own=0)
CALLED = Run(Ended("Hello."), requests=0, keys=0, own=1)
REACHED = Run(Ended("Hello."), requests=2, keys=1, own=0)


def test_a_client_is_tried_before_and_after_its_user_trusts_the_clone(
    tmp_path: Path,
) -> None:
    program = tmp_path / "claude"
    program.write_text(CLIENT.format(python=sys.executable, key=KEY))
    program.chmod(0o755)
    found = tried(CLIENTS["claude-code"], ASKED[0], Programs(program, version="9"))
    assert found.problems == []
    assert (found.before.requests, found.after.keys) == (0, 1)
    table = clones_table([found]).markdown()
    assert "| Claude Code 9: `.claude/settings.json` | you are asked | 0 |" in table


def test_each_client_with_an_address_of_its_own_has_a_clone() -> None:
    found = {one.client for client in CLIENTS.values() for one in clones_for(client)}
    assert found == set(PATHS) == {one.client for one in (*ASKED, *NEVER, PI_EXTENSION)}


def test_what_must_not_be_is_said() -> None:
    asked, never = ASKED[0], NEVER[0]
    assert judged(asked, TOLD, REACHED) == judged(never, CALLED, CALLED) == []
    assert judged(PI_EXTENSION, CALLED, REACHED) == []
    early, untold = judged(asked, REACHED, REACHED)
    assert early.startswith("2 requests (1 with the key) before the user trusts")
    assert untold.startswith("the user is not told")
    (told, silent) = judged(never, TOLD, CALLED)
    assert told.startswith("the user is told") and silent.startswith("the client made no")


@pytest.mark.parametrize(
    ("clone", "before", "after"), [(ASKED[0], TOLD, TOLD), (NEVER[0], CALLED, REACHED)]
)
def test_a_clone_that_shows_nothing_is_a_problem(
    clone: Clone, before: Run, after: Run
) -> None:
    (problem,) = judged(clone, before, after)
    assert "requests with the key in a trusted clone" in problem
