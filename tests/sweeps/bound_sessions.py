"""Random sessions on every simulated model that reasons, with all that changes what stands in front of reasoning."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.promises.stage import ADDRESSES, KEYS, of_kind
from ullage import tool
from ullage.errors import UllageError
from ullage.events import CompactionCommitted, Event, Pruned, ReasoningRefused, TurnEnded
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.turn_instructions import TurnContext
from ullage_simulators import Server, running
from ullage_simulators.models import MODELS
from ullage_simulators.scenario import Scenario, read

BINDING_RULES: Final = frozenset(
    {"prefix_changed", "thinking_edited", "thinking_left_out", "signature_invalid"}
)
"""Rules of the simulators that a request breaks whose reasoning is not what or where it was."""

WORDS: Final = "the gauge of the cask reads full and the cooper writes it down "
PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738"
    "550000000049454e44ae426082"
)
WINDOW: Final = 24_000
LOOK: Final = {"name": "look", "arguments": {"n": 1}}


def served(server_name: str) -> tuple[str, ...]:
    """The models of one simulator that reason, as ``provider:model``."""
    provider = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}
    found: list[str] = []
    for model in MODELS:
        if model.family == server_name and model.reasons and "/" not in model.name:
            found.append(f"{provider[server_name]}:{model.name}")
    return tuple(found)


CLAUDE: Final = served("anthropic")
EVERY_MODEL: Final = (*CLAUDE, *served("openai"), *served("gemini"))


def scenario() -> Scenario:
    """A model that thinks in each answer, looks before it answers a question, and sums up when it is asked to."""
    answers = [
        {
            "when": {"contains": "ummar"},
            "text": "Goal: check the casks. Done: all are full. Next: the gauge.",
        },
        {
            "when": {"contains": "find a tool"},
            "reasoning": "Which one? " * 6,
            "calls": [{"name": "tool_search", "arguments": {"query": "cask_7"}}],
        },
        {
            "when": {"after": "user", "contains": "look"},
            "reasoning": "Look first. " * 6,
            "text": "I look.",
            "calls": [LOOK],
        },
        {"reasoning": "Now I know. " * 6, "text": "It is full. " * 12},
    ]
    return read({"answers": answers, "server": {"max_images": 3}})


class Outcome(NamedTuple):
    """What one session met with."""

    refused: int = 0
    """Requests that a simulator refused for reasoning that is not what or where it was."""
    dropped: int = 0
    """How often a provider did not take reasoning that the session sent."""
    failed: int = 0
    """Turns that did not finish."""
    before: int = 0
    after: int = 0
    """Pieces of reasoning in the last request before a change and in the first one after it."""
    lost: str = ""
    """The first failure, in words."""

    def plus(self, other: Outcome) -> Outcome:
        return Outcome(
            refused=self.refused + other.refused,
            dropped=self.dropped + other.dropped,
            failed=self.failed + other.failed,
            before=self.before + other.before,
            after=self.after + other.after,
            lost=self.lost or other.lost,
        )


@dataclass
class Stage:
    """A session under way, and what changes may need. A fork goes on in its copy."""

    server: Server
    agent: Agent
    session: Session
    opened: AsyncExitStack
    models: Sequence[str]
    rng: random.Random
    state: dict[str, Any]


async def compact(stage: Stage) -> None:
    await stage.session.compact()
    await stage.session.wait(check=False)


async def uncompact(stage: Stage) -> None:
    for event in reversed(await stage.session.history()):
        name = ""
        if isinstance(event, CompactionCommitted):
            name = event.compaction
        elif isinstance(event, Pruned):
            name = event.prune
        if name:
            await stage.session.uncompact(name)
            return
    await compact(stage)


async def rewind(stage: Stage) -> None:
    answers = [
        each for each in await stage.session.messages() if each.role == "assistant"
    ]
    if len(answers) > 1:
        await stage.session.rewind(stage.rng.choice(answers[:-1]).id)


async def fork(stage: Stage) -> None:
    ends = of_kind(await stage.session.history(), TurnEnded)
    made = await stage.session.fork(through=stage.rng.choice(ends).seq)
    copy = stage.agent.session(made.session)
    stage.session = await stage.opened.enter_async_context(copy)


async def switch(stage: Stage) -> None:
    await stage.session.set(model=stage.rng.choice(stage.models))


async def instructions(stage: Stage) -> None:
    stage.state["instructions"] = f"It is watch {stage.rng.randrange(100)}."


async def image(stage: Stage) -> None:
    """More images than the simulator takes: the oldest have to leave."""
    for _ in range(2):
        await stage.session.ask("And this one?", PIXEL, PIXEL, check=False)


async def find(stage: Stage) -> None:
    await stage.session.ask("Please find a tool for it.", check=False)


async def policy(stage: Stage) -> None:
    await stage.session.set(reasoning=stage.rng.choice(("all", "last")))


async def steer(stage: Stage) -> None:
    await stage.session.send("Please look again.")
    await stage.session.send("And mind the gauge.", kind="steer")
    await stage.session.wait(check=False)


CHANGES: Final[Mapping[str, Callable[[Stage], Awaitable[None]]]] = {
    "compact": compact,
    "uncompact": uncompact,
    "rewind": rewind,
    "fork": fork,
    "switch": switch,
    "instructions": instructions,
    "image": image,
    "find": find,
    "policy": policy,
    "steer": steer,
}

STRATEGIES: Final = ("hybrid", "llm", "prune", ("server", "hybrid"))


def look(n: int) -> str:
    """Looks at a cask."""
    return WORDS * 40


def many_tools() -> list[Any]:
    tools: list[Any] = []
    for number in range(40):

        def use(x: int) -> str:
            return "used"

        use.__name__ = f"cask_{number}"
        use.__doc__ = "Does a thing with casks and their gauges. " * 12
        tools.append(tool(use))
    return tools


def thoughts_of(body: Any) -> int:
    """How many pieces of reasoning a request carries, on any of the wires."""
    found = 0
    for message in body.get("messages") or ():
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            found += block.get("type") in ("thinking", "redacted_thinking")
        found += bool(message.get("reasoning_content"))
    for item in body.get("input") or ():
        found += isinstance(item, dict) and item.get("type") == "reasoning"
    for content in body.get("contents") or ():
        for part in content.get("parts") or ():
            found += "thoughtSignature" in part
    return found


def last_thoughts(server: Server) -> int:
    for exchange in reversed(server.exchanges):
        body = exchange.body
        if isinstance(body, dict) and exchange.status == 200 and "compaction" not in body:
            return thoughts_of(body)
    return 0


async def session_with(
    model: str,
    changes: Sequence[str],
    seed: int,
    place: Path,
    *,
    models: Sequence[str] = (),
    strategy: str | tuple[str, ...] = "hybrid",
) -> Outcome:
    """One session of some turns, these changes, and turns behind each of them."""
    rng = random.Random(seed)
    state: dict[str, Any] = {"instructions": "It is the first watch."}

    def written(turn: TurnContext) -> str:
        return str(state["instructions"])

    tools = [look, *(many_tools() if "find" in changes else ())]
    with running(scenario(), seed=seed) as server:
        addresses = {
            variable: server.url(serves) for variable, serves in ADDRESSES.items()
        }
        agent = Agent(
            model,
            tools=tools,
            instructions=[written],
            environment={**addresses, **KEYS, "ULLAGE_DATA": str(place)},
            config=False,
            store=place / f"{seed}.db",
            window=WINDOW,
            reserve=1_000,
            count="never",
            strategy=strategy,
        )
        async with AsyncExitStack() as opened:
            session = await opened.enter_async_context(agent.session("s"))
            stage = Stage(server, agent, session, opened, models or (model,), rng, state)
            outcome = await _turns(stage, rng.randint(2, 4))
            for change in changes:
                before = last_thoughts(server)
                with suppress(UllageError):  # a change that is not possible here
                    await CHANGES[change](stage)
                sent = len(server.exchanges)
                outcome = outcome.plus(await _turns(stage, 1))
                after = _first_thoughts(server, sent)
                outcome = outcome.plus(Outcome(before=before, after=after))
                outcome = outcome.plus(await _turns(stage, rng.randint(0, 2)))
            events = await stage.session.history()
        return outcome.plus(_judged(server, events))


def _first_thoughts(server: Server, sent: int) -> int:
    for exchange in server.exchanges[sent:]:
        body = exchange.body
        if isinstance(body, dict) and "compaction" not in body:
            return thoughts_of(body)
    return 0


async def _turns(stage: Stage, count: int) -> Outcome:
    failed, lost = 0, ""
    for _ in range(count):
        text = stage.rng.choice(("Please look at it. ", "How full is it? "))
        result = await stage.session.ask(
            text + WORDS * stage.rng.randint(1, 30), check=False
        )
        is_over_images = "images" in str(result.error)  # the server takes three
        if result.reason != "finished" and not is_over_images:
            failed, lost = failed + 1, lost or f"{result.reason}: {result.error}"
    return Outcome(failed=failed, lost=lost)


def _judged(server: Server, events: Sequence[Event]) -> Outcome:
    refused = [each.rule for each in server.exchanges if each.rule in BINDING_RULES]
    dropped = of_kind(events, ReasoningRefused)
    return Outcome(refused=len(refused), dropped=len(dropped))


def random_session(seed: int, place: Path) -> Outcome:
    """One session on a random model, with three random changes."""
    rng = random.Random(seed)
    model = rng.choice(CLAUDE if rng.random() < 0.6 else EVERY_MODEL)
    provider = model.partition(":")[0]
    models = [each for each in EVERY_MODEL if each.startswith(f"{provider}:")]
    changes = rng.choices(tuple(CHANGES), k=3)
    strategy = rng.choice(STRATEGIES)
    return asyncio.run(
        session_with(model, changes, seed, place, models=models, strategy=strategy)
    )
