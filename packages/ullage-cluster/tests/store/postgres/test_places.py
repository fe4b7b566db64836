"""A message's place in the queue changes while it is sent: it is stored all the same, before it is acknowledged."""

from typing import Any

import pytest

from ullage.messages import Message, TextPart
from ullage_cluster.postgres.base import OpenDatabase
from ullage_cluster.postgres.store import PostgresStore


def message(name: str) -> Message:
    return Message(id=name, role="user", parts=(TextPart(id=f"{name}.0", text="Tell."),))


async def test_a_message_whose_place_changes_twice_while_it_is_sent_is_stored(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = PostgresStore(database_url), PostgresStore(database_url)
    await store.create("s")
    write_once = OpenDatabase._write_once
    others = iter(["m1", "m2", "m3"])

    async def write_after_others(self: OpenDatabase, write: Any, writer: Any) -> Any:
        if write.values[1] == "mine" and (name := next(others, "")):
            await other.send("s", message(name), "steer")
        return await write_once(self, write, writer)

    monkeypatch.setattr(OpenDatabase, "_write_once", write_after_others)
    try:
        receipt = await store.send("s", message("mine"), "steer")
        assert (receipt.position, receipt.state, receipt.is_new) == (4, "pending", True)
        waiting = [found.id for found, _, _ in await store.pending("s")]
        assert waiting == ["m1", "m2", "m3", "mine"]
    finally:
        await store.close()
        await other.close()
