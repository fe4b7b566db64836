"""Which model of the Anthropic simulator reads the thinking of which other one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk
from ullage_simulators import running

CONTROLS: dict[str, str | None] = {
    "anthropic-beta": "thinking-binding-controls-2026-08-01"
}
ADAPTIVE = {"type": "adaptive"}


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(seed=3) as server:
        yield Talk(server)


def switched(talk: Talk, made_by: str, read_by: str, **headers: str | None) -> Any:
    """The answer of the second model to a conversation that the first one thought in."""
    hello: Body = {"role": "user", "content": "hello"}
    body = {"max_tokens": 2_000, "thinking": ADAPTIVE, "messages": [hello]}
    first = talk.ok("anthropic", Ask("/v1/messages", {**body, "model": made_by}))
    answer = {"role": "assistant", "content": first["content"]}
    messages = [hello, answer, {"role": "user", "content": "go on"}]
    second = {**body, "model": read_by, "messages": messages}
    return talk.ok("anthropic", Ask("/v1/messages", second, headers or CONTROLS))


@pytest.mark.parametrize(
    ("made_by", "read_by"),
    [
        ("claude-opus-5-5", "claude-sonnet-5"),
        ("claude-fable-5-1", "claude-opus-5-5"),
        ("claude-sonnet-5-5", "claude-opus-4-6"),
        ("claude-fable-5-2", "claude-fable-5-1"),
        ("claude-opus-5", "claude-sonnet-5-5"),
        ("claude-fable-5", "claude-opus-5-5"),
        ("claude-sonnet-4-6", "claude-haiku-5-5"),
    ],
)
def test_unreadable_thinking_is_dropped(talk: Talk, made_by: str, read_by: str) -> None:
    (dropped,) = switched(talk, made_by, read_by)["input_transformations"]
    bill = talk.server.truth().bills[-1]
    assert dropped["reason"] == "model_binding_mismatch"
    assert (bill.kept, bill.dropped) == (0, 0)


@pytest.mark.parametrize(
    ("made_by", "read_by"),
    [
        ("claude-opus-5", "claude-opus-5-5"),
        ("claude-opus-4-6", "claude-fable-5-1"),
        ("claude-opus-5-5", "claude-fable-5-1"),
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("claude-fable-5-2", "claude-mythos-5-2"),
        ("claude-mythos-5-1", "claude-fable-5-1"),
        ("claude-haiku-5-5", "claude-opus-5"),
        ("claude-sonnet-5", "claude-sonnet-5-5"),
    ],
)
def test_readable_thinking_is_billed(talk: Talk, made_by: str, read_by: str) -> None:
    assert switched(talk, made_by, read_by)["input_transformations"] == []
    first, second = talk.server.truth().bills[-2:]
    assert second.kept == first.reasoning > 0


def test_without_the_beta_header_nothing_is_said_of_dropped_thinking(talk: Talk) -> None:
    plain = {"anthropic-beta": None}
    given = switched(talk, "claude-opus-5-5", "claude-sonnet-5", **plain)
    assert "input_transformations" not in given


@pytest.mark.parametrize(
    ("model", "behavior"),
    [("claude-opus-5-5", None), ("claude-opus-5-5", "error"), ("claude-fable-5-2", None)],
)
def test_a_lenient_run_bills_changed_prefixes(model: str, behavior: str | None) -> None:
    """Claude Fable 5.2 is strict with every account."""
    hello: Body = {"role": "user", "content": "hello"}
    body: Body = {"model": model, "max_tokens": 2_000, "messages": [hello]}
    with running(seed=3, lenient=True) as server:
        talk = Talk(server)
        first = talk.ok("anthropic", Ask("/v1/messages", body))
        said = {"role": "assistant", "content": first["content"]}
        changed = [{"role": "user", "content": "Hello?"}, said, hello]
        body["messages"] = changed
        if behavior:
            binding = {"prefix_mismatch_behavior": behavior}
            body["thinking"] = {"type": "adaptive", "block_binding": binding}
        given = talk.send("anthropic", Ask("/v1/messages", body, CONTROLS))
        last = server.exchanges[-1]
    if behavior or model == "claude-fable-5-2":
        assert (given.status_code, last.rule) == (400, "prefix_changed")
        return
    (allowed,) = given.json()["input_transformations"]
    assert allowed["type"] == "thinking_mismatch_allowed"
    assert [warning.name for warning in last.warnings] == ["prefix_changed"]
    assert last.bill is not None
    assert last.bill.kept > 0
