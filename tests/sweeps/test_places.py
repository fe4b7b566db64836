"""Two workers at places with files of their own: sessions of a killed one wait for another one of their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.machines import worker
from tests.postgres import database
from tests.restate import shared_restate, under
from tests.server.served import Api, patiently, process, script
from ullage_cluster.cli.local_restate import free_ports
from ullage_simulators import running

READS = script(
    {
        "when": {"after": "user"},
        "calls": [{"name": "read", "arguments": {"path": "a.txt"}}],
    },
    {"text": "That is what it says."},
    delay_s=0.01,
)


def results(api: Api, session: str) -> list[str]:
    """What the tool read, result by result."""
    told = [str(each) for each in api.messages(session) if each["role"] == "tool"]
    return [
        place for one in told for place in re.findall("kept in the (cellar|attic)", one)
    ]


def until_waits(api: Api, session: str, place: str) -> None:
    """Wait until the state and the list say that the session waits for a worker of its place."""
    for _ in patiently():
        (line,) = [
            each
            for each in api.get("/v1/sessions").json()["sessions"]
            if each["id"] == session
        ]
        if line["standing"]["kind"] == "worker":
            break
    assert line["standing"]["kind"] == "worker", line
    state = api.state(session)  # after the list: it may only just have become so
    assert f"No worker of the place {place}" in state["note"]
    metrics = api.get("/metrics").text
    assert f'ullage_sessions_waiting{{place="{place}"}} 1.0' in metrics


@pytest.mark.parametrize("kind", ["lease", "restate"])
def test_a_worker_drives_the_sessions_of_its_place_with_the_files_there(
    kind: str, tmp_path: Path
) -> None:
    dispatch = ["--dispatch", kind]
    listens: dict[str, Sequence[str]] = dict.fromkeys(("cellar", "attic"), dispatch)
    if kind == "restate":
        restate = shared_restate()
        dispatch += ["--restate", restate.ingress]
        for place, port in zip(listens, free_ports(2), strict=True):
            listens[place] = under(restate, f"127.0.0.1:{port}")
    for place in listens:
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.txt").write_text(f"kept in the {place}")

    with ExitStack() as stack:
        provider = stack.enter_context(running(READS)).url("anthropic")
        store = stack.enter_context(database())

        def begin(place: str) -> Any:
            options = [*listens[place], "--place", place]
            options += ["--root", str(tmp_path / place), "--tools", "read"]
            return stack.enter_context(worker(provider, store, tmp_path, *options))

        server = stack.enter_context(
            process(
                provider, tmp_path / "unused", "--no-drive", *dispatch, database=store
            )
        )
        workers = {place: begin(place) for place in listens}
        api = stack.enter_context(server.api())
        for place in listens:
            api.session(f"{kind}-{place}", place=place)
            api.say(f"{kind}-{place}", "Read it.")
            assert api.until(f"{kind}-{place}")["ended"] == "finished"
            assert results(api, f"{kind}-{place}") == [place]

        workers["cellar"].kill()
        for place in listens:
            api.say(f"{kind}-{place}", "Read it again.", id="again")
        for _ in patiently():
            if len(results(api, f"{kind}-attic")) == 2:
                break
        assert results(api, f"{kind}-attic") == ["attic", "attic"]
        until_waits(api, f"{kind}-cellar", "cellar")
        assert results(api, f"{kind}-cellar") == ["cellar"]

        begin("cellar")
        for _ in patiently():
            if len(results(api, f"{kind}-cellar")) == 2:
                break
        assert results(api, f"{kind}-cellar") == ["cellar", "cellar"]
        assert api.until(f"{kind}-cellar")["ended"] == "finished"
