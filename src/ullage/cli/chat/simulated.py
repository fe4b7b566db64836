"""A model without a key: a strict simulator of a provider in this process, for trying things out.

Everything a simulated session touches is apart from the user's own: the store, what is learnt of models, the files that
the tools see, and the addresses of all providers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.cli.chat.cellar import assistant, prepare_files, readable_files
from ullage.directories import data_directory
from ullage.errors import SettingError
from ullage.models.providers import TABLE, canonical

if TYPE_CHECKING:
    from ullage_simulators.scenario import Scenario

MODEL: Final = "anthropic:claude-simulated"
WINDOW: Final = 12_000
"""Tokens of the window: small enough that a few exchanges fill it and compact it."""

PLACE: Final = "simulated"
"""The directory below the user's data that holds the simulated sessions and their files."""

PAUSE_S: Final = 0.02
"""Seconds before each piece of an answer, so that one can watch it being written."""

_SETTINGS: Final = {
    "ULLAGE_MAX_OUTPUT": "2000",
    "ULLAGE_RESULT_TOKENS": "2500",
    "ULLAGE_THINKING_BUDGET": "1024",
}
"""What fits so small a window. Launch options win over these."""

_REPLACED: Final = frozenset({"ULLAGE_API_KEY", "ULLAGE_BASE_URL", "ULLAGE_WIRE", "ULLAGE_SUMMARY_MODEL"})
"""Settings in the environment that would lead to a real provider."""


class Simulated(NamedTuple):
    """The model to begin with, and the variables that lead every provider to the simulators."""

    model: str
    environment: Mapping[str, str]

    def within(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment in which no real provider and nothing of the user's data can be reached."""
        own = {name for provider in TABLE for name in (*provider.key_env, *provider.url_env)}
        kept = {name: value for name, value in environment.items() if name not in own | _REPLACED}
        return {**kept, **self.environment}


@contextmanager
def simulated(scenario_file: str = "", *, root: str | None = None, base_url: str = "") -> Iterator[Simulated]:
    """Serve the simulator as long as the block lasts.

    ``root`` is the directory of the tools where the command line names one. Without it and without a scenario they see
    a few invented files.
    Raises ``SettingError`` for a bad scenario or a real address.
    """
    if base_url:
        raise SettingError("--base-url is the address of a real provider: leave it out, or leave out --simulate.")
    from ullage_simulators import running

    place = data_directory(os.environ) / PLACE
    files = Path(root or ".").expanduser() if root or scenario_file else prepare_files(place / "cellar")
    scenario, model = _scenario(scenario_file, files)
    with running(scenario) as server:
        variables = {
            "ULLAGE_DATA": str(place),
            "ULLAGE_MODEL": model,
            "ULLAGE_WINDOW": str(scenario.models[0].window),
            "ULLAGE_ROOT": str(files.resolve()),
            **_SETTINGS,
        }
        for provider in TABLE:
            doubles = [name for name in (provider.name, *provider.aliases) if name in server.urls]
            address = server.url(doubles[0] if doubles else "openai")
            variables |= dict.fromkeys(provider.key_env[:1], "no-key-is-needed")
            variables |= dict.fromkeys(provider.url_env, address)
        yield Simulated(model, variables)


def _scenario(file: str, files: Path) -> tuple[Scenario, str]:
    """The script, and the model to talk to: the first of the script's own models, else the small one."""
    from dataclasses import replace

    from ullage_simulators import load
    from ullage_simulators.errors import SimulatorError
    from ullage_simulators.models import MODELS
    from ullage_simulators.scenario import read

    if file:
        try:
            scenario = load(file)
        except SimulatorError as problem:
            raise SettingError(str(problem)) from problem
    else:
        scenario = read({"server": {"delay_s": PAUSE_S}})
        scenario = replace(scenario, assistant=assistant(readable_files(files)))
    first = scenario.models[0]
    if first not in MODELS:
        return scenario, f"{canonical(first.family)}:{first.name}"
    base = next(model for model in MODELS if model.name == "claude-opus-4-6")
    small = replace(base, name=MODEL.partition(":")[2], window=WINDOW, max_output=2_000)
    return replace(scenario, models=(small, *scenario.models)), MODEL
