"""The bench of causes, on one invented sequence of each wire."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from bench.cache_provider import CachingProvider
from bench.causes import CHANGES, Change, chains_of, drawn, false_alarms, kept_bodies

TEXT = "the cat sat on the mat and then it went out. "


def messages(count: int) -> list[dict[str, Any]]:
    """Requests of Anthropic's wire, each of which extends the one before."""
    tools = []
    for name in ("read", "write", "run"):
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        tools.append({"name": name, "description": f"{name}s", "input_schema": schema})
    system = [{"type": "text", "text": TEXT * 40}, {"type": "text", "text": "Be it."}]
    history: list[dict[str, Any]] = []
    bodies: list[dict[str, Any]] = []
    for number in range(count):
        mark = {"cache_control": {"type": "ephemeral"}}
        text = {"type": "text", "text": f"{number} {TEXT * 40}"}
        asked = [*history, {"role": "user", "content": [{**text, **mark}]}]
        head = {"model": "claude-sonnet-4-5", "max_tokens": 9, "tools": tools}
        bodies.append({**head, "system": system, "messages": asked})
        thought = {"type": "thinking", "thinking": f"so {number}", "signature": "s"}
        call = {"type": "tool_use", "id": f"t{number}", "name": "read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "ok"}
        history.append({"role": "user", "content": [text]})
        history.append({"role": "assistant", "content": [thought, call]})
        history.append({"role": "user", "content": [result]})
        history.append({"role": "assistant", "content": f"done {number}"})
    return bodies


def responses(count: int) -> list[dict[str, Any]]:
    """The same of OpenAI's Responses."""
    tools = [{"type": "function", "name": "read", "parameters": {"type": "object"}}]
    history: list[dict[str, Any]] = []
    bodies: list[dict[str, Any]] = []
    for number in range(count):
        text = {"type": "input_text", "text": f"{number} {TEXT * 80}"}
        history.append({"type": "message", "role": "user", "content": [text]})
        head = {"model": "gpt-5.2", "instructions": TEXT * 40, "tools": tools}
        bodies.append({**head, "input": list(history)})
        answer = {"type": "output_text", "text": f"done {number}"}
        history.append({"type": "message", "role": "assistant", "content": [answer]})
    return bodies


CHAINS = [*chains_of(messages(5)), *chains_of(responses(5))]


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: f"{each.title}, {each.wire}")
def test_each_kind_of_change_is_named_and_priced(change: Change) -> None:
    one = drawn(change, CHAINS, random.Random(1))
    assert one is not None
    assert one.is_right(one.bodies), one
    assert one.error < 0.05, one


def test_requests_that_extend_the_one_before_have_no_cause() -> None:
    assert false_alarms(CHAINS) == (8, 0)


def test_a_provider_that_drops_its_cache_reads_nothing() -> None:
    provider = CachingProvider()
    first, second, third, *_ = messages(4)
    assert provider.bill(first, 1).read == 0
    held = provider.bill(second, 10)
    assert held.read > 1_000
    assert provider.bill(third, 20).read == held.read + (held.written or 0)
    assert provider.bill(third, 1_000).read == 0


def test_requests_that_a_run_left_are_read_in_order(tmp_path: Path) -> None:
    run = tmp_path / "a-client" / "a-run"
    run.mkdir(parents=True)
    rows = [{"body": {"n": 1}, "bill": {}}, {"body": {"n": 2}, "bill": {"input": 1}}]
    lines = [json.dumps(row) for row in [*rows, {"body": None, "bill": {"input": 1}}]]
    (run / "exchanges.jsonl").write_text("\n".join(lines))
    assert list(kept_bodies(tmp_path)) == [[{"n": 2}]]
