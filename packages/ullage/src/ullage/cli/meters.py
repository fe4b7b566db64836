"""The meters of the commands that read: with the user's options, and what is known already."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ullage.errors import UllageError
from ullage.events import FirstCall
from ullage.importers import ImportedSession
from ullage.meter.meter import Meter
from ullage.store.calibration import CalibrationStore
from ullage.tokens.calibration import Calibration
from ullage_programs.facts import TOLD_WINDOW, ClientSetting
from ullage_programs.fields import count, mapping, text
from ullage_programs.files import read_object
from ullage_programs.line.places import session_file
from ullage_programs.programs import facts_of
from ullage_programs.settings import FoundSettings, settings_of


def new_meter(
    options: argparse.Namespace,
    learnt: Calibration,
    overhead: Sequence[FirstCall],
    found: FoundSettings,
) -> Meter:
    """A meter without events, with the user's options and what is known already."""
    return Meter(
        calibration=learnt,
        overhead=overhead,
        window=options.window,
        reserve=options.reserve,
        trigger=options.trigger,
        estimator=options.estimator,
        client_settings=found.values,
    )


def stored_calibration() -> Calibration:
    """What the user's store has learnt. A store that can't be read is said, and does without: no reading needs it."""
    try:
        return CalibrationStore().read()
    except UllageError as problem:
        print(f"ullage: {problem} Reading on without it.", file=sys.stderr)
        return Calibration()


def client_settings(imported: ImportedSession) -> FoundSettings:
    """The settings of the program that wrote a log, as they are now, and what it told its status line."""
    found = settings_of(facts_of(imported.program), Path(imported.path), imported.cwd)
    told = read_object(session_file(imported.path, ".window.json"))
    window = count(told, "window")
    if not window:
        return found
    name = TOLD_WINDOW + text(mapping(told, "model"), "id").removesuffix("[1m]")
    setting = ClientSetting(window, "as it told its status line")
    return found._replace(values={**found.values, name: setting})
