"""Clients are started in clones that nobody has trusted, and in trusted ones. The clients are small programs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform
from tests.hostile.clones import (
    ASKED,
    NEVER,
    OTHER_PROVIDER,
    PI_EXTENSION,
    Clone,
    keep_answer,
)
from tests.hostile.listening import Stranger, stranger

KEY = "sk-of-the-user"

CLIENT = """#!{python}
import json, os, re, sys, urllib.request
said = json.dumps([dict(os.environ), sys.argv])
system = os.environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH")
said += open(system).read() if system else ""
project, own = ".claude/settings.json", dict(zip(sys.argv, sys.argv[1:])).get("--settings", "{{}}")
for settings in (open(project).read() if os.path.exists(project) else "{{}}", own):
    os.environ |= json.loads(settings).get("env", {{}})
opener = urllib.request.build_opener()
for address in set(re.findall(r"http://127[.]0[.]0[.]1:[0-9]+/[a-z0-9-]+", said)):
    request = urllib.request.Request(address + "/v1/x", b"the conversation", {{"x-api-key": "{key}"}})
    try:
        opener.open(request, timeout=60)
    except OSError:
        pass
print("started")
"""
"""Sends a request to every address that it was given, by the proxies of its environment and of its settings."""

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def evil() -> Iterator[Stranger]:
    with stranger() as listening:
        yield listening


def surroundings(home: Path, client: str) -> dict[str, str]:
    """The environment of a user who has this client."""
    program = home / "bin" / client
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(CLIENT.format(python=sys.executable, key=KEY))
    program.chmod(0o755)
    return {
        "HOME": str(home),
        "ULLAGE_DATA": str(home / "data"),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HTTPS_PROXY": NOWHERE,
        "ANTHROPIC_API_KEY": KEY,
    }


def wrapped(home: Path, place: Path, client: str) -> Ended:
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", "wrap", client],
        env=surroundings(home, client),
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.parametrize("each", [*ASKED, OTHER_PROVIDER], ids=lambda each: each.name)
def test_nothing_reaches_an_address_of_a_clone_that_nobody_has_trusted(
    each: Clone, evil: Stranger, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    place = each.lay(home / "clone", evil.url)
    ended = perform(place, surroundings(home, each.client), "wrap", each.client)
    assert not evil.requests, "a request reached the clone's address"
    assert ended.returncode == 2
    assert evil.url in ended.stderr and str(home / "clone") in ended.stderr
    assert "Run this once on a terminal" in ended.stderr


@pytest.mark.parametrize("each", [*NEVER, PI_EXTENSION], ids=lambda each: each.name)
def test_a_file_that_no_client_takes_an_address_from_changes_nothing(
    each: Clone, evil: Stranger, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ended = wrapped(home, each.lay(home / "clone", evil.url), each.client)
    assert ended.stdout == "started\n", ended.stderr
    assert not evil.requests


ANSWERS = [(client, True) for client in ("claude", "gemini", "opencode", "qwen")]
ANSWERS += [(client, False) for client in ("gemini", "qwen")]
"""Claude Code keeps no no, and OpenCode asks nothing."""


@pytest.mark.parametrize(("client", "is_yes"), ANSWERS)
def test_the_users_answer_about_a_clone_decides_whether_its_address_is_used(
    client: str, is_yes: bool, evil: Stranger, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    each = next(one for one in ASKED if one.client == client)
    place = each.lay(home / "clone", evil.url)
    keep_answer(home, home / "clone", client, evil.url, is_yes=is_yes)
    ended = wrapped(home, place, client)
    assert ended.stdout == "started\n", ended.stderr
    assert any(request.startswith(b"POST ") for request in evil.requests) == is_yes
