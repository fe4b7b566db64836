"""The worked examples of the projects that Ullage grew from give their numbers here: docs/from-the-seeds.md."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import ullage
from ullage.messages import TextPart
from ullage_simulators import read, running

FIELDS = {"type": "object", "properties": {"q": {"type": "string"}}}
SYSTEM = "You are a careful agent. " * 640


def tools(description: str) -> list[dict[str, object]]:
    return [
        {"name": f"t{n}", "description": description, "input_schema": FIELDS}
        for n in range(40)
    ]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


# -- Dexto: the next input, and the breakdown --


def test_the_sums_of_context_come_out_as_shown() -> None:
    meter = ullage.Meter("claude-opus-4-6", window=200_000)
    request = {
        "model": "claude-opus-4-6",
        "max_tokens": 1000,
        "system": SYSTEM,
        "tools": tools("Looks up. " * 36),
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


# -- LLxprt: the effective count --


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
