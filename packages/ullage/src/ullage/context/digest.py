"""A summary without a model: one line per message. The user's messages and the files stand beside it
(``kept_texts``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ullage.context.budget import aim_of
from ullage.context.plan import committed, plan_for
from ullage.context.policy import EARLIER_SHARE
from ullage.context.rendering import line_of
from ullage.context.shorten import excerpt
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, Strategy, SummaryAnswer
from ullage.context.summary_message import earlier_text
from ullage.events import DroppedMessage
from ullage.messages import Message

NO_ROOM: Final = "no room for it in the digest"


class Digest(NamedTuple):
    """The text, and the ids of the messages that it covers."""

    text: str
    ids: tuple[str, ...]


def digest(situation: Situation, messages: Sequence[Message], *, most: float) -> Digest:
    """A digest of these messages in at most about ``most`` tokens; the oldest are left out first."""
    room = _DigestRoom(situation, most)
    earlier = room.excerpt(earlier_text(messages), EARLIER_SHARE * most)
    shown = [message for message in messages if message.origin != "summary"]
    texts = room.lines(shown)
    covered = [message.id for message in shown if message.id in texts]
    head = "No model could summarise this conversation, so this is a list of its messages, oldest first."
    sections = [head, earlier, "\n".join(texts[name] for name in covered)]
    text = "\n\n".join(section for section in sections if section)
    summaries = [message.id for message in messages if message.origin == "summary"]
    return Digest(text, (*summaries, *covered))


class _DigestRoom:
    """The tokens that are left for a digest."""

    def __init__(self, situation: Situation, most: float) -> None:
        self.count = situation.count
        self.left = most

    def line(self, text: str) -> str:
        """The text, if there is room for it."""
        tokens = self.count(text) + 1
        if tokens > self.left:
            return ""
        self.left -= tokens
        return text

    def excerpt(self, text: str, most: float) -> str:
        """As much of a text as fits."""
        if not text:
            return ""
        tokens = self.count(text)
        if tokens > most:
            text = excerpt(text, int(0.9 * len(text) * most / tokens), "")
        return self.line(text)

    def lines(self, messages: Sequence[Message]) -> dict[str, str]:
        """One line per message, newest first; shorter lines for many messages."""
        lines: dict[str, str] = {}
        for characters in (160, 80, 40):
            lines = {message.id: line_of(message, characters) for message in messages}
            if self.count("\n".join(lines.values())) <= self.left:
                return lines
        chosen: dict[str, str] = {}
        for name, text in reversed(lines.items()):
            if not self.line(text):
                break
            chosen[name] = text
        return chosen


@dataclass(frozen=True, slots=True)
class Digests(Strategy):
    """Replaces the leaving messages by a digest. Messages without room in it are listed as dropped."""

    name: str = "digest"

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked:
            return Declined(
                "nothing_to_do",
                "The request fits, so messages stay until a model has summarised them.",
            )
        plan = plan_for(situation, situation.rules.keep_unread)
        if not plan.leaving:
            return Declined("nothing_to_do", "Every message has to stay.")
        made = digest(situation, plan.leaving, most=aim_of(situation).summary)
        covered = set(made.ids)
        lost = [
            DroppedMessage(id=each.id, reason=NO_ROOM)
            for each in plan.leaving
            if each.id not in covered
        ]
        text = made.text
        if lost:
            text = f"{text}\n({len(lost)} older messages are not in this list.)"
        event = committed(
            situation, plan.kept, plan.leaving, text=text, rung=self.name, dropped=lost
        )
        return Candidate(event)
