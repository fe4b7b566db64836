"""A model without a key: a strict simulator of a provider in this process, for trying things out.

Everything a simulated session touches is apart from the user's own: the store, what is learnt of models, the files that
the tools see, and the addresses of all providers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.context.prompt import TASK
from ullage.directories import data_directory
from ullage.display.text import counted
from ullage.errors import SettingError
from ullage.models.providers import canonical, known_providers
from ullage.store.private_file import private_directory
from ullage.turns.closing import CUT_BY_CRASH
from ullage_agent.cli.demo_script import log_of

if TYPE_CHECKING:
    from ullage_simulators.answer import ScriptedAnswer
    from ullage_simulators.prompt import ScriptContext
    from ullage_simulators.scenario import Scenario

MODEL: Final = "anthropic:claude-simulated"
WINDOW: Final = 12_000
"""Tokens of the window: small enough that a few exchanges fill it and compact it."""

PLACE: Final = "simulated"
"""The directory below the user's data that holds the simulated sessions and their files."""

PAUSE_S: Final = 0.02
"""Seconds before each piece of an answer, so that a person can watch it being written."""

_SETTINGS: Final = {
    "ULLAGE_MAX_OUTPUT": "2000",
    "ULLAGE_RESULT_TOKENS": "2500",
    "ULLAGE_THINKING_BUDGET": "1024",
}
"""What fits so small a window. Launch options win over these."""

_REPLACED: Final = frozenset(
    {"ULLAGE_API_KEY", "ULLAGE_BASE_URL", "ULLAGE_WIRE", "ULLAGE_SUMMARY_MODEL"}
)
"""Settings in the environment that would lead to a real provider."""


class Simulated(NamedTuple):
    """The model to begin with, and the variables that lead every provider to the simulators."""

    model: str
    environment: Mapping[str, str]

    def within(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment in which no real provider and nothing of the user's data can be reached."""
        own = {
            name
            for provider in known_providers()
            for name in (*provider.key_env, *provider.url_env)
        }
        kept = {
            name: value
            for name, value in environment.items()
            if name not in own | _REPLACED
        }
        return {**kept, **self.environment}


@contextmanager
def simulated(
    scenario_file: str = "",
    *,
    root: str | None = None,
    base_url: str = "",
    pause_s: float = PAUSE_S,
    place: Path | None = None,
) -> Iterator[Simulated]:
    """Serve the simulator as long as the block lasts.

    ``root`` is the directory of the tools where the command line names one. Without it and without a scenario they see
    a few invented files, which the model reads. ``pause_s`` is the time before each piece of an answer, where no
    scenario sets it. ``place`` is for the sessions and the invented files, by default below the user's data.
    Raises ``SettingError`` for a bad scenario or a real address.
    """
    if base_url:
        raise SettingError(
            "--base-url is the address of a real provider: leave it out, or leave out --simulate."
        )
    from ullage_simulators import running

    place = place or data_directory() / PLACE
    files, names = Path(root or ".").expanduser(), list[str]()
    if not (root or scenario_file):
        files = place / "cellar"
        names = prepare_files(files)
    scenario, model = _scenario(scenario_file, names, pause_s)
    with running(scenario) as server:
        variables = {
            "ULLAGE_DATA": str(place),
            "ULLAGE_MODEL": model,
            "ULLAGE_WINDOW": str(scenario.models[0].window),
            "ULLAGE_ROOT": str(files.resolve()),
            **_SETTINGS,
        }
        for provider in known_providers():
            doubles = [
                name for name in (provider.name, *provider.aliases) if name in server.urls
            ]
            address = server.url(doubles[0] if doubles else "openai")
            variables |= dict.fromkeys(provider.key_env[:1], "no-key-is-needed")
            variables |= dict.fromkeys(provider.url_env, address)
        yield Simulated(model, variables)


def _scenario(file: str, files: Sequence[str], pause_s: float) -> tuple[Scenario, str]:
    """The script, and the model to talk to: the first of the script's own models, else the small one."""
    from dataclasses import replace

    from ullage_simulators import SimulatorError, load
    from ullage_simulators.models import MODELS
    from ullage_simulators.scenario import read

    if file:
        try:
            scenario = load(file)
        except SimulatorError as problem:
            raise SettingError(str(problem)) from problem
    else:
        scenario = read({"server": {"delay_s": pause_s}})
        scenario = replace(scenario, assistant=assistant(files))
    first = scenario.models[0]
    if first not in MODELS:
        return scenario, f"{canonical(first.family)}:{first.name}"
    base = next(model for model in MODELS if model.name == "claude-opus-4-6")
    small = replace(base, name=MODEL.partition(":")[2], window=WINDOW, max_output=2_000)
    return replace(scenario, models=(small, *scenario.models)), MODEL


# -- the assistant, and the files of an invented wine cellar --

WEEKS: Final = 8
WELCOME: Final = """This is a **simulated model**: it costs nothing, and what it knows is invented. Its window is \
small, so that a few messages fill it.

- Whatever you say, it looks something up for you. Name a tool, as in `list the files`, and that one is called.
- Write while it works: *Enter* goes in before the next call, *Tab* when the turn is over.
- `/context` in the terminal, or the right column of the page, shows what fills the window."""

APPROVAL_HINT: Final = "\n- `write a note` shows how a call waits for your approval."
"""The line of the welcome for a model that has the tool `write`."""

NOTES: Final = """# The cellar

Six casks, weighed and measured every day. One kilogram a week is the usual loss; the air that takes its place is the
ullage. Ada, Noor and Emil keep the logs, one file for each week, and top up on Mondays.

- Cask 7 stands at the east wall, where the sun comes in.
- Cask 11 was mended in spring.
- The pump is old: note every day on which it fails.
"""


def prepare_files(place: Path) -> list[str]:
    """The names of the cellar's files, which are written where they are missing. Raises ``OSError``."""
    private_directory(place)
    files = {
        "notes.md": NOTES,
        **{f"week-{week}.log": _log(week) for week in range(1, WEEKS + 1)},
    }
    for name, text in files.items():
        file = place / name
        if not file.exists():
            file.write_text(text, encoding="utf-8")
    return sorted(files)


def _log(week: int) -> str:
    days = range(7 * week - 6, 7 * week + 1)
    return "\n".join(map(log_of, days)) + "\n"


def assistant(files: Sequence[str]) -> Callable[[ScriptContext], ScriptedAnswer]:
    """The assistant for a directory in which these files lie."""

    def answer(ask: ScriptContext) -> ScriptedAnswer:
        from ullage_simulators.answer import ScriptedAnswer

        if TASK.partition("{")[0].strip() in ask.text:
            return ScriptedAnswer(
                reasoning="What the person wants, what was found, what comes next.",
                text=_summary(files),
            )
        if ask.results:
            found = "\n\n".join(_remark(name, text) for name, text in ask.results)
            return ScriptedAnswer(reasoning="The results are here.", text=found)
        names = [tool.name for tool in ask.tools]
        if named := [
            name
            for name in names
            if re.search(rf"\b{re.escape(name)}\b", ask.text, re.IGNORECASE)
        ]:
            return _using(ask, named, files)
        said = f"You said: {ask.text[:2_000].strip() or '(nothing)'}"
        if CUT_BY_CRASH in ask.text:
            said = "My answer was broken off, so I begin it again."
        hint = APPROVAL_HINT if "write" in names else ""
        opening = f"{WELCOME}{hint}\n\n{said}" if ask.step == 1 else said
        if "read" not in names or not files:
            return ScriptedAnswer(
                reasoning="There is nothing to look up for this.", text=opening
            )
        return _looking(ask.step, opening, files)

    return answer


def _using(
    ask: ScriptContext, named: Sequence[str], files: Sequence[str]
) -> ScriptedAnswer:
    """Calls each tool that the person names, with arguments that work where it is a built-in one."""
    from ullage_simulators.answer import Call, ScriptedAnswer, default_answer

    arguments = {
        "list": {"path": "."},
        "read": {"path": files[ask.step // 2 % len(files)] if files else "notes.md"},
        "search": {"pattern": "failed"},
        "write": {"path": "answer.txt", "content": ask.text},
        "edit": {"path": "notes.md", "old": "pump is old", "new": "pump is very old"},
        "shell": {"command": "ls -l"},
    }
    if not set(named) <= set(arguments):
        return default_answer(ask)
    calls = tuple(Call(name, json.dumps(arguments[name])) for name in named)
    return ScriptedAnswer(reasoning=f"This needs {', '.join(named)}.", calls=calls)


def _looking(step: int, opening: str, files: Sequence[str]) -> ScriptedAnswer:
    from ullage_simulators.answer import Call, ScriptedAnswer

    file = files[step // 2 % len(files)]
    return ScriptedAnswer(
        reasoning=f"The person wants an answer that rests on something. {file} may hold it: read it first.",
        text=f"{opening}\n\nI look into `{file}` for that.",
        calls=(Call("read", json.dumps({"path": file})),),
    )


def _remark(name: str, text: str) -> str:
    """How long a result is, and how it begins."""
    lines = text.strip().splitlines()
    first = lines[0][:160] if lines else "(nothing)"
    return f"`{name or 'the tool'}` gave {counted(len(lines), 'line')}, beginning with `{first}`."


def _summary(files: Sequence[str]) -> str:
    return (
        "## Goal\nThe person is trying out Ullage with a simulated model and asks about the files here.\n"
        f"## State\nSome of the {len(files)} files were read and their figures reported.\n"
        f"## Files\n{', '.join(files[:12]) or 'None were named.'}\n"
        "## Next\nAnswer the newest message; read the next file if it helps."
    )
