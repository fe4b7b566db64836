"""Which event changes which fold: one row per event, so that a new event is decided for every fold."""

from __future__ import annotations

import ast
from typing import Final

import pytest

from scripts.house.source import PACKAGES
from ullage import events

FOLDS: Final = {
    "meter": "ullage/meter/fold.py",
    "loop": "ullage/turns/loop.py",
    "memory": "ullage_agent/loop/memory.py",
    "breakers": "ullage/context/breakers.py",
    "lineage": "ullage/context/lineage.py",
    "requests": "ullage_agent/runtime/session_requests.py",
}
"""Each fold by its name, and the file that holds it."""

CHANGES: Final = {
    "SessionStarted": "meter",
    "Renamed": "",
    "ModelChanged": "meter loop",
    "SystemChanged": "meter",
    "ToolsChanged": "meter",
    "ToolServerNoticed": "",
    "ParamsChanged": "meter",
    "PolicyChanged": "meter",
    "LimitLearnt": "meter",
    "SettingsChanged": "meter loop",
    "MessageAdded": "meter loop memory lineage requests",
    "MessageReplaced": "meter memory lineage requests",
    "Rewound": "meter loop memory requests",
    "TurnStarted": "loop memory",
    "TurnPaused": "loop",
    "TurnResumed": "loop",
    "TurnEnded": "loop memory",
    "FellBack": "loop",
    "HandedOver": "loop",
    "CallStarted": "meter loop memory",
    "CallEnded": "meter loop memory",
    "CallRetried": "loop",
    "RequestRepaired": "",
    "ToolStarted": "loop memory",
    "ToolEnded": "loop memory",
    "ChildStarted": "",
    "Queued": "loop",
    "QueueEdited": "loop",
    "QueueLeft": "loop",
    "CompactAsked": "loop",
    "Pinned": "memory",
    "CancelAsked": "loop",
    "Cancelled": "loop",
    "ApprovalAsked": "loop",
    "ApprovalGiven": "loop",
    "GrantGiven": "loop",
    "GrantRevoked": "loop",
    "ReadingTaken": "memory",
    "Calibrated": "meter memory",
    "OverheadLearnt": "meter",
    "InputCounted": "meter",
    "PiecesCounted": "meter",
    "RuleFlipped": "",
    "ReasoningRefused": "meter loop",
    "Pruned": "meter loop breakers lineage requests",
    "EpochChanged": "meter memory",
    "CompactionStarted": "loop breakers",
    "CompactionCommitted": "meter loop memory breakers lineage requests",
    "CompactionRolledBack": "loop breakers",
    "Uncompacted": "meter memory breakers lineage requests",
    "Forked": "",
    "Imported": "",
    "RowDamaged": "loop",
    "UnknownEvent": "",
}
"""The folds that an event changes. An event with an empty row is a record for displays, exports and audits."""


def handled(fold: str) -> set[str]:
    """The events that a fold names in the arms of a ``match`` or as keys of its table of handlers."""
    names: set[str] = set()
    for node in ast.walk(
        ast.parse(next(PACKAGES.glob(f"*/src/{FOLDS[fold]}")).read_text())
    ):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            names.add(node.cls.id)
        if isinstance(node, ast.Dict):
            names.update(key.id for key in node.keys if isinstance(key, ast.Name))
    return names & CHANGES.keys()


def test_every_event_has_a_row() -> None:
    kinds = {name for name, kind in vars(events).items() if is_event(kind)}
    assert CHANGES.keys() == kinds, "add a row that names the folds the event changes"


def is_event(kind: object) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, events.Envelope)
        and kind is not events.Envelope
    )


@pytest.mark.parametrize("fold", FOLDS)
def test_a_fold_handles_exactly_the_events_of_its_rows(fold: str) -> None:
    assert handled(fold) == {
        event for event, changed in CHANGES.items() if fold in changed.split()
    }
