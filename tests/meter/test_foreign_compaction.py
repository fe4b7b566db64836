"""A compaction that the loop itself made, as an event of its ledger."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from ullage_simulators import running

from ullage import Meter
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Rewound,
)
from ullage.messages import Message, TextPart
from ullage.meter.foreign_compaction import foreign_compaction

SUMMARY = "Summary: the files were listed."


def message(text: str, number: int = 0) -> Message:
    role = "assistant" if text.startswith("A:") else "user"
    part = TextPart(id=f"p{number}-{text}", text=text)
    return Message(id=f"{number}-{text}", role=role, parts=(part,))  # type: ignore[arg-type]


def messages(*texts: str, number: int = 0) -> list[Message]:
    return [message(text, number) for text in texts]


HELD = messages("One", "A: two", "Three", "A: four")


def compaction(*sent: str) -> CompactionCommitted | None:
    return foreign_compaction(HELD, messages(*sent, number=1), "c")


def test_the_first_new_message_is_the_summary_of_all_that_left() -> None:
    found = compaction(SUMMARY, "Next")
    assert found is not None
    assert found.summary is not None
    assert found.summary.origin == "summary"
    assert found.summarised == tuple(each.id for each in HELD)
    assert found.behind == ""


def test_the_beginning_and_the_end_of_the_history_stay_with_their_ids() -> None:
    found = compaction("One", SUMMARY, "Three", "A: four", "Next")
    assert found is not None
    assert found.summarised == ("0-A: two",)
    assert found.behind == "0-One"


def test_messages_that_leave_without_a_summary_have_none() -> None:
    found = compaction("One", "A: new")
    assert found is not None
    assert found.summary is None


def test_a_longer_history_is_no_compaction() -> None:
    assert compaction("One", "A: two", "Three", "A: four", "Next") is None


TEXTS = st.lists(st.sampled_from(["One", "A: two", "Three", SUMMARY]), max_size=6)


@given(held=TEXTS, sent=TEXTS)
def test_what_is_summarised_was_held_and_nothing_is_twice(
    held: list[str], sent: list[str]
) -> None:
    view = [message(text, number) for number, text in enumerate(held)]
    found = foreign_compaction(view, messages(*sent, number=99), "c")
    if found is not None:
        ids = [each.id for each in view]
        gone = list(found.summarised)
        start = ids.index(gone[0])
        assert ids[start : start + len(gone)] == gone


# -- in the meter --


def body(*texts: str) -> dict[str, Any]:
    items = []
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        items.append({"role": role, "content": text})
    return {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": items}


def metered(*bodies: dict[str, Any], replaced: bool) -> tuple[Meter, list[Event]]:
    """The meter after all of these, and the events that the last one made."""
    events: list[Event] = []
    meter = Meter("anthropic:claude-haiku-4-5", on_event=events.append)
    for each in bodies[:-1]:
        reading = meter.before(each)
        meter.after(reading.call, {"input_tokens": 40, "output_tokens": 5})
    events.clear()
    meter.before(bodies[-1], replaced=replaced)
    return meter, events


LONG = body("One", "Two", "Three", "Four", "Five")
SHORT = body(SUMMARY, "Understood.", "Six")


def test_a_loop_that_says_so_has_a_compaction_in_its_ledger() -> None:
    meter, events = metered(LONG, SHORT, replaced=True)
    kinds = [type(event) for event in events]
    assert kinds[0] is CompactionCommitted
    assert Rewound not in kinds
    assert kinds.count(MessageAdded) == 2
    assert meter.reading().compactions == 1
    assert len(meter) == 3


def test_the_reading_is_the_same_as_of_a_loop_that_went_back() -> None:
    told, _ = metered(LONG, SHORT, replaced=True)
    untold, events = metered(LONG, SHORT, replaced=False)
    assert Rewound in [type(event) for event in events]
    assert told.reading().used.tokens == untold.reading().used.tokens


def test_a_body_that_extends_the_last_one_is_no_compaction_whatever_is_said() -> None:
    longer = body("One", "Two", "Three", "Four", "Five", "Six", "Seven")
    _, events = metered(LONG, longer, replaced=True)
    assert CompactionCommitted not in [type(event) for event in events]


def test_an_earlier_message_in_another_form_is_replaced_and_the_rest_stays() -> None:
    """qwen-code leaves a reminder out of its first message when a session is resumed."""
    edited = body("One, edited", "Two", "Three", "Four", "Five", "Six", "Seven")
    meter, events = metered(LONG, edited, replaced=False)
    kinds = [type(event) for event in events]
    assert kinds.count(MessageReplaced) == 1
    assert kinds.count(MessageAdded) == 2
    assert Rewound not in kinds
    assert len(meter) == 7


def test_a_history_of_other_messages_is_another_history() -> None:
    other = body("Uno", "Due", "Tre", "Quattro", "Five", "Six", "Seven")
    _, events = metered(LONG, other, replaced=False)
    assert Rewound in [type(event) for event in events]


# -- of real programs: the bill is the simulator's --


def of_langchain() -> list[tuple[dict[str, Any], int, int]]:
    """Bodies of an agent with LangChain's own compaction, each with its billed input and output."""
    with running(seed=4, wires=["openai"]) as server:
        chat = ChatOpenAI(
            model="gpt-4.1",
            base_url=server.url("openai"),
            api_key=SecretStr("none"),
            max_retries=0,
        )
        own = SummarizationMiddleware(chat, trigger=("tokens", 900), keep=("messages", 4))
        agent: Any = create_agent(chat, [], system_prompt="Be brief.", middleware=[own])
        messages: list[Any] = []
        for turn in range(7):
            said = f"Turn {turn}: tell me " + "something about it " * 40
            given = [*messages, {"role": "user", "content": said}]
            messages = agent.invoke({"messages": given})["messages"]
        exchanges = server.exchanges
    found = []
    for each in exchanges:
        if each.body["messages"][0]["role"] == "system" and each.bill is not None:
            found.append((each.body, each.bill.input, each.bill.output))
    return found


@pytest.mark.parametrize("replaced", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("shown", [True, False], ids=["with-answers", "without"])
def test_after_langchains_compaction_the_reading_is_the_bill(
    replaced: bool, shown: bool
) -> None:
    meter = Meter("openai:gpt-4.1")
    calls = of_langchain()
    compactions = 0
    for place, (sent, billed, output) in enumerate(calls):
        earlier = calls[place - 1][0]["messages"] if place else []
        is_compacted = sent["messages"][: len(earlier)] != earlier
        compactions += is_compacted
        reading = meter.before(sent, replaced=replaced and is_compacted)
        if place:
            off = abs(reading.used.tokens - billed) / billed
            assert off < 0.02, (place, reading.used, billed)
        answer = None
        if shown and place + 1 < len(calls):
            following = calls[place + 1][0]["messages"]
            answer = following[-2] if following[-2]["role"] == "assistant" else None
        usage = {"prompt_tokens": billed, "completion_tokens": output}
        meter.after(reading.call, usage, answer)
    assert compactions >= 3
    if replaced:
        assert meter.reading().compactions == compactions


def claude_bill(url: str, sent: dict[str, Any]) -> dict[str, Any]:
    headers = {"x-api-key": "none", "anthropic-version": "2023-06-01"}
    answer = httpx2.post(f"{url}/v1/messages", json=sent, headers=headers)
    given: dict[str, Any] = answer.json()
    return given


@pytest.mark.parametrize("replaced", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("shown", [True, False], ids=["with-answers", "without"])
def test_after_a_summary_in_claude_codes_form_the_reading_is_the_bill(
    replaced: bool, shown: bool
) -> None:
    """/compact: the history goes out once more with a request for a summary, which then begins another one."""
    meter = Meter("anthropic:claude-haiku-4-5")
    words = "The build failed at the third step, and the log names the file. "
    said = [words * 20, words * 12, words * 9]
    messages: list[Any] = []
    with running(seed=5, wires=["anthropic"]) as server:
        for place, text in enumerate([*said, "Summarise the conversation."]):
            messages = [*messages, {"role": "user", "content": text}]
            sent = {"model": "claude-haiku-4-5", "max_tokens": 500, "messages": messages}
            given = claude_bill(server.url("anthropic"), sent)
            if place < len(said):
                call = meter.before(sent).call
                meter.after(call, given["usage"], given["content"] if shown else None)
            messages = [*messages, {"role": "assistant", "content": given["content"]}]
        summary = "This session is being continued. Summary: " + words * 6
        begun = [
            {"type": "text", "text": "<system-reminder>Be careful.</system-reminder>"},
            {"type": "text", "text": summary},
        ]
        short = sent | {"messages": [{"role": "user", "content": begun}]}
        given = claude_bill(server.url("anthropic"), short)
        reading = meter.before(short, replaced=replaced)
    billed = given["usage"]["input_tokens"]
    assert abs(reading.used.tokens - billed) / billed < 0.05, (reading.used, billed)
    assert reading.compactions == replaced
