"""One long session driven through three compactions against the same double: what is sent, refused, billed and lost.

    uv run python -m bench.compaction                                # prints
    uv run python -m bench.compaction --write docs/compaction-beside.md

Nothing is timed: every figure is a count, and the same at every run of the same versions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.environments import HARNESS_COMPACTION, LANGCHAIN_COMPACTION, OUT, NotInstalled, Peer, python_of
from bench.invented import Writer as Author
from bench.results import Section, Table
from ullage.simulators import running
from ullage.simulators.drawn import Drawn
from ullage.simulators.models import Model
from ullage.simulators.scenario import Scenario, read
from ullage.simulators.server import Exchange
from ullage.simulators.tokenizer import tokens

TURNS = 300
WINDOW = 32_000
TRIGGER = 0.8
SEED = 4
NEAR = 0.02
"""A trigger this share of the threshold below it by the true count is taken to be at it."""
BLOCK = 128
"""Tokens in which this wire caches: less than one block is no loss."""
MODEL = "gpt-4.1"
SIZES = (0, 16, 96, 172, 453, 746, 1_117, 1_718, 2_227, 3_617, 4_970, 13_050)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Characters of a tool's result: quantiles of the 215 results in a recorded session of 800 lines of a coding agent."""
SUMMARISES = ("Write down what is needed to go on", "Messages to summarize:", "Write the summary under these exact")
"""How a request for a summary is known: ours, langchain's, the harness'."""
MORE, TWICE = "There is more.", "Look twice."
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Client:
    """One way to compact. ``peer`` is ``None`` for ours."""

    name: str
    peer: Peer | None
    script: str
    arguments: tuple[str, ...] = ()


CLIENTS = (
    Client("ullage", None, "compaction_ullage.py"),
    Client("pydantic-ai-harness, tiered", HARNESS_COMPACTION, "compaction_harness.py", ("tiered",)),
    Client("pydantic-ai-harness, summary", HARNESS_COMPACTION, "compaction_harness.py", ("summary",)),
    Client("langchain", LANGCHAIN_COMPACTION, "compaction_langchain.py"),
)


class ClientFailed(Exception):
    """A client did not get through the session; says why."""


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one client did, from the double's side. Tokens are true ones.

    ``lost``: what stood in the request before and in this one, and was not read from the cache. ``early`` and ``late``
    are wrong triggers: fired below the threshold, and a request sent above it. ``unseen`` are turns whose words left
    the view without having been in any request for a summary. ``counted`` is what the client says that
    all its calls took, ``billed`` what they did.
    """

    calls: int = 0
    summaries: int = 0
    compactions: int = 0
    refused: int = 0
    failed_turns: int = 0
    sent: int = 0
    uncached: int = 0
    lost: int = 0
    early: int = 0
    late: int = 0
    unseen: int = 0
    summary_billed: int = 0
    billed: int = 0
    counted: int = 0
    problems: tuple[str, ...] = ()


def plan(turns: int = TURNS, window: int = WINDOW) -> dict[str, Any]:
    """The session: invented, the same at every run, its results as long as recorded ones are."""
    chosen, author = random.Random(SEED), Author(SEED)
    results = []
    for number in range(4 * turns):
        text = f"log {number}: {author.prose(_size(chosen.random()))}" if number % 9 else ""
        results.append(f"{text} {MORE}".strip() if number % 3 == 1 else text or "(empty)")
    said = []
    for number in range(turns):
        twice = f" {TWICE}" if number % 4 == 3 else ""
        said.append(f"Turn {number}: {author.prose(40 + int(_size(chosen.random()) / 12))}{twice}")
    system = "You look after the valves of a plant. " + author.prose(1_500)
    return {"turns": said, "results": results, "system": system, "window": window, "trigger": TRIGGER}


def _size(share: float) -> int:
    """A length with this share of all lengths below it, straight between the recorded ones."""
    points = [(0.0, 0), *zip(SHARES, SIZES, strict=True), (1.0, SIZES[-1])]
    for (low, shorter), (high, longer) in pairwise(points):
        if share <= high:
            return round(shorter + (longer - shorter) * (share - low) / (high - low))
    return SIZES[-1]


def scenario(window: int = WINDOW) -> Scenario:
    """What the model says: one or two calls to a turn, another call where a result says so, a summary when asked."""
    call = {"name": "read_log", "arguments": {"number": 1}}
    summary = "## Goal\nLook after the valves.\n## State\n" + Author(SEED).prose(900)
    said = "These logs show nothing out of the ordinary; the pressure in the second line has to be watched. "
    answers = [
        *({"when": {"contains": marker}, "text": summary} for marker in SUMMARISES),
        {"when": {"after": "user", "contains": TWICE}, "calls": [call, call]},
        {"when": {"after": "user"}, "text": "I will look.", "calls": [call]},
        {"when": {"after": "tool", "contains": MORE}, "text": "There is more to see.", "calls": [call]},
        {"text": said * 3},
    ]
    return read({"models": [{"name": MODEL, "like": MODEL, "window": window}], "answers": answers})


def run(client: Client, session: Path, window: int = WINDOW) -> tuple[Outcome, dict[str, str]]:
    """Drive one client through the session. Raises ``ClientFailed``, ``NotInstalled``."""
    python = sys.executable if client.peer is None else str(python_of(client.peer))
    played = scenario(window)
    with running(played, seed=SEED, wires=["openai"]) as server:
        command = [python, str(HERE / "peers" / client.script), server.url("openai"), str(session), *client.arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=1_800, check=False, env=os.environ | {"NO_COLOR": "1"}
        )
        if done.returncode:
            raise ClientFailed((done.stderr.strip().splitlines() or ["no output"])[-1][:300])
        found = json.loads(done.stdout.splitlines()[-1])
        exchanges = [each for each in server.exchanges if each.number]
        outcome = judged(
            exchanges, server.truth().drawn[MODEL], next(each for each in played.models if each.name == MODEL)
        )
    outcome.unseen = unseen(exchanges, json.loads(session.read_text())["turns"])
    outcome.failed_turns = len(found["problems"])
    outcome.problems = tuple(dict.fromkeys(found["problems"]))
    outcome.counted = sum(found["counted"])
    return outcome, found["versions"]


def judged(exchanges: Sequence[Exchange], drawn: Drawn, model: Model) -> Outcome:
    """What the requests of one session come to."""
    found = Outcome()
    threshold = TRIGGER * model.window
    least = model.cache_from
    before: Exchange | None = None
    for each in exchanges:
        found.calls += 1
        summary = is_summary(each)
        if each.bill is None:
            found.refused += 1
            continue
        found.sent += each.bill.input
        found.uncached += each.bill.input - each.bill.cache_read
        found.billed += each.bill.input + each.bill.output
        if summary:
            found.summaries += 1
            found.summary_billed += each.bill.input + each.bill.output
            continue
        found.late += each.bill.input > threshold
        if before is not None and before.bill is not None:
            common = min(before.bill.input, each.bill.input)
            missed = common - each.bill.cache_read if common >= least else 0
            whole = before.bill.input + before.bill.output + added(each, drawn)
            if missed > BLOCK:
                found.lost += missed
                found.compactions += 1
                found.early += whole < threshold * (1 - NEAR)
        before = each
    return found


def is_summary(exchange: Exchange) -> bool:
    """Whether a request asks for a summary: by the wording of its last message."""
    last = json.dumps(exchange.body["messages"][-1])
    return any(marker in last for marker in SUMMARISES)


def unseen(exchanges: Sequence[Exchange], turns: Sequence[str]) -> int:
    """How many of the user's messages are in no request for a summary, and not in the last request either."""
    kept = [each for each in exchanges if each.bill is not None and is_summary(each)]
    kept += [each for each in exchanges if each.bill is not None and not is_summary(each)][-1:]
    texts = "\n".join(text for each in kept for text in _texts(each.body["messages"]))
    return sum(said not in texts for said in turns)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def added(after: Exchange, drawn: Drawn) -> int:
    """True tokens of what came after the last answer: the newest results or the user's words."""
    size = 0
    for message in reversed(after.body["messages"]):
        if message["role"] not in ("tool", "user"):
            break
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        size += round(drawn.factor * tokens(text)) + drawn.message
    return size


def section(turns: int = TURNS) -> Section:
    """Drive all clients through the session, one after the other."""
    session = OUT / "compaction.json"
    session.parent.mkdir(exist_ok=True)
    session.write_text(json.dumps(plan(turns)))
    found: dict[str, Outcome] = {}
    versions: dict[str, str] = {}
    notes: list[str] = []
    for client in CLIENTS:
        print(f"{client.name} …", file=sys.stderr, flush=True)
        try:
            found[client.name], seen = run(client, session)
        except (ClientFailed, NotInstalled) as why:
            notes.append(f"{client.name} failed: {why}")
            continue
        versions |= seen
        notes += [f"{client.name}, a turn that failed: {problem}" for problem in found[client.name].problems[:3]]
    return _section(found, versions, notes, turns)


def _section(found: dict[str, Outcome], versions: dict[str, str], notes: list[str], turns: int) -> Section:
    sent = Table(
        "What was sent",
        ("", "model calls", "tokens sent", "not from the cache", "lost from the cache", "refused", "turns that failed"),
        tuple(
            (
                name,
                f"{one.calls:,}",
                f"{one.sent:,}",
                f"{one.uncached:,}",
                f"{one.lost:,}",
                f"{one.refused:,}",
                f"{one.failed_turns:,}",
            )
            for name, one in found.items()
        ),
    )
    fired = Table(
        "When it fired, and what it cost",
        (
            "",
            "compactions",
            "fired below",
            "sent above",
            "summary calls",
            "their tokens",
            "turns lost unseen",
            "billed",
            "counted by it",
        ),
        tuple(
            (
                name,
                f"{one.compactions:,}",
                f"{one.early:,}",
                f"{one.late:,}",
                f"{one.summaries:,}",
                f"{one.summary_billed:,}",
                f"{one.unseen:,}",
                f"{one.billed:,}",
                f"{one.counted:,}",
            )
            for name, one in found.items()
        ),
    )
    return Section(
        name="compaction",
        title=f"{turns} turns on a window of {WINDOW:,} tokens",
        command="uv run python -m bench.compaction",
        about=ABOUT.format(
            threshold=f"{TRIGGER * WINDOW:,.0f}", versions=", ".join(f"{k} {v}" for k, v in sorted(versions.items()))
        ),
        ratios=sent,
        figures=(fired,),
        notes=tuple(notes),
    )


ABOUT = """Every client says the same turns, gets the same tool results in the same order, and is answered by the same \
script on OpenAI Chat, where caching needs no setting. The tool results are invented and as long as recorded ones. All \
compact at 80 % of the window ({threshold} tokens), each with its documented settings otherwise: ours with its own \
defaults; pydantic-ai-harness with the tiers of its README (clear tool results but the last 3 pairs, then summarise \
all but 20 messages), and with its summary alone; langchain's SummarizationMiddleware with a share of the window and \
20 messages kept. Every summary asked for is answered by the same text.

All figures are the double's, in true tokens, but for the last column. *Lost from the cache*: what stood in the \
request before as well, and was not read from the cache. *Refused*: requests that were over the window. \
*Compactions*: conversation requests that no longer begin as the one before, by clearing, dropping or summarising. \
*Fired below*: of these, where the whole request would have been more than 2 % below the threshold. *Sent above*: \
conversation requests that went out above the threshold. *Turns lost unseen*: those whose words left the view without \
having been in any request for a summary. *Billed* and *counted by it*: input and output of all calls, summaries \
among them, as the double has them and as the client says itself. Who keeps less in view after it compacts sends \
less, and has less in the cache to lose: those two columns are to be read beside the last ones, as a history cut down \
to what nobody has read is the cheapest of all. Versions: {versions}."""

INTRODUCTION = """# Compaction beside others

Written by `uv run python -m bench.compaction --write docs/compaction-beside.md`. Nothing here is a time: every figure
is a count of the simulated provider, and the same at every run of the same versions."""


def main() -> None:
    """Print the tables, and with --write make the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", type=Path, metavar="PAGE", help="also write them as this Markdown page")
    options.add_argument("--turns", type=int, default=TURNS, help=f"how long the session is (default {TURNS})")
    chosen = options.parse_args()
    done = section(chosen.turns)
    print(done.text())
    if chosen.write:
        chosen.write.write_text(f"{INTRODUCTION}\n\n{done.markdown()}\n", encoding="utf-8")
        print(f"wrote {chosen.write}", file=sys.stderr)


if __name__ == "__main__":
    main()
