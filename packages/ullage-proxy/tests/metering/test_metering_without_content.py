"""``--no-content``: the ledger has sizes and digests, and its readings are the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.metering.tapped_calls import (
    NamedLanes,
    answer,
    answer_body,
    assistant,
    body_of,
    request,
    user,
)
from ullage.importers import read
from ullage.messages import Message, ProviderItem, Request
from ullage.meter.meter import Meter
from ullage.meter.reading import Reading
from ullage.meter.without_content import ContentRemover
from ullage.store.sqlite.store import SqliteStore
from ullage_proxy.metering.metering import CallMeter, MeteredCall

ASKED = user("Which vessels anchored yesterday evening near Portsmouth?")
CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Consulting the scroll."},
        {
            "type": "tool_use",
            "id": "toolu_01",
            "name": "Read",
            "input": {"scroll": "anchorages/november.parchment"},
        },
    ],
}
RETURNED: dict[str, Any] = {
    "role": "user",
    "content": [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01",
            "content": '{"schooner": "Marigold", "brigantine": "Persephone"}',
        },
        {
            "type": "text",
            "text": "<system-reminder>\nWhisper politely.\n</system-reminder>",
        },
    ],
}
THANKS = user("Splendid, thank you kindly.")
SAID = "Marigold and Persephone."
TOKENS = (640, 731, 760)
FORMAT = frozenset(
    {
        "assistant",
        "claude",
        "content",
        "description",
        "error",
        "haiku",
        "input",
        "message",
        "messages",
        "model",
        "object",
        "overloaded",
        "properties",
        "reminder",
        "result",
        "schema",
        "system",
        "tokens",
        "tools",
        "toolu",
        "harbour",
        "tides",
    }
)
"""Words of the ledger's own, and the names of a model and of tools."""


async def converse(path: Path, *, keeps_content: bool) -> list[MeteredCall]:
    store = SqliteStore(path)
    shown: list[MeteredCall] = []
    told: list[str] = []
    meter = CallMeter(
        store,
        lanes=NamedLanes(),
        keeps_content=keeps_content,
        show=shown.append,
        say=told.append,
    )
    bodies = [
        body_of(ASKED),
        body_of(ASKED, CALLED, RETURNED),
        body_of(ASKED, CALLED, RETURNED, assistant(SAID), THANKS),
    ]
    answers = [
        answer_body("", TOKENS[0], 40, content=CALLED["content"]),
        answer_body(SAID, TOKENS[1], 11),
        answer_body("Farewell, navigator.", TOKENS[2], 9),
    ]
    for number, (body, said) in enumerate(zip(bodies, answers, strict=True)):
        await meter.take(request(f"r-{number}", body))
        await meter.take(answer(f"r-{number}", said))
    refused = {"error": {"type": "overloaded_error", "message": "Tempest overhead"}}
    await meter.take(request("r-9", bodies[2]))
    frame = answer("r-9", json.dumps(refused).encode(), status=529, outcome="failed")
    await meter.take(frame)
    await store.close()
    assert told == []
    return shown


def stored_reading(path: Path) -> Reading:
    meter = Meter()
    for event in read(path, session="s-1").events:
        meter.apply(event)
    return meter.reading()


def words() -> set[str]:
    bodies = json.dumps([body_of(ASKED, CALLED, RETURNED, THANKS), SAID])
    said = f"{bodies} Farewell navigator Tempest overhead harbour"
    found = {word.lower() for word in re.findall(r"[A-Za-z]{5,}", said)}
    return found - FORMAT


async def test_no_word_of_the_conversation_is_in_the_database(tmp_path: Path) -> None:
    path = tmp_path / "proxy.db"
    await converse(path, keeps_content=False)
    events = read(path, session="s-1").events
    held = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    text = (held.decode("latin-1") + repr(events)).lower()
    assert [word for word in words() if word in text] == []


async def test_the_search_for_words_finds_kept_ones(tmp_path: Path) -> None:
    path = tmp_path / "proxy.db"
    await converse(path, keeps_content=True)
    text = repr(read(path, session="s-1").events)
    for word in ("Marigold", "Portsmouth", "parchment", "lighthouse", "Whisper"):
        assert word in text


async def test_readings_are_the_same_with_and_without_content(tmp_path: Path) -> None:
    with_content = await converse(tmp_path / "kept.db", keeps_content=True)
    without = await converse(tmp_path / "bare.db", keeps_content=False)
    for one, other in zip(with_content, without, strict=True):
        assert one.estimate.used == other.estimate.used
        assert one.reading is not None
        assert other.reading is not None
        assert one.reading.rows == other.reading.rows


@pytest.mark.parametrize("keeps_content", [True, False])
async def test_the_stored_ledger_gives_the_reading_that_was_shown(
    tmp_path: Path, keeps_content: bool
) -> None:
    path = tmp_path / "proxy.db"
    shown = await converse(path, keeps_content=keeps_content)
    live = shown[-1].reading
    assert live is not None
    stored = stored_reading(path)
    assert stored.used == live.used
    assert stored.rows == live.rows


def test_words_in_the_place_of_a_kind_are_left_out() -> None:
    spoken = ProviderItem(id="i-1", kind="Which vessels anchored?")
    known = ProviderItem(id="i-2", kind="web_search_call")
    message = Message(id="m-1", role="user", parts=(spoken, known))
    asked = Request(wire="messages", model="claude-haiku-4-5", messages=(message,))
    kinds = []
    for part in ContentRemover().request(asked).messages[0].parts:
        assert isinstance(part, ProviderItem)
        kinds.append(part.kind)
    assert kinds == ["", "web_search_call"]
