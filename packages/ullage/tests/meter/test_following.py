"""How a request follows from what is known: the view of the ledger is the request, and what stays keeps its id."""

import random
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from ullage import Meter
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Purpose,
    Rewound,
)
from ullage.messages import Message, TextPart
from ullage.meter.following import Alignment, align, common
from ullage.meter.policy import STEP_BACK_AT_MOST
from ullage.meter.same_content import content_digest
from ullage.tokens.bpe import encoding
from ullage_simulators import running

SUMMARY = "Summary: the files were listed."


def message(text: str, number: int = 0) -> Message:
    """A message by the model if the text begins with ``A:``."""
    role = "assistant" if text.startswith("A:") else "user"
    part = TextPart(id=f"p{number}-{text}", text=text)
    return Message(id=f"{number}-{text}", role=role, parts=(part,))  # type: ignore[arg-type]


def messages(texts: Sequence[str], number: int = 0) -> list[Message]:
    return [message(text, number) for text in texts]


def aligned(held: Sequence[str], sent: Sequence[str]) -> Alignment:
    """The alignment of two histories, without an answer that came in another form."""
    same = 0
    while same < min(len(held), len(sent)) and held[same] == sent[same]:
        same += 1
    return align(
        messages(held),
        messages(sent, 1),
        same,
        is_output=lambda _: False,
        is_summary=lambda _: False,
    )


# -- the alignment --

LETTERS = st.lists(st.sampled_from("abcd"), max_size=6)


def longest(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, by trying all."""
    for size in range(min(len(one), len(other)), 0, -1):
        found = {
            tuple(one[at] for at in chosen)
            for chosen in combinations(range(len(one)), size)
        }
        for chosen in combinations(range(len(other)), size):
            if tuple(other[at] for at in chosen) in found:
                return size
    return 0


@given(held=LETTERS, sent=LETTERS)
def test_as_many_messages_stay_as_can(held: list[str], sent: list[str]) -> None:
    pairs = list(common(messages(held), messages(sent)))
    assert all(held[old] == sent[new] for old, new in pairs)
    assert pairs == sorted(set(pairs))
    for column in zip(*pairs, strict=True):
        assert len(set(column)) == len(column)
    assert len(pairs) == longest(held, sent)


def test_of_equal_messages_those_at_the_end_stay() -> None:
    assert list(common(messages(["a", "ok", "b", "ok"]), messages(["s", "ok"]))) == [
        (3, 1)
    ]


def test_a_long_history_of_equal_messages_takes_no_square_of_its_time() -> None:
    many = messages(["ok"] * 3_000)
    assert list(common(many, many[-1_000:]))


HELD = [f"{'A: ' * (at % 2)}{at}" for at in range(12)]


@pytest.mark.parametrize(
    ("sent", "places", "end", "summary"),
    [
        ([*HELD[4:], "new"], [*range(4, 12), None], 12, None),
        ([SUMMARY, *HELD[4:]], [None, *range(4, 12)], 12, 0),
        ([HELD[0], SUMMARY, *HELD[4:]], [0, None, *range(4, 12)], 12, 1),
        ([SUMMARY, "A: I see", *HELD[4:]], [None, 3, *range(4, 12)], 12, 0),
        (HELD[:2] + HELD[5:], [0, 1, *range(5, 12)], 12, None),
        ([*HELD[:3], "A: edited", *HELD[4:], "new"], [*range(12), None], 12, None),
        ([*HELD[:6], "another"], [*range(6), None], 6, None),
        ([f"other {at}" for at in range(14)], [None] * 14, 0, None),
    ],
    ids=["dropped", "summary", "behind", "told", "middle", "edit", "back", "other"],
)
def test_what_a_loop_does_to_its_history(
    sent: list[str], places: list[int | None], end: int, summary: int | None
) -> None:
    found = aligned(HELD, sent)
    assert (list(found.places), found.end, found.summary) == (places, end, summary)


def test_a_change_among_the_last_messages_of_a_long_history_is_a_step_back() -> None:
    """Such as a reminder that a program moves to the end of each request."""
    sent = [*HELD[:9], *HELD[10:], "reminder"]
    assert len(HELD) - 9 <= STEP_BACK_AT_MOST
    assert aligned(HELD, sent).end == 9


def test_one_message_put_between_others_is_no_compaction() -> None:
    found = aligned(HELD, [*HELD[:2], "more", *HELD[2:]])
    assert (found.end, found.summary) == (2, None)


# -- the events --

EDITS = st.sampled_from(
    ["drop", "cut", "sum up", "edit", "back", "insert", "add", "again"]
)
HISTORIES = st.lists(
    st.tuples(EDITS, st.integers(0, 99), st.integers(1, 5), st.booleans()),
    min_size=1,
    max_size=8,
)


def edited(history: list[str], what: str, at: int, count: int) -> list[str]:
    """A history as a loop may change it."""
    at %= len(history) + 1
    short = ["ok", "A: ok", "yes", "A: so"][(at + count) % 4]
    match what:
        case "drop":
            return history[count:]
        case "cut":
            return history[:at] + history[at + count :]
        case "sum up":
            return [f"{SUMMARY} {at}", *history[count:]]
        case "edit":
            return (
                [*history[:at], f"{history[at]}!", *history[at + 1 :]]
                if at < len(history)
                else history
            )
        case "back":
            return history[:at]
        case "insert":
            return [*history[:at], short, *history[at:]]
        case _:
            return (
                [*history, short, f"A: {at} {count}", f"{at} {count}"]
                if what == "add"
                else history
            )


def body(texts: Sequence[str]) -> dict[str, Any]:
    items = []
    for text in texts:
        role = "assistant" if text.startswith("A:") else "user"
        items.append({"role": role, "content": text})
    return {"model": "gpt-4.1", "messages": items}


@given(changes=HISTORIES)
def test_the_view_is_the_request_whatever_a_loop_does_to_its_history(
    changes: list[tuple[str, int, int, bool]],
) -> None:
    events: list[Event] = []
    meter = Meter(
        "openai:gpt-4.1", wire="chat", estimator="quarter", on_event=events.append
    )
    history = [f"{'A: ' * (at % 2)}{at}" for at in range(7)]
    for what, at, count, is_shown in changes:
        history = edited(history, what, at, count) or ["hello"]
        reading = meter.before(body(history))
        sent = meter.request().messages
        assert [(each.role, each.parts[0].text) for each in sent] == [  # type: ignore[union-attr]
            ("assistant" if text.startswith("A:") else "user", text) for text in history
        ]
        assert len({each.id for each in sent}) == len(sent)
        answer = {"role": "assistant", "content": f"A: {at}"}
        usage = {"prompt_tokens": 7 * len(history), "completion_tokens": 3}
        meter.after(reading.call, usage, answer if is_shown else None)
        history = [*history, f"A: {at}"]
    replayed = Meter(estimator="quarter")
    for event in events:
        replayed.apply(event)
    assert replayed.reading().used == meter.reading().used


def sent_after(*bodies: dict[str, Any]) -> tuple[Meter, list[Event]]:
    """The meter after all of these, and the events that the last one made."""
    events: list[Event] = []
    meter = Meter("openai:gpt-4.1", on_event=events.append)
    for each in bodies[:-1]:
        reading = meter.before(each)
        meter.after(reading.call, {"prompt_tokens": 40, "completion_tokens": 5})
    events.clear()
    meter.before(bodies[-1])
    return meter, events


LONG = body(["One", "A: two", "Three", "A: four", "Five"])


def test_what_left_in_front_of_what_stays_was_compacted() -> None:
    meter, events = sent_after(
        LONG, body([SUMMARY, "Three", "A: four", "Five", "A: six", "Seven"])
    )
    kinds = [type(event) for event in events]
    assert kinds[0] is CompactionCommitted
    assert kinds.count(MessageAdded) == 2
    assert Rewound not in kinds
    assert meter.reading().compactions == 1
    assert meter.messages[0].origin == "summary"


def test_a_summary_that_was_asked_for_stands_for_all() -> None:
    for is_asked in (True, False):
        meter, _ = sent_after(LONG)
        meter.before(LONG)
        if is_asked:
            asked = meter.before({**LONG, "max_tokens": 9}, purpose="summary").call
            meter.after(asked, {"prompt_tokens": 50, "completion_tokens": 9})
        reading = meter.before(body([SUMMARY, "A: Understood.", "Six"]))
        assert reading.compactions == is_asked
        assert len(meter) == 3


def test_a_message_with_what_the_model_wrote_last_is_a_summary() -> None:
    meter = Meter("openai:gpt-4.1")
    call = meter.before(LONG).call
    said = "The lamp is lit, and the wick was trimmed in the evening."
    meter.after(
        call,
        {"prompt_tokens": 40, "completion_tokens": 9},
        {"role": "assistant", "content": said},
    )
    reading = meter.before(body([f"This conversation continues:\n{said}", "Six"]))
    assert reading.compactions == 1


def test_an_earlier_message_in_another_form_is_replaced_and_the_rest_stays() -> None:
    """qwen-code leaves a reminder out of its first message when a session is resumed."""
    edited = body(
        ["One, edited", "A: two", "Three", "A: four", "Five", "A: six", "Seven"]
    )
    meter, events = sent_after(LONG, edited)
    kinds = [type(event) for event in events]
    assert kinds.count(MessageReplaced) == 1
    assert kinds.count(MessageAdded) == 2
    assert Rewound not in kinds
    assert len(meter) == 7


def test_a_history_of_other_messages_is_another_history() -> None:
    other = body(["Uno", "A: due", "Tre", "A: quattro", "Five", "A: six", "Seven"])
    _, events = sent_after(LONG, other)
    assert Rewound in [type(event) for event in events]


def test_cache_marks_and_ids_are_no_part_of_a_digest() -> None:
    assert content_digest(message("a", 1)) == content_digest(message("a", 2))
    assert content_digest(message("a")) != content_digest(message("b"))


# -- the bill --

TEXT = "the kettle was filled with cold water and put on the stove while the tea leaves"
WORDS = TEXT.split(" ")
ENCODING = encoding("o200k_base")


def billed(history: list[dict[str, str]]) -> int:
    """OpenAI's count: three tokens a message, and three for the reply."""
    texts = [text for each in history for text in each.values()]
    return (
        3 + 3 * len(history) + sum(len(ENCODING.encode_ordinary(text)) for text in texts)
    )


def after_trimming(dropped: int, seed: int) -> tuple[float, bool]:
    """The error of a reading after a loop dropped its oldest messages, in percent, and whether the interval has it."""
    rnd = random.Random(seed)
    meter = Meter("gpt-4.1", wire="chat")
    history = [{"role": "system", "content": "You are terse."}]
    for turn in range(11):
        asked = f"{turn} {' '.join(rnd.choices(WORDS, k=rnd.randint(50, 400)))}"
        history.append({"role": "user", "content": asked})
        if turn == 10:
            del history[1 : 1 + dropped]
        bill = billed(history)
        reading = meter.before({"model": "gpt-4.1", "messages": list(history)})
        said = " ".join(rnd.choices(WORDS, k=rnd.randint(20, 120)))
        answer = {"role": "assistant", "content": said}
        encoded = ENCODING.encode_ordinary(said)
        usage = {"prompt_tokens": bill, "completion_tokens": len(encoded) + 1}
        meter.after(reading.call, usage, answer)
        history.append(answer)
    used = reading.used
    return 100 * abs(used.tokens - bill) / bill, used.low <= bill <= used.high


@pytest.mark.parametrize("dropped", [2, 6, 12])
def test_the_bill_is_in_the_interval_after_a_loop_dropped_its_oldest_messages(
    dropped: int,
) -> None:
    found = [after_trimming(dropped, seed) for seed in range(20)]
    assert sum(is_inside for _, is_inside in found) >= 19
    assert median(error for error, _ in found) < 0.25


def words_of(turn: int) -> str:
    return " ".join(random.Random(turn).choices(WORDS, k=200))


@pytest.mark.parametrize(
    ("name", "most"),
    [("drop", 1), ("sum up", 2.5), ("middle", 1), ("system", 1), ("edit", 1)],
)
def test_a_provider_that_counts_otherwise_is_followed_over_a_change(
    name: str, most: float
) -> None:
    meter = Meter("gpt-4.1", wire="chat")
    history = [{"role": "system", "content": "You are terse."}]
    for turn in range(11):
        history.append({"role": "user", "content": f"{turn} {words_of(turn)}"})
        if turn == 10:
            history = changed(history, name)
        bill = round(7 + sum(7 + 1.35 * len(each["content"].split()) for each in history))
        reading = meter.before({"model": "gpt-4.1", "messages": list(history)})
        answer = {"role": "assistant", "content": words_of(-turn)[:400]}
        meter.after(
            reading.call, {"prompt_tokens": bill, "completion_tokens": 100}, answer
        )
        history.append(answer)
    assert 100 * abs(reading.used.tokens - bill) / bill < most


def changed(history: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    system, *rest = history
    match name:
        case "drop":
            return [system, *rest[6:]]
        case "sum up":
            return [
                system,
                {"role": "user", "content": "Summary: " + "tea " * 120},
                *rest[12:],
            ]
        case "middle":
            return [system, *rest[:2], *rest[4:]]
        case "system":
            return [{"role": "system", "content": "You are very terse."}, *rest]
        case _:
            return [
                system,
                *(
                    {**each, "content": each["content"][:200]} if at % 4 == 3 else each
                    for at, each in enumerate(rest)
                ),
            ]


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
        if each.bill is not None:
            found.append((each.body, each.bill.input, each.bill.output))
    return found


@pytest.mark.parametrize("shown", [True, False], ids=["with-answers", "without"])
def test_after_langchains_compaction_the_reading_is_the_bill(shown: bool) -> None:
    meter = Meter("openai:gpt-4.1")
    every = of_langchain()
    steps = [sent["messages"] for sent, _, _ in every if is_step(sent)]
    for sent, billed, output in every:
        usage = {"prompt_tokens": billed, "completion_tokens": output}
        purpose: Purpose = "main" if is_step(sent) else "summary"
        reading = meter.before(sent, purpose=purpose)
        answer = None
        if purpose == "main":
            number = steps.index(sent["messages"])
            if number:
                off = abs(reading.used.tokens - billed) / billed
                assert off < 0.02, (number, reading.used, billed)
            answer = steps[number + 1][-2] if shown and number + 1 < len(steps) else None
        meter.after(reading.call, usage, answer)
    assert meter.reading().compactions == len(every) - len(steps) >= 3


def is_step(sent: dict[str, Any]) -> bool:
    """Whether a call is of the conversation, and none for a summary."""
    return bool(sent["messages"][0]["role"] == "system")


def claude_bill(url: str, sent: dict[str, Any]) -> dict[str, Any]:
    headers = {"x-api-key": "none", "anthropic-version": "2023-06-01"}
    answer = httpx2.post(f"{url}/v1/messages", json=sent, headers=headers)
    given: dict[str, Any] = answer.json()
    return given


@pytest.mark.parametrize("shown", [True, False], ids=["with-answers", "without"])
def test_after_a_summary_in_claude_codes_form_the_reading_is_the_bill(
    shown: bool,
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
            purpose: Purpose = "main" if place < len(said) else "summary"
            call = meter.before(sent, purpose=purpose).call
            meter.after(call, given["usage"], given["content"] if shown else None)
            messages = [*messages, {"role": "assistant", "content": given["content"]}]
        summary = "This session is being continued. Summary: " + words * 6
        begun = [
            {"type": "text", "text": "<system-reminder>Be careful.</system-reminder>"},
            {"type": "text", "text": summary},
        ]
        short = sent | {"messages": [{"role": "user", "content": begun}]}
        given = claude_bill(server.url("anthropic"), short)
        reading = meter.before(short)
    billed = given["usage"]["input_tokens"]
    assert abs(reading.used.tokens - billed) / billed < 0.05, (reading.used, billed)
    assert reading.compactions == 1
