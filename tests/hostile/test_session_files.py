"""Session files somebody else wrote, met by a server that would run their commands if it believed them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agents import haiku
from tests.hostile.listening import Stranger, stranger
from tests.hostile.session_files import SESSION_FILES, Lure, SessionFile, lines_of
from tests.server.served import Local, script, serving
from ullage.errors import UllageError
from ullage.store.export import import_file
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import Server, running

ALLOWED: dict[str, Any] = {"tools": ("shell", "read", "list")}
LOOKS = (
    "",
    "/context",
    "/messages",
    "/queue",
    "/export",
    "/history",
    "/tools",
    "/settings",
)


class Stage(NamedTuple):
    provider: Server
    server: Local
    evil: Stranger
    directory: Path


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory = tmp_path_factory.mktemp("hostile")
    with (
        running(script({"text": "Calm."})) as provider,
        stranger() as evil,
        serving(
            provider.url("anthropic"),
            directory / "sessions.db",
            root=str(directory),
            **ALLOWED,
        ) as server,
    ):
        server.api.session("canary")
        yield Stage(provider, server, evil, directory)


@pytest.mark.parametrize("each", SESSION_FILES, ids=[each.name for each in SESSION_FILES])
def test_an_imported_file_runs_nothing_and_reaches_nobody(
    each: SessionFile, stage: Stage
) -> None:
    api, name = stage.server.api, f"from-{each.name}"
    lure = Lure(stage.evil.url, str(stage.directory / f"made-by-{each.name}"))
    asked_before = len(stage.provider.exchanges)
    imported = api.post(
        "/v1/sessions/import", params={"id": name}, content=lines_of(each, lure)
    )
    assert imported.status_code in (201, 400, 413, 422), imported.text
    if imported.status_code == 201:
        for path in LOOKS:
            looked = api.get(f"/v1/sessions/{name}{path}")
            assert looked.status_code < 500, (path, looked.text)
        assert len(stage.provider.exchanges) == asked_before, (
            "looking at a session called the provider"
        )
        sent = api.post(f"/v1/sessions/{name}/messages", json={"text": "Are you there?"})
        assert sent.status_code < 500 or "needs a key" in sent.text
        if sent.status_code == 202:
            state = api.until(name)
            assert state["state"] in ("idle", "waiting")
    assert not Path(lure.marker).exists(), "a command of the file was run"
    assert not stage.evil.requests, "a request reached the address in the file"
    api.say("canary", f"Still there after {each.name}?")
    assert api.until("canary")["state"] == "idle"


def test_starting_a_server_over_imported_files_runs_nothing(tmp_path: Path) -> None:
    store = tmp_path / "sessions.db"

    async def fill(evil: Stranger) -> None:
        kept = SqliteStore(store)
        for each in SESSION_FILES:
            path = tmp_path / f"{each.name}.jsonl"
            path.write_bytes(
                lines_of(each, Lure(evil.url, str(tmp_path / f"made-by-{each.name}")))
            )
            try:
                await import_file(kept, path, f"from-{each.name}")
            except UllageError:
                continue
        await kept.close()

    with running(script({"text": "Calm."})) as provider, stranger() as evil:
        asyncio.run(fill(evil))
        with serving(
            provider.url("anthropic"), store, root=str(tmp_path), **ALLOWED
        ) as server:
            listed = server.api.get("/v1/sessions", params={"limit": 1_000})
            assert listed.status_code == 200
            for session in listed.json()["sessions"]:
                for look in LOOKS:
                    server.api.get(f"/v1/sessions/{session['id']}{look}")
            assert not provider.exchanges, "a look at a session sends nothing"
            server.api.session("canary")
            server.api.say("canary", "Are you there?")
            assert server.api.until("canary")["state"] == "idle"
        assert not list(tmp_path.glob("made-by-*")), "a command of a file was run"
        assert not evil.requests
        calls = [each for each in provider.exchanges if each.number]
        assert len(calls) == 1, "only the canary's turn is the provider's"
        # What is counted for that turn is of the canary as well, or is the message of a count.
        sent = {text for each in provider.exchanges for text in texts_of(each.body)}
        assert sent == {"Are you there?", "."}


def texts_of(body: Any) -> list[str]:
    """The texts of a Messages request."""
    texts: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
            continue
        texts += [block.get("text", str(block)) for block in content]
    return texts


async def test_the_library_takes_the_files_as_the_server_does(tmp_path: Path) -> None:
    kept = SqliteStore(tmp_path / "sessions.db")
    with running(script({"text": "Calm."})) as provider, stranger() as evil:
        agent = haiku(
            kept,
            tools=ALLOWED["tools"],
            root=tmp_path,
            environment={
                "ANTHROPIC_API_KEY": "sk-hostile-KEY",
                "OPENAI_API_KEY": "sk-hostile-KEY",
            },
            base_url=provider.url("anthropic"),
        )
        for each in SESSION_FILES:
            path = tmp_path / f"{each.name}.jsonl"
            path.write_bytes(
                lines_of(each, Lure(evil.url, str(tmp_path / f"made-by-{each.name}")))
            )
            name = f"from-{each.name}"
            try:
                await import_file(kept, path, name)
                async with agent.session(name) as session:
                    await session.context()
            except UllageError:
                continue
        assert not list(tmp_path.glob("made-by-*")), "a command of a file was run"
        assert not evil.requests
        assert not provider.exchanges, "opening an imported session called the provider"
    await kept.close()
