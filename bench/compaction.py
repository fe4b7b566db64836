"""One long session driven through three compactions against the same simulator: what is sent, refused, billed and lost.

    uv run python -m bench.compaction                      # prints the invented sessions
    uv run python -m bench.compaction --log SESSION --write bench/RESULTS.md

Nothing is timed: every figure is a count.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ullage_simulators import running
from ullage_simulators.drawn import Drawn
from ullage_simulators.models import Model
from ullage_simulators.scenario import Scenario, read
from ullage_simulators.server import Exchange
from ullage_simulators.tokenizer import tokens

from bench.environments import (
    HARNESS_COMPACTION,
    LANGCHAIN_COMPACTION,
    OUT,
    ClientFailed,
    NotInstalled,
    Peer,
    measured_by,
)
from bench.invented import Writer as Author
from bench.long_sessions import LongSession, invented, recorded
from bench.results import Section, Table, write_tables

TURNS = 300
WINDOW = 32_000
LOG_WINDOW = 48_000
TRIGGER = 0.8
SEED = 4
SEEDS = (4, 5, 6, 7)
"""Of the invented sessions: where the last compaction falls is luck, and four even it out."""
NEAR = 0.02
"""A trigger this share of the threshold below it by the true count is taken to be at it."""
BLOCK = 128
"""Tokens in which this wire caches: less than one block is no loss."""
MODEL = "gpt-4.1"
TELLING = 20
"""Characters of a message that stand nowhere else by chance."""
SUMMARISES = (
    "Write down what is needed to go on",
    "Messages to summarize:",
    "Write the summary under these exact",
)
"""How a request for a summary is known: ours, langchain's, the harness'."""
ENDS = "This result is too long to show whole"
"""Stands between the ends of a result that ours has cut; the others cut none."""
HERE = Path(__file__).parent
KINDS = {"invented": "Invented sessions", "recorded": "Recorded session"}
"""How the titles of the tables begin."""


@dataclass(frozen=True, slots=True)
class Client:
    """One way to compact. ``peer`` is ``None`` for ours."""

    name: str
    peer: Peer | None
    script: str
    arguments: tuple[str, ...] = ()


CLIENTS = (
    Client("ullage", None, "compaction_ullage.py"),
    Client(
        "pydantic-ai-harness, tiered",
        HARNESS_COMPACTION,
        "compaction_harness.py",
        ("tiered",),
    ),
    Client(
        "pydantic-ai-harness, summary",
        HARNESS_COMPACTION,
        "compaction_harness.py",
        ("summary",),
    ),
    Client("langchain", LANGCHAIN_COMPACTION, "compaction_langchain.py"),
)


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What one client did, from the simulator's side. Tokens are true ones.

    ``lost``: what stood in the request before and in this one, and was not read from the cache. ``early`` and ``late``
    are wrong triggers: fired below the threshold, and a request sent above it. ``unseen`` are turns whose words left
    the view without having been in any request for a summary, ``shortened`` results cut to their ends. ``counted`` is
    what the client says that all its calls took, ``billed`` what they did.
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
    shortened: int = 0
    summary_billed: int = 0
    billed: int = 0
    counted: int = 0
    problems: tuple[str, ...] = ()

    def add(self, other: Outcome) -> None:
        """And what another session came to."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


def plan(session: LongSession, window: int) -> dict[str, Any]:
    """What the clients are told: what to say, and what their tool gives."""
    said = {"turns": session.turns, "results": session.results, "system": session.system}
    return {**said, "window": window, "trigger": TRIGGER}


def scenario(session: LongSession, window: int) -> Scenario:
    """What the model says: a summary when asked for one, otherwise the session's answers in their order."""
    summary = "## Goal\nLook after the valves.\n## State\n" + Author(SEED).prose(900)
    asked = [{"when": {"contains": marker}, "text": summary} for marker in SUMMARISES]
    return read(
        {
            "models": [{"name": MODEL, "like": MODEL, "window": window}],
            "answers": [*asked, *session.answers],
        }
    )


def run(
    client: Client, session: LongSession, window: int
) -> tuple[Outcome, dict[str, str]]:
    """Drive one client through the session. Raises ``ClientFailed``, ``NotInstalled``."""
    told = OUT / "compaction.json"
    told.parent.mkdir(exist_ok=True)
    told.write_text(json.dumps(plan(session, window)))
    played = scenario(session, window)
    with running(played, seed=SEED, wires=["openai"]) as server:
        arguments = (server.url("openai"), str(told), *client.arguments)
        found = measured_by(client.peer, client.script, *arguments)
        exchanges = [each for each in server.exchanges if each.number]
        model = next(each for each in played.models if each.name == MODEL)
        outcome = judged(exchanges, server.truth().drawn[MODEL], model)
    outcome.unseen = unseen(exchanges, session.turns)
    outcome.shortened = shortened(exchanges)
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
    """How many of the user's messages are in no request for a summary, and not in the last request either.

    Those too short to be told from other words are not looked for.
    """
    kept = [each for each in exchanges if each.bill is not None and is_summary(each)]
    kept += [
        each for each in exchanges if each.bill is not None and not is_summary(each)
    ][-1:]
    texts = "\n".join(text for each in kept for text in _texts(each.body["messages"]))
    return sum(said not in texts for said in turns if len(said) >= TELLING)


def shortened(exchanges: Sequence[Exchange]) -> int:
    """How many tool results the model was given only by their ends."""
    said = (
        message
        for each in exchanges
        for message in each.body["messages"]
        if message["role"] == "tool"
    )
    return len(
        {
            message["tool_call_id"]
            for message in said
            if ENDS in json.dumps(message["content"])
        }
    )


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
        text = (
            content
            if isinstance(content, str)
            else "".join(part.get("text", "") for part in content)
        )
        size += round(drawn.factor * tokens(text)) + drawn.message
    return size


def section(
    name: str, sessions: Sequence[LongSession], window: int, title: str, about: str
) -> Section:
    """Drive all clients through the sessions, one after the other. The figures are the sums."""
    found: dict[str, Outcome] = {}
    versions: dict[str, str] = {}
    notes: list[str] = []
    for client in CLIENTS:
        found[client.name] = Outcome()
        for number, session in enumerate(sessions, 1):
            print(
                f"{name} {number}/{len(sessions)}: {client.name} …",
                file=sys.stderr,
                flush=True,
            )
            try:
                outcome, seen = run(client, session, window)
            except (ClientFailed, NotInstalled) as why:
                notes.append(f"{client.name} failed: {why}")
                del found[client.name]
                break
            found[client.name].add(outcome)
            versions |= seen
            notes += [
                f"{client.name}, a turn that failed: {problem}"
                for problem in outcome.problems[:3]
            ]
    versions_said = ", ".join(f"{k} {v}" for k, v in sorted(versions.items()))
    sent, fired = _tables(found, KINDS[name])
    return Section(
        name=name,
        title=title,
        command="uv run python -m bench.compaction"
        + (" --log SESSION" if name == "recorded" else ""),
        about=f"{about} All compact at 80 % of the window ({TRIGGER * window:,.0f} tokens). Versions: {versions_said}.",
        ratios=sent,
        figures=(fired,),
        notes=tuple(notes),
    )


def _tables(found: dict[str, Outcome], kind: str) -> tuple[Table, Table]:
    sent = Table(
        f"{kind}: what was sent",
        (
            "",
            "model calls",
            "tokens sent",
            "not from the cache",
            "lost from the cache",
            "refused",
            "turns that failed",
        ),
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
        f"{kind}: when it fired, and what it cost",
        (
            "",
            "compactions",
            "fired below",
            "sent above",
            "summary calls",
            "their tokens",
            "turns lost unseen",
            "results cut",
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
                f"{one.shortened:,}",
                f"{one.billed:,}",
                f"{one.counted:,}",
            )
            for name, one in found.items()
        ),
    )
    return sent, fired


INVENTED = """The sessions are invented: a person has logs read, two to four model calls a turn, with results as long \
as recorded ones. The figures are sums over all of them, as it is luck where a session's last compaction falls."""

RECORDED = """The session is a log's, word for word: what the person said, what the model answered and called, what \
the tools gave. Reasoning, images and the log's own compactions are left out; its system prompt, which logs don't \
hold, is invented. Each call goes to the one tool there is, with the recorded name and arguments. Turns are looked for \
word for word: one that is cut to its ends because it alone fills the window counts as lost."""


def main() -> None:
    """Print the tables, and with --write put them into the page."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--write", type=Path, metavar="PAGE", help="also put them into this Markdown page"
    )
    options.add_argument(
        "--turns",
        type=int,
        default=TURNS,
        help=f"how long the invented session is (default {TURNS})",
    )
    options.add_argument(
        "--log",
        type=Path,
        metavar="SESSION",
        help="a recorded session as well, of any program",
    )
    options.add_argument(
        "--log-window",
        type=int,
        default=LOG_WINDOW,
        metavar="N",
        help=f"its window in tokens (default {LOG_WINDOW:,})",
    )
    chosen = options.parse_args()
    title = f"{len(SEEDS)} times {chosen.turns} invented turns on a window of {WINDOW:,} tokens"
    made = [invented(chosen.turns, seed) for seed in SEEDS]
    done = [section("invented", made, WINDOW, title, INVENTED)]
    if chosen.log:
        session = recorded(chosen.log)
        title = f"A recorded session of {len(session.answers)} model calls on a window of {chosen.log_window:,} tokens"
        done.append(
            section(
                "recorded",
                [session],
                chosen.log_window,
                title,
                f"{RECORDED} Log: {chosen.log.name}.",
            )
        )
    for each in done:
        print(each.text())
    if chosen.write:
        tables = [table for each in done for table in (each.ratios, *each.figures)]
        write_tables(chosen.write, tables)


if __name__ == "__main__":
    main()
