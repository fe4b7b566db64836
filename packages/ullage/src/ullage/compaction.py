"""What a compaction strategy of your own is written with: ``Agent(…, strategy=(KeepNewest(), "hybrid"))``.

``STRATEGIES`` are the strategies of ``hybrid`` in their order. A strategy looks at a ``Situation`` and proposes: an
``Ask`` for a model call, a ``Candidate``, or ``Declined``. docs/compaction.md shows one.

``Fitted`` is what a ``Compactor`` gives; ``Keep``, ``Replace`` and ``Insert`` are the items of its ``plan``.
``Summariser`` is what ``Compactor.lend`` takes, ``CallFollower`` what ``attach`` does. ``Recalled`` is what
``Compactor.recall`` and ``Session.recall`` give.
"""

from ullage.codec.stream import Answer
from ullage.compactor.compactor import Compactor
from ullage.compactor.summaries import Summariser
from ullage.context.caller_items import Insert, ItemPlan, Keep, Replace
from ullage.context.choice import STRATEGIES
from ullage.context.compactor import Fitted
from ullage.context.keeping import must_stay
from ullage.context.rules import CompactionRules
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
from ullage.plugins.attach import attach, detach
from ullage.plugins.sdk_calls import CallFollower
from ullage.store.recall import Recalled, RecalledLine

__all__ = [
    "STRATEGIES",
    "Answer",
    "Ask",
    "CallFollower",
    "Candidate",
    "CompactionRules",
    "Compactor",
    "Declined",
    "Fitted",
    "Insert",
    "ItemPlan",
    "Keep",
    "Proposal",
    "Reason",
    "Recalled",
    "RecalledLine",
    "Replace",
    "Situation",
    "Strategy",
    "Summariser",
    "SummaryAnswer",
    "attach",
    "detach",
    "must_stay",
]
