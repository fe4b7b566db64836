"""What a compaction strategy of your own is written with: ``Agent(…, strategy=(KeepNewest(), "hybrid"))``.

``STRATEGIES`` are the strategies of ``hybrid`` in their order. A strategy looks at a ``Situation`` and proposes: an
``Ask`` for a model call, a ``Candidate``, or ``Declined``. docs/compaction.md shows one.
"""

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
    "Proposal",
    "Reason",
    "Situation",
    "Strategy",
    "SummaryAnswer",
    "must_stay",
]
