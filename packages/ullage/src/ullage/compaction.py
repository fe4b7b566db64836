"""What a compaction strategy of your own is written with: ``Agent(…, strategy=(KeepNewest(), "hybrid"))``.

``STRATEGIES`` are the strategies of ``hybrid`` in their order. A strategy looks at a ``Situation`` and proposes: an
``Ask`` for a model call, a ``Candidate``, or ``Declined``. docs/compaction.md shows one. ``Keep``, ``Replace`` and
``Insert`` are the items of ``Fitted.plan``.
"""

from ullage.context.caller_items import Insert, Keep, Replace
from ullage.context.choice import STRATEGIES
from ullage.context.keeping import must_stay
from ullage.context.situation import Situation
from ullage.context.strategy import (
    Ask,
    Candidate,
    Declined,
    Proposal,
    Reason,
    Strategy,
    SummaryAnswer,
)

__all__ = [
    "STRATEGIES",
    "Ask",
    "Candidate",
    "Declined",
    "Insert",
    "Keep",
    "Proposal",
    "Reason",
    "Replace",
    "Situation",
    "Strategy",
    "SummaryAnswer",
    "must_stay",
]
