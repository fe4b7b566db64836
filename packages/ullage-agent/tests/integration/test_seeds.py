"""The worked examples of the projects that Ullage grew from give their numbers here: docs/from-the-seeds.md."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import ullage
from ullage.events import CallEnded, CallStarted, MessageAdded, SessionStarted
from ullage.messages import Message, Part, ReasoningPart, TextPart
from ullage.usage import Usage
from ullage_simulators import read, running

FIELDS = {"type": "object", "properties": {"q": {"type": "string"}}}
SYSTEM = "You are a careful agent. " * 640
WORDS = "the gauge of the cask reads full and the cooper writes it down "


def tools(description: str) -> list[dict[str, object]]:
    return [
        {"name": f"t{n}", "description": description, "input_schema": FIELDS}
        for n in range(40)
    ]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


# -- Dexto: the next input, and the breakdown --


def test_the_weather_example_is_closer_than_its_formula() -> None:
    meter = ullage.Meter("openai:gpt-4.1", window=200_000)
    history: list[dict[str, Any]] = [user("What's the weather in NYC?")]
    first = meter.before({"model": "gpt-4.1", "messages": history})
    call = {"name": "weather", "arguments": '{"city":"NYC"}'}
    answer = {
        "role": "assistant",
        "content": "I'll check",
        "tool_calls": [{"id": "c1", "type": "function", "function": call}],
    }
    meter.after(first.call, {"prompt_tokens": 5000, "completion_tokens": 100}, answer)

    result = {"role": "tool", "tool_call_id": "c1", "content": "NYC: 72°F, sunny"}
    second = meter.before({"model": "gpt-4.1", "messages": [*history, answer, result]})
    assert (second.basis.last_input, second.basis.last_output) == (5000, 100)
    assert abs(second.used.tokens - 5115) <= 5  # theirs: 5120
    assert second.used.low <= 5115 <= second.used.high

    usage = {"prompt_tokens": 5115, "completion_tokens": 50}
    after = meter.after(second.call, usage, None)
    assert after.accuracy.error is not None
    assert abs(after.accuracy.error) <= 5  # theirs: +5, +0.1 %


def test_the_sums_of_context_come_out_as_shown() -> None:
    meter = ullage.Meter("claude-opus-4-6", window=200_000)
    request = {
        "model": "claude-opus-4-6",
        "max_tokens": 1000,
        "system": SYSTEM,
        "tools": tools("Looks up. " * 46),
    }
    asked: list[dict[str, Any]] = [user("word " * 33_000)]
    first = meter.before(request | {"messages": asked})
    answer = [{"type": "text", "text": "word " * 1_990}]
    meter.after(first.call, {"input_tokens": 50_000, "output_tokens": 2_000}, answer)

    answered = {"role": "assistant", "content": answer}
    asked = [*asked, answered, user("word " * 90)]
    shown = meter.before(request | {"messages": asked})
    system, declared, messages = shown.rows
    assert (shown.basis.last_input, shown.basis.last_output) == (50_000, 2_000)
    assert abs(shown.used.tokens - 52_100) <= 10
    assert shown.share is not None and round(100 * shown.share) == 26
    assert shown.free is not None and abs(shown.free - 131_900) <= 10
    assert shown.reserve == 16_000
    assert system.tokens + declared.tokens + messages.tokens == shown.used.tokens
    assert (round(system.tokens, -3), round(declared.tokens, -3)) == (4_000, 8_000)
    assert round(messages.tokens, -3) == 40_000 and messages.source == "by_difference"


# -- MEW: one stored total --


def test_calls_without_usage_or_with_an_error_leave_the_total() -> None:
    meter = ullage.Meter("vllm:anything", default_window=128_000, trigger=0.9, reserve=0)
    assert meter.reading().compaction_point == 115_200
    history = [user("What is 2+2?")]
    for sent, received, text in ((50, 10, "The answer is 4"), (70, 12, "It is 6")):
        before = meter.before({"model": "anything", "messages": history})
        usage = {"prompt_tokens": sent, "completion_tokens": received}
        answer = {"role": "assistant", "content": text}
        reading = meter.after(before.call, usage, answer)
        assert abs(reading.used.tokens - (sent + received)) <= 8
        history += [answer, user("What about 3+3?")]

    held = reading.used.tokens
    for outcome in ("finished", "failed"):
        again = meter.before({"model": "anything", "messages": history})
        reading = meter.after(again.call, None, None, outcome=outcome)
        assert reading.basis.last_input == 70 and reading.used.tokens - held < 20


# -- LLxprt: the effective count --


def added(name: str, role: Any, *parts: Part, call: str | None = None) -> MessageAdded:
    return MessageAdded(message=Message(id=name, role=role, parts=parts, call=call))


def limited(include: bool, thought: int) -> ullage.Meter:
    policy = ullage.ReasoningPolicy(include_in_context=include)
    meter = ullage.Meter(policy=policy, window=150_000, reserve=0, trigger=1.0)
    usage = Usage(input=100_000, output=thought + 50, reasoning=thought)
    reasoning = ReasoningPart(id="a.r", text=WORDS * (thought * 7 // 100))
    for event in (
        SessionStarted(model="glm-4.7", wire="chat", provider="vllm"),
        added("u", "user", TextPart(id="u.t", text=WORDS * 7_100)),
        CallStarted(call="c"),
        CallEnded(call="c", usage=usage),
        added("a", "assistant", reasoning, TextPart(id="a.t", text="Full."), call="c"),
        added("u2", "user", TextPart(id="u2.t", text="Go on.")),
    ):
        meter.apply(event)
    return meter


@pytest.mark.parametrize("thought", [50_000, 60_000])
def test_reasoning_that_is_not_sent_back_does_not_count(thought: int) -> None:
    raw, effective = limited(True, thought), limited(False, thought)
    assert round(raw.reading().used.tokens, -3) == 100_000 + thought
    assert raw.should_compact()  # the limit is 150,000
    assert round(effective.reading().used.tokens, -3) == 100_000
    assert not effective.should_compact()


def stripped(strip: Any, include: bool = True) -> int:
    policy = ullage.ReasoningPolicy(include_in_context=include, strip=strip)
    meter = ullage.Meter(policy=policy, window=150_000)
    meter.apply(SessionStarted(model="glm-4.7", wire="chat", provider="vllm"))
    for n in (1, 2):
        thought = ReasoningPart(id=f"t{n}", text=WORDS * 700 * n)
        meter.apply(added(f"u{n}", "user", TextPart(id=f"q{n}", text="Go on.")))
        said = TextPart(id=f"r{n}", text="Full.")
        meter.apply(added(f"a{n}", "assistant", thought, said))
    return meter.reading().used.tokens


def test_all_but_last_leaves_out_the_first_answers_reasoning() -> None:
    nothing, everything = stripped("all"), stripped("none")
    assert nothing == stripped("none", include=False) < 50
    last = (stripped("all_but_last") - nothing) / (everything - nothing)
    assert abs(last - 2 / 3) < 0.01  # the second answer has twice the reasoning


# -- Gemini CLI, Dexto and OpenCode: estimates --


@pytest.mark.parametrize(
    ("estimator", "text", "low", "high"),
    [
        ("quarter", "a" * 1000, 250, 270),
        ("gemini-cli", "a" * 1000, 250, 270),
        ("gemini-cli", "字" * 1000, 1300, 1320),
    ],
)
def test_the_formulas_of_the_seeds_give_their_numbers(
    estimator: Any, text: str, low: int, high: int
) -> None:
    meter = ullage.Meter("vllm:any", window=100_000, estimator=estimator)
    before = meter.before({"model": "any", "messages": [user(text)]})
    assert low <= before.used.tokens <= high


# -- Dexto: counts, the loop, the queue and cancel --


def test_reports_that_are_sums_of_all_calls_set_off_no_compaction() -> None:
    meter = ullage.Meter("vllm:anything", window=8_000, reserve=0)
    talk: list[dict[str, str]] = []
    total = 0
    for sent in range(100, 1_100, 90):
        talk.append(user("The gauge of the cask reads full. " * 10))
        before = meter.before({"model": "anything", "messages": talk})
        total += sent
        usage = {"prompt_tokens": total, "completion_tokens": 6}
        answer = {"role": "assistant", "content": "Yes, it does."}
        reading = meter.after(before.call, usage, answer)
        talk.append(answer)
    assert (sent, total) == (1_090, 7_140)
    assert abs(reading.used.tokens - sent) < 20 and not reading.should_compact()
    assert "sum of all calls" in reading.notes[0]


SCRIPT = read(
    {
        "answers": [
            {"when": {"contains": "story"}, "text": "Cask 7 is old. " * 60},
            {"when": {"contains": "wait"}, "calls": [{"name": "wait"}]},
            {"when": {"contains": "noted"}, "text": "72°F and sunny in both."},
            {
                "when": {"contains": ": 72"},
                "calls": [{"name": "note", "arguments": {"text": "sunny"}}],
            },
            {
                "text": "I'll check",
                "calls": [
                    {"name": "weather", "arguments": {"city": "NYC"}},
                    {"name": "weather", "arguments": {"city": "Boston"}},
                ],
            },
        ],
        "faults": [{"kind": "hang", "request": 4, "at": 900, "seconds": 60}],
    }
)


async def test_the_flow_of_messages_and_three_cancels_are_theirs(tmp_path: Path) -> None:
    started = asyncio.Event()

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"{city}: 72°F, sunny"

    def note(text: str) -> str:
        """Keeps a note."""
        return f"noted: {text}"

    async def wait() -> str:
        """Waits for rain."""
        started.set()
        await asyncio.Event().wait()
        return "It rains."

    with running(SCRIPT) as simulator:
        agent = ullage.Agent(
            "anthropic:claude-haiku-4-5",
            tools=[weather, note, wait],
            store=tmp_path / "sessions.db",
            base_url=simulator.url("anthropic"),
            environment={"ANTHROPIC_API_KEY": "any", "ULLAGE_DATA": str(tmp_path)},
            count="never",
            config=False,
        )
        async with agent.session("nyc") as session:
            receipt = await session.send("What's the weather in NYC and Boston?")
            assert receipt.position == 1
            await session.wait()
            roles = [message.role for message in await session.messages()]
            flow = ["user", "assistant", "tool", "tool", "assistant", "tool"]
            assert roles == [*flow, "assistant"]
            cancelled = await session.cancel()
            assert (cancelled.cancelled, cancelled.persisted) == (True, None)

            await session.send("Tell me a story.")
            async for event in session.events():
                if getattr(event, "kind", "") == "text":  # a piece of the answer
                    break
            cancelled = await session.cancel()
            assert cancelled.persisted == "partial_assistant"
            await session.wait()
            shown = [each for each in await session.messages() if each.interrupted]
            part = shown[0].parts[0]
            assert isinstance(part, TextPart) and part.text.startswith("Cask 7")

            await session.send("Now wait for rain.")
            await started.wait()
            cancelled = await session.cancel()
            assert cancelled.persisted == "tools_in_progress"
