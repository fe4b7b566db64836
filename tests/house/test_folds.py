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
    event: folds
    for folds, events_of in {
        "meter": (
            "SessionStarted SystemChanged ToolsChanged ParamsChanged PolicyChanged LimitLearnt OverheadLearnt "
            "InputCounted PiecesCounted SizeStated"
        ),
        "": (
            "Renamed ToolServerNoticed RequestRepaired ChildStarted FilesChanged RuleFlipped Forked Imported "
            "UnknownEvent"
        ),
        "meter loop": "ModelChanged SettingsChanged ReasoningRefused",
        "meter loop memory lineage requests": "MessageAdded",
        "meter memory lineage requests": "MessageReplaced",
        "meter loop memory requests": "Rewound",
        "loop memory": "TurnEnded ToolStarted ToolEnded",
        "loop": (
            "TurnPaused TurnResumed FellBack HandedOver CallRetried CallHeld Queued QueueEdited QueueLeft CompactAsked "
            "CancelAsked Cancelled ApprovalAsked ApprovalGiven GrantGiven GrantRevoked RowDamaged ToolCallReplaced"
        ),
        "meter loop memory": "CallStarted CallEnded TurnStarted",
        "memory": "Pinned ReadingTaken",
        "meter memory": "Calibrated EpochChanged",
        "meter loop breakers lineage requests": "Pruned",
        "loop breakers": "CompactionStarted CompactionRolledBack",
        "meter loop memory breakers lineage requests": "CompactionCommitted",
        "meter memory breakers lineage requests": "Uncompacted",
    }.items()
    for event in events_of.split()
}
"""The folds that an event changes, told by those that change the same. An event that changes none is a record for
displays, exports and audits."""


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
