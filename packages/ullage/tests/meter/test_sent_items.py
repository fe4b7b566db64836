"""A body as items: what a provider caches, in its order, by digests of what was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.codec.bodies import read_body
from ullage.events import SentItem
from ullage.meter.sent_items import SentItems
from ullage.meter.sent_items import sent_items as items_of

TOOL = {
    "name": "read",
    "description": "reads",
    "input_schema": {"type": "object", "a": 1},
}


def anthropic(**more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "tools": [TOOL],
        "system": "Be it.",
        "messages": [{"role": "user", "content": "hello"}],
        **more,
    }


def sent_items(
    body: dict[str, Any], headers: dict[str, str] | None = None
) -> list[SentItem]:
    return items_of(read_body(body), headers)


def digests(body: dict[str, Any]) -> list[str]:
    return [item.digest for item in sent_items(body)]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (anthropic(thinking={}), ["m", "read", "system block 0", "thinking", "message 1 (user, text)"]),
        (
            {"model": "m", "instructions": "Be it.", "input": "hello", "tools": [{"type": "web_search"}]},
            ["m", "web_search", "system block 0", "message 1 (user, text)"],
        ),
        (
            {"model": "m", "messages": [{"role": "system", "content": "a"}, {"role": "assistant", "content": None}]},
            ["m", "system block 0"],
        ),
        (
            {"systemInstruction": {"parts": [{"text": "a"}]}, "contents": [{"role": "user", "parts": [{"text": "b"}]}]},
            ["", "system block 0", "message 1 (user, text)"],
        ),
    ],
)  # fmt: skip
def test_the_items_of_each_wire_have_names(
    body: dict[str, Any], names: list[str]
) -> None:
    assert [item.name for item in sent_items(body)] == names


def test_betas_stand_behind_the_model() -> None:
    items = sent_items(anthropic(), {"anthropic-beta": "b, a"})
    assert [(item.kind, item.name) for item in items[1:3]] == [
        ("beta", "a"),
        ("beta", "b"),
    ]


def test_order_of_keys_and_white_space_count_and_escapes_do_not() -> None:
    schema = {"a": 1, "type": "object"}
    reordered = anthropic(tools=[{**TOOL, "input_schema": schema}])
    assert digests(reordered) != digests(anthropic())
    assert digests(anthropic(system="Be it. ")) != digests(anthropic())
    escaped = json.loads(json.dumps(anthropic(system="ä"), ensure_ascii=True))
    assert digests(escaped) == digests(anthropic(system="ä"))


def test_a_cache_mark_is_no_content() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    block = {"type": "text", "text": "Be it."}
    marked = anthropic(system=[{**block, **mark}])
    assert digests(marked) == digests(anthropic(system=[block]))
    assert sent_items(marked)[2].mark == "1h"
    assert sent_items(anthropic(cache_control={"type": "ephemeral"}))[-1].mark == "5m"


def test_a_deferred_tool_is_no_part_of_the_head() -> None:
    deferred = anthropic(tools=[{**TOOL, "defer_loading": True}])
    assert [item.name for item in sent_items(deferred)][1] == "system block 0"


def test_what_is_kept_gives_the_items_again() -> None:
    kept, read = SentItems(), SentItems()
    bodies = [anthropic(), anthropic(system="other"), anthropic()]
    for number, body in enumerate(bodies):
        items = sent_items(body)
        sent = kept.take(f"c{number}", items)
        assert read.read(f"c{number}", sent) == tuple(items)
    assert sent.after == "c0"
    assert sent.items == ()
    assert SentItems().read("c9", sent) == ()
