"""Any conversation and any edits of its history, on the four wires: what goes out is accepted and adds up."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compactor.own_loop import (
    BY_NAME,
    CHAT,
    GEMINI,
    MESSAGES,
    RESPONSES,
    WIRES,
    LoopWire,
    OwnLoop,
    scenario,
)
from tests.context.sessions import words
from tests.tiers import examples, first_of
from ullage import Compactor
from ullage.compaction import Fitted
from ullage.context.caller_items import Insert, Keep
from ullage_simulators import running

WINDOW = 6_000
MODELS = ("small", "other")
EDITS = (
    "rewind",
    "edit",
    "trim",
    "system",
    "tools",
    "other",
    "model",
    "lost result",
    "lost call",
    "unsent",
    "cancelled",
    "silent",
)
"""What happens between two turns; ``silent`` is a call whose end is never told."""

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(("turn", "turn", "turn", *EDITS)),
        st.integers(min_value=0, max_value=100),
    ),
    min_size=4,
    max_size=14,
)


class ChangingLoop(OwnLoop):
    """A loop whose caller changes its mind about everything."""

    def __init__(self, wire: LoopWire, url: str) -> None:
        super().__init__(wire, url, WINDOW)
        self.head = len(self.items)
        self.system = ""
        self.tools = 1
        self.model = MODELS[0]

    def body(self) -> dict[str, Any]:
        """The next request, with the system prompt and the tools of the moment."""
        body = super().body()
        body["model"] = self.model
        if self.system:
            self._set_system(body)
        for number in range(1, self.tools):
            self._add_tool(body, f"look_{number}")
        return body

    def _set_system(self, body: dict[str, Any]) -> None:
        if self.wire is MESSAGES:
            body["system"] = self.system
        elif self.wire is RESPONSES:
            body["instructions"] = self.system
        elif self.wire is GEMINI:
            body["systemInstruction"] = {"parts": [{"text": self.system}]}
        else:
            body["messages"][0] = {"role": "system", "content": self.system}

    def _add_tool(self, body: dict[str, Any], name: str) -> None:
        tool = copy.deepcopy(body["tools"][0])
        named = tool
        if self.wire is GEMINI:
            named = tool["functionDeclarations"][0]
        elif "function" in tool:
            named = tool["function"]
        named["name"] = name
        body["tools"].append(tool)

    def starts(self) -> list[int]:
        """Where the user says something."""
        found: list[int] = []
        for place, item in enumerate(self.items):
            text = item.get("content")
            if self.wire is GEMINI:
                text = item["parts"][0].get("text")
            if item.get("role") == "user" and isinstance(text, str):
                found.append(place)
        return found

    def _lose(self, kind: str, number: int) -> None:
        """Leave out an item with a call, or one with a result."""
        places = [
            at
            for at, item in enumerate(self.items)
            if kind in dict(pieces(self.wire, item))
        ]
        if places:
            del self.items[places[number % len(places)]]

    def change(self, operation: str, number: int) -> None:
        """Edit the history, or what is in front of it."""
        starts = self.starts()
        if operation == "system":
            self.system = f"You look after cellar {number}. {words(30, number)}"
        if operation == "tools":
            self.tools = 1 + number % 3
        if operation == "model":
            before, self.model = self.model, MODELS[number % 2]
            self.url = self.url.replace(f"/{before}:", f"/{self.model}:")
        if operation in ("lost result", "lost call"):
            self._lose(operation.removeprefix("lost "), number)
        if not starts:
            return
        place = starts[number % len(starts)]
        if operation == "rewind":
            del self.items[place:]
        if operation == "trim":
            del self.items[self.head : place]
        if operation == "edit":
            text = f"Look at another one: {number}. {words(number, number)}"
            changed: dict[str, Any] = {"role": "user", "content": text}
            if self.wire is GEMINI:
                changed = {"role": "user", "parts": [{"text": text}]}
            self.items[place] = changed
        if operation == "other":
            self.items = self.items[: self.head]


def _found(name: str, parts: list[Any], key: str) -> list[tuple[str, str]]:
    return [(name, str(part.get(key))) for part in parts]


def pieces(wire: LoopWire, item: dict[str, Any]) -> list[tuple[str, str]]:
    """What an item holds: calls and results with their ids, and what a user says."""
    kind, role = item.get("type"), item.get("role")
    content = item.get("parts" if wire is GEMINI else "content")
    blocks = content if isinstance(content, list) else []
    if wire is CHAT:
        found = _found("call", item.get("tool_calls") or [], "id")
        found += _found("result", [item] if role == "tool" else [], "tool_call_id")
    elif wire is RESPONSES:
        found = _found("call", [item] if kind == "function_call" else [], "call_id")
        is_result = kind == "function_call_output"
        found += _found("result", [item] if is_result else [], "call_id")
    elif wire is MESSAGES:
        calls = [block for block in blocks if block["type"] == "tool_use"]
        results = [block for block in blocks if block["type"] == "tool_result"]
        found = _found("call", calls, "id") + _found("result", results, "tool_use_id")
    else:
        calls = [part["functionCall"] for part in blocks if "functionCall" in part]
        results = [
            part["functionResponse"] for part in blocks if "functionResponse" in part
        ]
        found = _found("call", calls, "name") + _found("result", results, "name")
    if role == "user" and not found:
        found.append(("said", ""))
    return found


def check_pairs(wire: LoopWire, items: list[Any]) -> None:
    """Each call has exactly one result, directly behind its answer, and no result is alone."""
    open_calls: list[str] = []
    for item in items:
        for kind, name in pieces(wire, item):
            if kind == "call":
                open_calls.append(name)
            elif kind == "result":
                open_calls.remove(name)
            else:
                assert open_calls == []
    assert open_calls == []


def is_paired(wire: LoopWire, items: list[Any]) -> bool:
    """Whether ``check_pairs`` finds nothing."""
    try:
        check_pairs(wire, items)
    except (AssertionError, ValueError):
        return False
    return True


def _rubbish(body: dict[str, Any]) -> object:
    return {"rubbish": [1, 2, {"choices": None}]}


def _nothing(body: dict[str, Any]) -> object:
    return ""


def _raises(body: dict[str, Any]) -> object:
    raise TimeoutError("no answer")


def _longer(body: dict[str, Any]) -> object:
    return words(20_000, 5)


def _source(body: dict[str, Any]) -> object:
    return str(body)


SUMMARISERS: dict[str, Callable[[dict[str, Any]], object] | None] = {
    "own": None,
    "rubbish": _rubbish,
    "nothing": _nothing,
    "raises": _raises,
    "longer": _longer,
    "source": _source,
}


SUMMARIES: dict[str, dict[str, Any]] = {
    "calls": {"calls": [{"name": "look", "arguments": {"cask": 1}}]},
    "empty": {"text": ""},
}
"""What the provider's model answers instead of a summary."""


def _check(loop: ChangingLoop, body: dict[str, Any], fitted: Fitted) -> None:
    """The reading adds up, order is kept, the caller's objects are the same ones, and they are unchanged."""
    reading = fitted.reading
    assert sum(row.tokens for row in reading.rows if row.summed) == reading.used.tokens
    own = body[_field(loop.wire)]
    check_pairs(loop.wire, fitted.body[_field(loop.wire)])
    kept = [one.item for one in fitted.plan if not isinstance(one, Insert)]
    assert kept == sorted(set(kept))
    if not fitted.changed:
        assert fitted.body is body
        assert kept == list(range(len(own)))
        return
    sent = fitted.body[_field(loop.wire)]
    assert fitted.applied(own, lambda item: item) == sent
    for one, item in zip(fitted.plan, sent, strict=True):
        assert not isinstance(one, Keep) or item is own[one.item]


def _field(wire: LoopWire) -> str:
    return {"responses": "input", "generateContent": "contents"}.get(
        wire.name, "messages"
    )


def _turn(loop: ChangingLoop, compactor: Compactor, end: str, number: int) -> None:
    loop.say(f"Please look at cask {number}. {words(number, 700 + number)}")
    for step in range(20):
        body = loop.body()
        before = copy.deepcopy(body)
        fitted = compactor.fit_sync(body)
        _check(loop, body, fitted)
        if number % 3 == 0:
            again = compactor.fit_sync(body)
            assert again.body == fitted.body
            assert again.plan == fitted.plan
            assert again.reading.used == fitted.reading.used
            fitted = again
        assert body == before
        if end == "unsent":
            compactor.after(None, outcome="failed")
            return
        answer = loop.post(fitted.body)
        if end == "cancelled" and step == 1:
            compactor.after(None, outcome="cancelled")
        elif end != "silent":
            compactor.after(loop.usage(answer), answer)
        if not loop.take(answer):
            return
    raise AssertionError("the turn does not end")


@pytest.mark.parametrize("summariser", first_of([*SUMMARISERS, *SUMMARIES]))
@pytest.mark.parametrize("wire", WIRES, ids=BY_NAME)
@settings(max_examples=examples(20))
@given(operations=OPERATIONS)
def test_whatever_is_edited_what_goes_out_is_accepted_and_adds_up(
    wire: LoopWire, summariser: str, operations: list[tuple[str, int]]
) -> None:
    models = [
        {"name": name, "like": wire.like, "window": WINDOW, "max_output": 4_000}
        for name in MODELS
    ]
    more: dict[str, Any] = {"models": models}
    if summariser in SUMMARIES:
        more["summary"] = SUMMARIES[summariser]
    with running(scenario(wire, **more), seed=4) as server:
        loop = ChangingLoop(wire, server.url(wire.serves))
        with loop.compactor(SUMMARISERS.get(summariser)) as compactor:
            for operation, number in operations:
                if operation in ("turn", "unsent", "cancelled", "silent"):
                    _turn(loop, compactor, operation, number)
                    continue
                if compactor._conversation.open_call:
                    compactor.after(None, outcome="failed")
                loop.change(operation, number)
        statuses = [exchange.status for exchange in server.exchanges]
        assert statuses == [200] * len(statuses)


@pytest.mark.parametrize("wire", WIRES, ids=BY_NAME)
@settings(max_examples=examples(40))
@given(
    lost=st.lists(
        st.tuples(st.sampled_from(("result", "call")), st.integers(0, 99)), max_size=4
    )
)
def test_a_lost_call_is_mended(wire: LoopWire, lost: list[tuple[str, int]]) -> None:
    models = [{"name": name, "like": wire.like} for name in MODELS]
    with running(scenario(wire, models=models), seed=4) as server:
        loop = ChangingLoop(wire, server.url(wire.serves))
        loop.window = 200_000
        with loop.compactor() as compactor:
            for number in range(3):
                _turn(loop, compactor, "turn", number)
            for kind, number in lost:
                loop._lose(kind, number)
            loop.say("Is it so?")
            body = loop.body()
            fitted = compactor.fit_sync(body)
            _check(loop, body, fitted)
            assert fitted.changed is not is_paired(wire, body[_field(wire)])
            loop.post(fitted.body)
            compactor.after(None)
            assert compactor.compactions == 0
