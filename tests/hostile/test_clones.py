"""Clients are started in clones that nobody has trusted, and in trusted ones. The clients are small programs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform
from tests.hostile.clones import ASKED, NEVER, Clone
from tests.hostile.listening import Stranger, stranger

KEY = "sk-of-the-user"

CLIENT = """#!{python}
import json, os, re, sys, urllib.request
said = json.dumps([dict(os.environ), sys.argv])
system = os.environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH")
said += open(system).read() if system else ""
direct = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
for address in set(re.findall(r"http://127[.]0[.]0[.]1:[0-9]+/[a-z0-9-]+", said)):
    request = urllib.request.Request(address + "/v1/x", b"the conversation", {{"x-api-key": "{key}"}})
    try:
        direct.open(request, timeout=20)
    except OSError:
        pass
print("started")
"""
"""Sends a request to every address that it was given."""

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def evil() -> Iterator[Stranger]:
    with stranger() as listening:
        yield listening


def first_clone(client: str) -> Clone:
    return next(each for each in ASKED if each.client == client)


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


def wrapped(
    home: Path, place: Path, client: str, more: Mapping[str, str] | None = None
) -> Ended:
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", "wrap", client],
        env={**surroundings(home, client), **(more or {})},
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def trust(home: Path, clone: Path, client: str, level: str = "TRUST_FOLDER") -> None:
    """What the client keeps of its user's answer about the clone."""
    if client == "claude":
        path = home / ".claude.json"
        answer: object = {"projects": {str(clone): {"hasTrustDialogAccepted": True}}}
    else:
        path = home / f".{client}" / "trustedFolders.json"
        answer = {str(clone): level}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(answer))


@pytest.mark.parametrize("each", ASKED, ids=lambda each: each.name)
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


@pytest.mark.parametrize("each", NEVER, ids=lambda each: each.name)
def test_a_file_that_no_client_takes_an_address_from_changes_nothing(
    each: Clone, evil: Stranger, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    ended = wrapped(home, each.lay(home / "clone", evil.url), each.client)
    assert ended.stdout == "started\n", ended.stderr
    assert not evil.requests


@pytest.mark.parametrize("client", ["claude", "gemini", "qwen"])
def test_the_address_of_a_clone_that_the_client_trusts_is_used(
    client: str, evil: Stranger, tmp_path: Path
) -> None:
    each = first_clone(client)
    clone = tmp_path / "home" / "clone"
    place = each.lay(clone, evil.url)
    trust(tmp_path / "home", clone, each.client)
    ended = wrapped(tmp_path / "home", place, each.client)
    assert ended.stdout == "started\n", ended.stderr
    assert any(request.startswith(b"POST ") for request in evil.requests)


@pytest.mark.parametrize("client", ["opencode"])
def test_a_directory_in_trusted_answers_for_a_client_that_asks_nothing(
    client: str, evil: Stranger, tmp_path: Path
) -> None:
    each = first_clone(client)
    place = each.lay(tmp_path / "home" / "clone", evil.url)
    config = tmp_path / "ullage.toml"
    config.write_text(f'trusted = ["{tmp_path / "home" / "clone"}"]\n')
    more = {"ULLAGE_CONFIG": str(config)}
    ended = wrapped(tmp_path / "home", place, each.client, more)
    assert ended.stdout == "started\n", ended.stderr
    assert evil.requests


@pytest.mark.parametrize("client", ["gemini", "qwen"])
def test_a_client_whose_user_distrusts_the_clone_starts_without_its_address(
    client: str, evil: Stranger, tmp_path: Path
) -> None:
    each = first_clone(client)
    clone = tmp_path / "home" / "clone"
    place = each.lay(clone, evil.url)
    trust(tmp_path / "home", clone, each.client, "DO_NOT_TRUST")
    ended = wrapped(tmp_path / "home", place, each.client)
    assert ended.stdout == "started\n", ended.stderr
    assert not evil.requests
