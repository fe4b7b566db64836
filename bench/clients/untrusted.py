"""Real clients behind ``ullage wrap`` in clones that somebody else wrote, before and after their user trusts them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.clients.client import Client, Place, Turn
from bench.clients.scenarios import script
from bench.clients.serving import serving
from bench.clients.session import Ended, Programs, environment_of, performed
from bench.results import Table
from tests.hostile.clones import ASKED, NEVER, PI_EXTENSION, Clone, keep_answer

HELLO = Turn("Hello there.", first=True)
KEY = "any-key"

PATHS: Mapping[str, str] = {
    "claude": "anthropic",
    "codex": "openai/v1",
    "gemini": "gemini",
    "opencode": "anthropic/v1",
    "pi": "anthropic",
    "qwen": "deepseek",
}
"""Where a simulator serves what the client calls."""


class Run(NamedTuple):
    """``requests`` reached the clone's address, ``keys`` of them with the user's key, and ``own`` the user's own."""

    ended: Ended
    requests: int
    keys: int
    own: int


class CloneResult(NamedTuple):
    """One clone, in which a client is started before and after its user trusts it."""

    client: str
    clone: Clone
    before: Run
    after: Run
    problems: Sequence[str]

    @property
    def title(self) -> str:
        above = "" if self.clone.start == "." else " above"
        return f"{self.client}: `{self.clone.file}`{above}"


def clones_for(client: Client) -> list[Clone]:
    return [one for one in (*ASKED, PI_EXTENSION, *NEVER) if one.client == client.program]


def tried(client: Client, clone: Clone, programs: Programs) -> CloneResult:
    """Start the client twice, each time in a new home directory with a new clone."""
    runs = []
    for is_trusted in (False, True):
        with tempfile.TemporaryDirectory(
            prefix="ullage-clones-", ignore_cleanup_errors=True
        ) as home:
            place = Place(Path(home).resolve(), "", by_proxy=True)
            runs.append(_run(client, clone, programs, place, is_trusted=is_trusted))
    before, after = runs
    name = f"{client.title} {programs.version}"
    return CloneResult(name, clone, before, after, judged(clone, before, after))


def _run(
    client: Client, clone: Clone, programs: Programs, place: Place, *, is_trusted: bool
) -> Run:
    answers = script(client, place.project)
    with serving(answers) as own, serving(answers) as hostile:
        place = place._replace(address=own.address)
        environment = environment_of(client, place, programs)
        environment["ULLAGE_DATA"] = str(place.home / "data")
        # Claude Code's own traffic takes the proxy that a clone names: encrypted, to Anthropic, without the user's key.
        environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        _move_addresses(place, environment)
        url = f"{hostile.address}/{PATHS[clone.client]}"
        start = clone.lay(place.project, url)
        if is_trusted:
            keep_answer(place.home, place.project, clone.client, url)
        command = [sys.executable, "-m", "ullage", "wrap", clone.client, "--"]
        command += client.arguments(HELLO)
        ended = performed(command, start, environment, HELLO, own)
        keys = [headers for headers in hostile.asked if KEY in " ".join(headers.values())]
        return Run(ended, len(hostile.asked), len(keys), len(own.asked))


def _move_addresses(place: Place, environment: dict[str, str]) -> None:
    """The user's own address from variables, which come before all files, into files that come after a clone's."""
    gemini = environment.pop("GOOGLE_GEMINI_BASE_URL", "")
    if gemini:
        place.write(".env", f"GOOGLE_GEMINI_BASE_URL={gemini}\n")
    qwen = environment.pop("OPENAI_BASE_URL", "")
    if qwen:
        settings = {"general": {"enableAutoUpdate": False}}
        place.write(".qwen/settings.json", {**settings, "env": {"OPENAI_BASE_URL": qwen}})


def judged(clone: Clone, before: Run, after: Run) -> list[str]:
    """What is wrong: something came too early, or nothing came later, so that the clone shows nothing."""
    problems = []
    if before.requests:
        problems.append(
            f"{before.requests} requests ({before.keys} with the key) before the user trusts the clone"
        )
    is_told = "Run this once on a terminal" in before.ended.output
    if is_told != (clone in ASKED):
        problems.append(f"the user is {'' if is_told else 'not '}told{_end(before)}")
    if clone not in ASKED and not before.own:
        problems.append(f"the client made no call{_end(before)}")
    if bool(after.keys) == (clone in NEVER):
        problems.append(
            f"{after.keys} requests with the key in a trusted clone{_end(after)}"
        )
    return problems


def _end(run: Run) -> str:
    return f": {run.ended.problem}\n{run.ended.last_lines}"


def clones_table(results: Sequence[CloneResult]) -> Table:
    rows = []
    for each in results:
        said = "you are asked" if each.clone in ASKED else "it starts"
        counts = (str(each.before.requests), str(each.after.requests))
        rows.append((each.title, said, *counts))
    columns = ("file of a clone", "`ullage wrap`", "requests there", "once you trust it")
    return Table("Real clients in clones", columns, tuple(rows))
