"""What a program's limits depend on, and the form in which its file states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ullage_programs.record import Record

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

    LimitSource = Literal["observed", "settings", "documented"]
    """Shown by the log; set in the program's settings or environment; the program's default."""
else:
    LimitSource = str  # what reads stored limits asks for it

K = 1_000


class ClientSetting(Record):
    """One value of a program's settings. ``place`` names the variable, or the key and its file, for people."""

    value: object
    place: str


ClientSettings = Mapping[str, ClientSetting]
"""A program's settings by the program's own names, nested keys joined by dots."""

NO_SETTINGS: ClientSettings = {}

TOLD_WINDOW = "told window of "
"""Before a model's name: the window that the program told the status line of the session, kept with its settings."""


class Circumstances(Record):
    """What a program's limits may depend on. Tokens; ``None`` is unknown."""

    version: tuple[int, ...] = ()
    """Empty where the log names none."""
    model: str = ""
    provider: str = ""
    model_window: int | None = None
    """The window of the model itself, which a program need not use."""
    input_cap: int | None = None
    max_output: int | None = None
    settings: ClientSettings = NO_SETTINGS

    def number(self, name: str) -> SetNumber | None:
        """The number that a setting has; ``None`` where it has none."""
        setting = self.settings.get(name)
        value = number_of(setting)
        if setting is None or value is None:
            return None
        return SetNumber(value, setting.place)


class SetNumber(Record):
    """A positive number in a program's settings, and its place."""

    value: float
    place: str


class ClientLimit(Record):
    """One limit of a program. ``tokens`` of ``None``: the program has none, such as a compaction that is turned off."""

    tokens: int | None
    source: LimitSource
    note: str


class SettingsPlaces(Record):
    """Where a program keeps its settings: below its own directory, in the user's, and in a project's."""

    logs: str = ""
    """The directory of the logs in the program's own directory; empty: the log does not lie in it."""
    levels: int = 0
    """Levels of directories between that one and a log."""
    own: tuple[str, ...] = ()
    """Later files win over earlier ones."""
    home: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """The keys that are read; one that ends with a dot is read with all that is below it."""
    env: str = ""
    """The key of a table of environment variables, which win over those that the program is started with."""


class LogPlaces(Record):
    """Where a program keeps its logs: its own directories, and their names in each."""

    directories: Callable[[Mapping[str, str], str], list[str]]
    """By the environment and the user's home."""
    patterns: tuple[str, ...] = ()


def no_window(known: Circumstances) -> ClientLimit | None:
    """Unknown."""
    return None


def no_threshold(known: Circumstances, size: int) -> ClientLimit | None:
    """Unknown."""
    return None


class ProgramFacts(Record):
    """One program: its names, and what is known of its limits. A function gives ``None`` for unknown."""

    name: str
    """As in ``SessionStarted.program``."""
    title: str
    """For people."""
    command: str
    package: str
    """On npm."""
    logs: LogPlaces
    window: Callable[[Circumstances], ClientLimit | None] = no_window
    threshold: Callable[[Circumstances, int], ClientLimit | None] = no_threshold
    """The tokens at which it compacts, given its window."""
    settings: SettingsPlaces = SettingsPlaces()
    checks_every_request: bool = False
    """A conversation does not go on above the threshold: one that did shows that the threshold is another."""


def number_of(setting: ClientSetting | None) -> float | None:
    """A positive number, also one written as text; ``None`` for anything else."""
    if setting is None or isinstance(setting.value, bool):
        return None
    value = setting.value
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return value


def is_on(setting: ClientSetting | None) -> bool:
    """Whether a switch is set: ``true``, or one of the texts that mean it."""
    if setting is None:
        return False
    value = setting.value
    if isinstance(value, str):
        return value.strip().lower() in ("1", "true", "yes", "on")
    return value is True


def is_off(setting: ClientSetting | None) -> bool:
    """Whether a switch that is on by default is turned off."""
    return setting is not None and setting.value is False


def turned_off(
    known: Circumstances,
    name: str,
    by: Callable[[ClientSetting | None], bool] = is_off,
) -> ClientLimit | None:
    """That compactions are turned off ``by`` a switch of this name; ``None`` where they are not."""
    switch = known.settings.get(name)
    if switch is None or not by(switch):
        return None
    return ClientLimit(None, "settings", f"turned off by {switch.place}")


def in_home(
    name: str, variable: str = ""
) -> Callable[[Mapping[str, str], str], list[str]]:
    """A directory of the user's home, or the one that a variable names."""

    def directories(environment: Mapping[str, str], home: str) -> list[str]:
        return [environment.get(variable, "") or f"{home}/{name}"]

    return directories
