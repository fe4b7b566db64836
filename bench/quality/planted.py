"""Planted facts: 30 of them over 120 turns, then a question for each, to a model that answers only from its window.

Ten are said by the user, ten stand in tool results, ten are concluded by the model itself. The summaries are written by
the same model, which leaves out each fact that it sees with a chance of ``forgets``, drawn anew at each summary. It
never makes anything up.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from bench.environments import (
    HARNESS_COMPACTION,
    Peer,
    measured_by,
)
from bench.plugins.frameworks import Framework
from bench.plugins.outcome import is_summary
from bench.plugins.scenarios import TRIGGER, markers_of
from ullage_simulators import running
from ullage_simulators.answer import Call, ScriptedAnswer
from ullage_simulators.models import MODELS
from ullage_simulators.prompt import ScriptContext
from ullage_simulators.scenario import Scenario
from ullage_simulators.server import Exchange

Kind = Literal["digits", "words"]
Speaker = Literal["user", "tool", "model"]

TURNS: Final = 120
PLANTED: Final = range(2, 100)
"""The turns in which a fact may stand."""
EACH: Final = 10
"""Facts of each speaker."""
SPEAKERS: Final[tuple[Speaker, ...]] = ("user", "tool", "model")
RECALL: Final = "recall"
RECALLS: Final = 2
"""The model asks for a missing fact so often, where it is given a tool to do so."""
MODEL: Final = "gpt-4.1"
LANGCHAIN: Final = Peer("langchain", "langchain[openai]==1.5.2")
COMPARED: Final = Framework(
    "Agents",
    (),
    summaries=("Messages to summarize:", "Write the summary under these exact"),
)
NOISE: Final = "pressure valve cask cellar reading sensor humidity oak north south level drift gauge seal pump".split()  # noqa: SIM905
HOW: Final = "copper quiet second winter paper open green slow heavy long".split()  # noqa: SIM905
WHAT: Final = "lantern harbour bridge coat boat window door train rain table".split()  # noqa: SIM905
"""Two of these are a value of ordinary words; the other half is made up."""
SUBJECTS: Final[Mapping[Speaker, Sequence[str]]] = {
    "user": (
        "the gate code of cellar {}",
        "the label of barrel {}",
        "the contact for vineyard {}",
    ),
    "tool": (
        "calibration of gauge {}",
        "owner of pump {}",
        "seal of tank {}",
    ),
    "model": (
        "the cause of alarm {}",
        "the drift of sensor {}",
        "the source of leak {}",
    ),
}
SAID: Final = (
    "Note for later: {} is {}.",
    "By the way, {} is {}.",
    "You will need this: {} is {}.",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """``value`` is what is asked for; it is known where it stands in one line with its subject."""

    subject: str
    value: str
    speaker: Speaker
    turn: int

    def stands_in(self, text: str) -> bool:
        """Whether a line of the text says it."""
        if self.value not in text:
            return False
        said = re.compile(rf"{re.escape(self.subject)}\b", re.IGNORECASE)
        return any(self.value in line and said.search(line) for line in text.splitlines())


@dataclass(slots=True)
class PlantedSession:
    """What the person says in ``turns``, what the tool gives at each of them, and the questions at the end."""

    facts: list[Fact]
    turns: list[str]
    results: list[str]

    @property
    def questions(self) -> list[str]:
        return [
            f"Question {number}: what is {fact.subject}?"
            for number, fact in enumerate(self.facts)
        ]


def planted(kind: Kind, seed: int, turns: int = TURNS) -> PlantedSession:
    """The session of a seed. Fewer ``turns`` hold the same facts closer together."""
    chosen = random.Random(f"{kind} {seed}")
    places = chosen.sample(range(2, turns * PLANTED.stop // TURNS), EACH * len(SPEAKERS))
    pairs = chosen.sample([(how, what) for how in HOW for what in WHAT], 15)
    facts: list[Fact] = []
    for number, turn in enumerate(places):
        speaker = SPEAKERS[number // EACH]
        subject = SUBJECTS[speaker][number % 3].format(number + 11)
        if kind == "digits":
            value = str(chosen.randrange(10_000, 99_999))
        elif number % 2:
            value = " ".join(pairs[number // 2])
        else:
            value = "".join(
                chosen.choice("bdfgklmnprst") + chosen.choice("aeiou") for _ in range(4)
            )
        facts.append(Fact(subject, value, speaker, turn))
    said, results = [], []
    at = {fact.turn: fact for fact in facts}
    for turn in range(turns):
        fact = at.get(turn)
        words = " ".join(chosen.choice(NOISE) for _ in range(30))
        text = (
            f"Task {turn}: read the log of day {turn} and tell me what you find. {words}."
        )
        lines = [_line(chosen, minute) for minute in range(36)]
        if fact is not None and fact.speaker == "user":
            text += " " + SAID[turn % len(SAID)].format(fact.subject, fact.value)
        if fact is not None and fact.speaker == "tool":
            lines.insert(18, f"{fact.subject}: {fact.value}")
        said.append(text)
        results.append("\n".join([f"[log {turn}]", *lines]))
    return PlantedSession(facts, said, results)


def _line(chosen: random.Random, minute: int) -> str:
    words = " ".join(chosen.choice(NOISE) for _ in range(8))
    return f"{minute // 6:02}:{minute % 6}0 {words} {chosen.random():.3f}"


@dataclass(slots=True)
class ForgetfulModel:
    """Answers a request of the session from what the request holds; ``answered`` and ``in_view`` are kept by fact.

    ``in_view``: without having asked ``recall``.
    """

    session: PlantedSession
    forgets: float
    seed: int
    summaries: int = 0
    recalls: int = 0
    answered: set[int] = field(default_factory=set)
    in_view: set[int] = field(default_factory=set)
    asked: dict[int, int] = field(default_factory=dict)
    recalled: set[str] = field(default_factory=set)
    question: int = 0
    """The newest one, which stays open while the model recalls."""

    def __call__(self, ask: ScriptContext) -> ScriptedAnswer:
        for name, text in ask.results:
            if name == RECALL:
                self.recalled.add(text)
        heard = "\n".join([ask.text, *(text for _, text in ask.results)])
        if any(marker in heard for marker in markers_of(COMPARED)):
            return self.summary(ask)
        question = re.search(r"^Question (\d+): ", ask.text, re.MULTILINE)
        if question:
            self.question = int(question.group(1))
        if question or any(name == RECALL for name, _ in ask.results):
            return self.answer(ask, self.question)
        log = re.search(r"^\[log (\d+)\]", heard, re.MULTILINE)
        if ask.results:
            return self.found(int(log.group(1)) if log else -1)
        task = re.search(r"^Task (\d+): ", ask.text, re.MULTILINE)
        if task is None:
            return self.summary(ask)
        turn = int(task.group(1))
        call = {"number": turn, "call": f"read the log of day {turn}"}
        return ScriptedAnswer(calls=(Call("use", json.dumps(call)),))

    def found(self, turn: int) -> ScriptedAnswer:
        """What the model says about a log; at some it concludes a fact that stands in none."""
        text = f"Day {turn} is read. "
        for fact in self.session.facts:
            if fact.turn == turn and fact.speaker == "model":
                text += (
                    f"From the checksums I conclude that {fact.subject} is {fact.value}. "
                )
        usual = "I compared the readings with those of the day before, and nothing stands out in them. "
        return ScriptedAnswer(text=text + usual * 3)

    def answer(self, ask: ScriptContext, number: int) -> ScriptedAnswer:
        """The fact if the window has it; else a recall, where that is to be had, or that it is not known."""
        fact = self.session.facts[number]
        seen = [piece.text for piece in ask.pieces]
        if any(fact.stands_in(text) for text in seen if text not in self.recalled):
            self.in_view.add(number)
        if any(fact.stands_in(text) for text in seen):
            self.answered.add(number)
            return ScriptedAnswer(text=f"It is {fact.value}.")
        has_tool = any(tool.name == RECALL for tool in ask.tools)
        tried = self.asked.get(number, 0)
        if has_tool and tried < RECALLS:
            self.asked[number] = tried + 1
            self.recalls += 1
            words = fact.subject.removeprefix("the ")
            query = words if tried == 0 else " ".join(words.split()[-2:])
            return ScriptedAnswer(calls=(Call(RECALL, json.dumps({"query": query})),))
        return ScriptedAnswer(text="I don't know.")

    def summary(self, ask: ScriptContext) -> ScriptedAnswer:
        """What is needed to go on, with the facts that the request holds and this summary doesn't forget."""
        self.summaries += 1
        whole = "\n".join(piece.text for piece in ask.pieces)
        lines = [
            "## Goal",
            "The user checks the logs of a cellar day by day.",
            "## State",
        ]
        for number, fact in enumerate(self.session.facts):
            if fact.stands_in(whole) and self.drawn(number) >= self.forgets:
                lines.append(f"- {fact.subject}: {fact.value}")
        lines += [
            "The logs up to now were read, nothing stood out.",
            "## Next",
            "Go on with the next task.",
        ]
        return ScriptedAnswer(text="\n".join(lines))

    def drawn(self, number: int) -> float:
        name = f"{self.seed} {number} {self.summaries}".encode()
        return int.from_bytes(hashlib.sha256(name).digest()[:4]) / 2**32


@dataclass(frozen=True, slots=True)
class PlantedClient:
    """One way to compact, as a script of ``bench/peers``."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()
    peer: Peer | None = None


OURS: Final = (
    PlantedClient("ullage, Agent", "plugin_ullage.py"),
    PlantedClient("ullage, Compactor", "plugin_plain.py", ("chat",)),
)
OTHERS: Final = (
    PlantedClient("langchain 1.5.2", "plugin_langchain.py", ("own",), LANGCHAIN),
    PlantedClient(
        "langchain 1.5.2, all shown", "plugin_langchain.py", ("whole",), LANGCHAIN
    ),
    PlantedClient(
        "pydantic-ai-harness 0.62.0, summary",
        "plugin_pydantic_ai.py",
        ("summary",),
        HARNESS_COMPACTION,
    ),
    PlantedClient(
        "pydantic-ai-harness 0.62.0, tiered",
        "plugin_pydantic_ai.py",
        ("tiered",),
        HARNESS_COMPACTION,
    ),
    PlantedClient("oldest turns cut off", "plugin_truncated.py"),
)


@dataclass(frozen=True, slots=True)
class PlantedOutcome:
    """What is left of the facts of one run, and what it took. Tokens are the simulator's."""

    in_view: int
    answered: int
    user: int
    calls: int
    summaries: int
    recalls: int
    refused: int
    failed_turns: int
    sent: int
    uncached: int


def run_planted(
    client: PlantedClient,
    *,
    kind: Kind,
    window: int,
    forgets: float,
    seed: int,
    path: Sequence[Path] = (),
    turns: int = TURNS,
) -> PlantedOutcome:
    """Drive a client through the session. ``path``: where Python finds another version of ours.

    Raises ``ClientFailed`` and ``NotInstalled``.
    """
    session = planted(kind, seed, turns)
    model = ForgetfulModel(session, forgets, seed)
    like = next(each for each in MODELS if each.name == MODEL)
    scenario = Scenario(models=(replace(like, window=window),), assistant=model)
    with (
        running(scenario, seed=seed, wires=["openai"]) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        told = Path(folder) / "plan.json"
        told.write_text(json.dumps(plan_of(session, window, folder)))
        arguments = (server.url("openai"), str(told), *client.arguments)
        found = measured_by(client.peer, client.script, *arguments, path=path)
        exchanges = [each for each in server.exchanges if each.number]
    for problem in found["problems"]:
        print(f"{client.name}: {problem}", file=sys.stderr)
    return outcome(model, exchanges, len(found["problems"]))


def plan_of(session: PlantedSession, window: int, folder: str) -> dict[str, Any]:
    """What a script of ``bench/peers`` is told."""
    said = [*session.turns, *session.questions]
    return {
        "system": "You check a cellar's logs. " * 5,
        "results": session.results,
        "window": window,
        "trigger": TRIGGER,
        "steps": [{"said": each, "model": MODEL} for each in said],
        "folder": folder,
    }


def outcome(
    model: ForgetfulModel, exchanges: Iterable[Exchange], failed: int
) -> PlantedOutcome:
    """What one run comes to."""
    calls = summaries = refused = sent = uncached = 0
    for each in exchanges:
        calls += 1
        if each.bill is None:
            refused += 1
            continue
        sent += each.bill.input
        uncached += each.bill.input - each.bill.cache_read
        summaries += is_summary(each, markers_of(COMPARED))
    facts = model.session.facts
    return PlantedOutcome(
        in_view=len(model.in_view),
        answered=len(model.answered),
        user=sum(facts[number].speaker == "user" for number in model.in_view),
        calls=calls,
        summaries=summaries,
        recalls=model.recalls,
        refused=refused,
        failed_turns=failed,
        sent=sent,
        uncached=uncached,
    )
