"""A summary prepared while the model answered, used only if its source messages have not changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ullage.context.accept import RejectedSummary, accept
from ullage.context.budget import aim_of
from ullage.context.keeping import KeptMessages, must_stay
from ullage.context.plan import committed, plan_for
from ullage.context.situation import Situation
from ullage.context.strategy import Ask, Candidate, Declined, Proposal, SummaryAnswer
from ullage.context.summary import Summarize, source_of
from ullage.messages import Message


class Prefix(NamedTuple):
    """The source of a prepared summary: ids and revisions of the messages, and the ids of those to leave.

    Ids and revisions identify content, so nothing else has to be compared.
    """

    marks: tuple[tuple[str, int], ...]
    leaving: frozenset[str]


class Preparation(NamedTuple):
    """The call that prepares a summary, and the source of its answer."""

    ask: Ask
    prefix: Prefix


def prepare(situation: Situation) -> Preparation | Declined:
    """The call for a summary ahead of time: of what is to leave, while the request that holds it is going out.

    The caller makes it in the background; its usage counts as spend. It can be abandoned at any time.
    """
    proposal = Summarize().propose(situation, ())
    if not isinstance(proposal, Ask):
        return proposal if isinstance(proposal, Declined) else Declined("nothing_to_do")
    plan = plan_for(situation)
    marks = tuple((message.id, message.revision) for message in situation.messages)
    return Preparation(
        proposal, Prefix(marks, frozenset(message.id for message in plan.leaving))
    )


def is_prefix_unchanged(prefix: Prefix, messages: Sequence[Message]) -> bool:
    """Whether the view still begins with exactly what the summary was prepared from."""
    now = tuple(
        (message.id, message.revision) for message in messages[: len(prefix.marks)]
    )
    return now == prefix.marks


@dataclass(frozen=True, slots=True)
class PreparedSummary:
    """A prepared summary as the first strategy: ``Strategies((PreparedSummary(…), *STRATEGIES))``.

    Compares and swaps: if a message of the prefix was edited, cleared, rewound or compacted meanwhile, it is declined
    with ``changed`` and the other strategies follow. Messages that were added or pinned since then stay.
    """

    prefix: Prefix
    answer: SummaryAnswer
    name: str = "prepared"

    def calls_at_most(self, situation: Situation) -> int:
        return 0

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if not is_prefix_unchanged(self.prefix, situation.messages):
            return Declined(
                "changed", "The history changed after the summary was prepared."
            )
        stays = must_stay(situation)
        leaving = [
            each
            for each in situation.messages
            if each.id in self.prefix.leaving and each.id not in stays
        ]
        if not leaving:
            return Declined(
                "nothing_to_do", "Every message that the summary covers must stay now."
            )
        taken = accept(
            self.answer,
            lambda: source_of(leaving),
            source_tokens=situation.sizes.of(message.id for message in leaving),
            most=aim_of(situation).summary,
            count=situation.count,
        )
        if isinstance(taken, RejectedSummary):
            return Declined(taken.reason, taken.note)
        left = {message.id for message in leaving}
        why = {
            each.id: "newest part" for each in situation.messages if each.id not in left
        }
        kept = KeptMessages(why, (), situation.sizes.of(why))
        usage = self.answer.usage if taken.is_whole else None
        return Candidate(
            committed(
                situation, kept, leaving, text=taken.text, rung=self.name, usage=usage
            )
        )
