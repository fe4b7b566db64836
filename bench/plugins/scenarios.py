"""The scenarios: what the person does, step by step, and what the simulated model answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from bench.invented import Writer as Author
from bench.long_sessions import LongSession, invented
from bench.plugins.frameworks import Framework
from ullage_simulators.scenario import Scenario, read

TRIGGER = 0.8
SHORT = {9_000: 30, 24_000: 50}
LONG = {9_000: 60, 24_000: 100}
"""Turns of a session by its window in tokens: some compactions fall into each."""
WINDOWS = tuple(LONG)
SEEDS = (4, 5, 6, 7)
ASKED_FOR_SUMMARY = ("Write down what is needed to go on",)
"""How our own requests for a summary are known, whoever sends them."""
PIECES = 2
"""Of an answer: a cancelled stream is left after so many."""


@dataclass(slots=True)
class Step:
    """One thing that the person does: says something, most often.

    ``stop_after``: a stream that is left after so many pieces; 0 reads it whole. ``lost_call``: the id of a tool call
    that never got its result: ``said`` and the call are put into the history, and the model is not called.
    """

    said: str
    model: str
    streams: bool = False
    stop_after: int = 0
    lost_call: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether a client that loses nothing still has its words in a later request."""
        return not self.stop_after


@dataclass(slots=True)
class Played:
    """A session as it is played: ``parts`` are run one after the other, each in a process of its own."""

    session: LongSession
    window: int
    parts: list[list[Step]]

    @property
    def steps(self) -> list[Step]:
        return [step for part in self.parts for step in part]

    def plan(self, part: int, folder: str) -> dict[str, Any]:
        """What a script is told. ``folder`` outlives the parts."""
        steps = [asdict(step) for step in self.parts[part]]
        return {
            "system": self.session.system,
            "results": self.session.results,
            "window": self.window,
            "trigger": TRIGGER,
            "steps": steps,
            "folder": folder,
        }


@dataclass(frozen=True, slots=True)
class PluginScenario:
    """``change`` is given the steps of a session, and changes them in place or gives them in parts."""

    name: str
    turns: dict[int, int]
    change: Callable[[list[Step], Framework], list[list[Step]]]

    def played(self, framework: Framework, window: int, seed: int) -> Played:
        """The session of one run; the same for the same window and seed."""
        session = invented(self.turns[window], seed)
        steps = [Step(said, framework.models[0]) for said in session.turns]
        return Played(session, window, self.change(steps, framework))


def _long(steps: list[Step], framework: Framework) -> list[list[Step]]:
    return [steps]


def _restart(steps: list[Step], framework: Framework) -> list[list[Step]]:
    half = len(steps) // 2
    return [steps[:half], steps[half:]]


def _stream(steps: list[Step], framework: Framework) -> list[list[Step]]:
    for step in steps:
        step.streams = True
    return [steps]


def _cancel(steps: list[Step], framework: Framework) -> list[list[Step]]:
    """Every tenth turn is followed by one that is cancelled."""
    made: list[Step] = []
    for number, step in enumerate(steps, 1):
        step.streams = True
        made.append(step)
        if number % 10 == 0:
            said = f"Tell me at length about valve {number}."
            model = framework.models[0]
            made.append(Step(said, model, streams=True, stop_after=PIECES))
    return [made]


def _lost_call(steps: list[Step], framework: Framework) -> list[list[Step]]:
    """Every tenth turn but the last is followed by one that ended while its tool ran."""
    made: list[Step] = []
    for number, step in enumerate(steps, 1):
        made.append(step)
        if number % 10 == 0 and number < len(steps):
            said = f"Open valve {number}, which takes hours."
            model = framework.models[0]
            made.append(Step(said, model, lost_call=f"call_lost{number:04}"))
    return [made]


def _model(steps: list[Step], framework: Framework) -> list[list[Step]]:
    """Another model from the middle on, and back for the last tenth."""
    first, second = len(steps) // 2, len(steps) * 9 // 10
    for step in steps[first:second]:
        step.model = framework.models[1]
    return [steps]


SCENARIOS = (
    PluginScenario("long session", LONG, _long),
    PluginScenario("restart", SHORT, _restart),
    PluginScenario("streaming", SHORT, _stream),
    PluginScenario("cancelled stream", SHORT, _cancel),
    PluginScenario("lost tool call", SHORT, _lost_call),
    PluginScenario("model change", SHORT, _model),
)


def _mixed(steps: list[Step], framework: Framework) -> list[list[Step]]:
    """A bit of everything, for a quick run."""
    _model(steps, framework)
    (made,) = _cancel(steps, framework)
    return _restart(made, framework)


MIXED = PluginScenario("mixed", SHORT, _mixed)
"""A cancelled stream, a restart and a model change in one session: what --quick plays."""


def markers_of(framework: Framework) -> tuple[str, ...]:
    """How a request for a summary is known: ours, and the framework's own."""
    return (*ASKED_FOR_SUMMARY, *framework.summaries)


def script(played: Played, framework: Framework) -> Scenario:
    """What the model says: a summary when asked for one, otherwise the session's answers in their order."""
    author = Author(4)
    summary = "## Goal\nLook after the valves.\n## State\n" + author.prose(900)
    answers: list[dict[str, Any]] = []
    for marker in markers_of(framework):
        answers.append({"when": {"contains": marker}, "text": summary})
    for step in _cancelled(played.steps):
        when = {"contains": step.said, "after": "user"}
        answers.append({"when": when, "text": author.prose(6_000), "times": 1})
    models = []
    for name in framework.models:
        models.append({"name": name, "like": framework.like, "window": played.window})
    return read({"models": models, "answers": [*answers, *played.session.answers]})


def _cancelled(steps: Iterable[Step]) -> list[Step]:
    return [step for step in steps if step.stop_after]
