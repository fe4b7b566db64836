"""Which edits of the caller's history keep what was compacted, go back, or begin anew."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.context.sessions import words
from ullage import Compactor
from ullage.compaction import Fitted
from ullage.errors import CompactorBusy, InvalidRequest, Overflow
from ullage.events import CompactionCommitted, Event, MessageAdded, Rewound

SYSTEM = {"role": "system", "content": "You look after a cellar."}
SUMMARY = "## Goal\nTo look at each cask.\n## State\nAll were dry.\n## Next\nThe next."


class Conversation:
    """A conversation of the Chat wire that was compacted once; ``asked`` are the requests for summaries."""

    def __init__(self, **more: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self.events: list[Event] = []
        self.compactor = Compactor(
            "openai:small",
            wire=more.pop("wire", "chat"),
            window=6_000,
            summarise=self.summarise,
            on_event=self.events.append,
            **more,
        )
        self.messages: list[dict[str, Any]] = [SYSTEM]
        number = 0
        while not self.compactor.compactions:
            number += 1
            self.say(number)
            self.fit()
            self.answer(number)
        self.events.clear()

    @property
    def rewinds(self) -> list[str]:
        """Where the conversation went back to; empty for its beginning."""
        return [event.to for event in self.events if isinstance(event, Rewound)]

    def summarise(self, body: dict[str, Any]) -> str:
        self.asked.append(body)
        return SUMMARY

    def say(self, number: int) -> None:
        text = f"Look at cask {number}. {words(200, number)}"
        self.messages.append({"role": "user", "content": text})

    def answer(self, number: int) -> None:
        text = f"Cask {number} is dry. {words(200, 100 + number)}"
        self.messages.append({"role": "assistant", "content": text})
        self.compactor.after(None)

    def fit(self) -> Fitted:
        return self.compactor.fit_sync({"model": "small", "messages": self.messages})


@pytest.mark.parametrize("drops", [False, True], ids=["rewrites", "drops"])
def test_edits_of_old_messages_pay_for_no_summary_again(drops: bool) -> None:
    talk = Conversation()
    asked = len(talk.asked)
    for number in range(3):
        edited = {"role": "assistant", "content": f"(left out: {number})"}
        if drops:
            del talk.messages[1:3]
        else:
            talk.messages[2] = talk.messages[4] = edited
        talk.messages.append({"role": "user", "content": f"And {number}?"})
        fitted = talk.fit()
        assert fitted.changed
        assert "All were dry." in str(fitted.body)
        assert fitted.body["messages"][-1] is talk.messages[-1]
        talk.messages.append({"role": "assistant", "content": "Dry."})
        talk.compactor.after(None)
    assert len(talk.asked) == asked
    assert talk.rewinds == []


def test_another_end_goes_back_to_where_both_are_the_same() -> None:
    talk = Conversation()
    asked = len(talk.asked)
    talk.messages[-2:] = [{"role": "user", "content": "No, another one."}]
    fitted = talk.fit()
    assert "All were dry." in str(fitted.body)
    assert len(talk.asked) == asked
    assert [bool(place) for place in talk.rewinds] == [True]


def test_another_question_in_what_was_summarised_begins_anew() -> None:
    talk = Conversation()
    del talk.messages[2:]
    fitted = talk.fit()
    assert not fitted.changed
    assert talk.rewinds == [""]


def test_another_conversation_begins_anew() -> None:
    talk = Conversation()
    talk.messages = [SYSTEM, {"role": "user", "content": "Something else."}]
    fitted = talk.fit()
    assert not fitted.changed
    assert fitted.body["messages"] is talk.messages
    assert talk.rewinds == [""]


def test_a_dropped_front_is_no_other_conversation_while_an_answer_is_awaited() -> None:
    talk = Conversation()
    talk.say(90)
    talk.fit()
    del talk.messages[1:3]
    talk.messages.append({"role": "assistant", "content": "Dry."})
    talk.messages.append({"role": "user", "content": "And now?"})
    assert talk.fit().changed
    talk.messages[-2] = {"role": "assistant", "content": "Wet."}
    with pytest.raises(CompactorBusy):
        talk.fit()


def cellar(count: int) -> list[dict[str, Any]]:
    """A history of so many messages, which ends with an answer."""
    said: list[dict[str, Any]] = []
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        said.append({"role": role, "content": f"{number}: {words(60, number)}"})
    return said


@pytest.mark.parametrize("kept", ["trimmed", "summed up"])
def test_a_shortened_history_outlives_a_restart(tmp_path: Path, kept: str) -> None:
    """A provider that counts 1.35 tokens a word: what is left of the last request is known by its report."""

    def compactor(*, on_event: Callable[[Event], None] | None = None) -> Compactor:
        return Compactor(
            "openai:small",
            wire="chat",
            window=600_000,
            store=tmp_path / "casks.db",
            session="cellar",
            on_event=on_event,
        )

    def billed(messages: list[dict[str, Any]]) -> int:
        counts = [7 + 1.35 * len(each["content"].split()) for each in messages]
        return round(7 + sum(counts))

    first = cellar(20)
    summary = {"role": "user", "content": f"Summary: {words(40, 99)}"}
    asked = {"role": "user", "content": "And now?"}
    front = [SYSTEM] if kept == "trimmed" else [SYSTEM, summary]
    short = [*front, *first[8:], asked]
    with compactor() as one:
        for count in range(1, 20, 2):
            sent = [SYSTEM, *first[:count]]
            one.fit_sync({"model": "small", "messages": sent})
            one.after({"prompt_tokens": billed(sent), "completion_tokens": 90})
        fitted = one.fit_sync({"model": "small", "messages": short})
        assert not fitted.changed
        assert one.compactions == 0
        assert one.reading().compactions == 1
        off = abs(fitted.reading.used.tokens - billed(short)) / billed(short)
        assert off < 0.03
        one.after({"prompt_tokens": billed(short), "completion_tokens": 3})
    events: list[Event] = []
    with compactor(on_event=events.append) as again:
        answer = {"role": "assistant", "content": "Dry."}
        sent = [*short, answer, {"role": "user", "content": "Since when?"}]
        assert not again.fit_sync({"model": "small", "messages": sent}).changed
    added = [event for event in events if isinstance(event, MessageAdded)]
    assert len(added) == 2
    assert not any(isinstance(event, CompactionCommitted | Rewound) for event in events)


def test_a_conversation_that_the_provider_keeps_is_not_compacted() -> None:
    compactor = Compactor(
        "openai:small", wire="responses", window=6_000, summarise=lambda body: SUMMARY
    )
    said = [{"role": "user", "content": words(300, number)} for number in range(20)]
    body = {"model": "small", "previous_response_id": "resp_1", "input": said}
    assert compactor.fit_sync(body).body is body
    assert compactor.recover_sync(Overflow("too long", count=9_000, limit=6_000)) is None
    assert compactor.compactions == 0


HOSTILE: dict[str, Any] = {
    "none": None,
    "text": "messages",
    "list": [],
    "empty": {},
    "messages are a number": {"model": "small", "messages": 7},
    "messages are a mapping": {"model": "small", "messages": {"role": "user"}},
    "a message is a number": {"model": "small", "messages": [SYSTEM, 7]},
    "a role is a list": {"model": "small", "messages": [{"role": [], "content": "x"}]},
    "content is a number": {
        "model": "small",
        "messages": [{"role": "user", "content": 7}],
    },
    "calls are a text": {
        "model": "small",
        "messages": [{"role": "assistant", "tool_calls": "x"}],
    },
    "tools are a number": {"model": "small", "messages": [SYSTEM], "tools": 7},
    "a set": {"model": "small", "messages": [{"role": "user", "content": {1, 2}}]},
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_a_hostile_body_breaks_nothing(name: str) -> None:
    talk = Conversation()
    body = HOSTILE[name]
    before = copy.deepcopy(body)
    compactions = talk.compactor.compactions
    reading = talk.compactor.reading()
    try:
        fitted = talk.compactor.fit_sync(body)
    except InvalidRequest:
        assert talk.compactor.reading() == reading
        talk.say(91)
        assert "All were dry." in str(talk.fit().body)
    else:
        assert fitted.body is body
        talk.compactor.after(None, outcome="failed")
        talk.say(91)
        assert talk.fit().reading.call
    assert body == before
    assert talk.compactor.compactions >= compactions
