"""A session of ten thousand messages: it opens, it scrolls, and its oldest message can be reached."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import expect

from tests.server.page.screen import Open
from tests.server.served import script, serving
from ullage.events import Event, MessageAdded, SessionStarted
from ullage.messages import Message, Role, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage_simulators import running

MESSAGES = 10_000
LARGE = {"name": "large", "like": "claude-opus-4-6", "window": 2_000_000}


async def written(store: Path) -> None:
    """A session with that many messages."""
    events: list[Event] = [
        SessionStarted(model="large", wire="messages", provider="anthropic")
    ]
    for number in range(MESSAGES):
        role: Role = "assistant" if number % 2 else "user"
        text = TextPart(
            id=f"m{number}.0",
            text=f"Message {number}: the level of cask {number % 97} was read.",
        )
        events.append(
            MessageAdded(message=Message(id=f"m{number}", role=role, parts=(text,)))
        )
    kept = SqliteStore(store)
    try:
        await kept.create("long", events)
    finally:
        await kept.close()


def test_ten_thousand_messages_open_and_scroll(tmp_path: Path, open_page: Open) -> None:
    with ThreadPoolExecutor(1) as apart:  # the browser's event loop has this thread
        apart.submit(asyncio.run, written(tmp_path / "sessions.db")).result()
    with (
        running(script({"text": "Yes."}, models=[LARGE])) as provider,
        serving(
            provider.url("anthropic"),
            tmp_path / "sessions.db",
            model="anthropic:large",
            window=2_000_000,
        ) as local,
    ):
        screen = open_page(local.url, "long")
        last = screen.find("article", has_text=f"Message {MESSAGES - 1}:")
        expect(last).to_be_in_viewport()
        drawn = screen.find("article").count()
        assert drawn < MESSAGES / 4
        for _ in range(3):
            before = screen.find("article").count()
            screen.find("#conversation").evaluate("(node) => { node.scrollTop = 0; }")
            expect(screen.find("article").nth(before + 50)).to_be_attached()
        numbers = screen.find("article .plain, article .prose").evaluate_all(
            "all => all.map((one) => Number(/Message (\\d+)/.exec(one.textContent)[1]))"
        )
        assert numbers == list(range(numbers[0], MESSAGES))
        screen.say("Is that all?")
        expect(screen.answers().last).to_contain_text("Yes.")
        expect(screen.answers().last).to_be_in_viewport()
