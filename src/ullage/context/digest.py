"""A summary without a model: what the user said, which files and tools were worked with, and a line a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ullage.context.budget import aim_of
from ullage.context.exchanges import is_request
from ullage.context.plan import committed, plan_for
from ullage.context.rendering import line_of, paths_in
from ullage.context.shorten import excerpt
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined, Proposal, SummaryAnswer
from ullage.context.summary_message import earlier_text
from ullage.events import DroppedMessage
from ullage.messages import Message, TextPart

EARLIER_SHARE: Final = 0.4
USER_SHARE: Final = 0.6
"""Of the digest's length, at most 40 % for what an earlier summary said; of the rest, at most 60 % for the user's own
words. Lines of messages take what is left."""

MOST_FILES: Final = 20

NO_ROOM: Final = "no room for it in the digest"


class Digest(NamedTuple):
    """The text, and the ids of the messages that it has something of."""

    text: str
    ids: tuple[str, ...]


def digest(situation: Situation, messages: Sequence[Message], *, most: float) -> Digest:
    """What these messages hold, in at most about ``most`` tokens; the newest are the last to be left out."""
    room = _Room(situation, most)
    earlier = room.excerpt(earlier_text(messages), EARLIER_SHARE * most)
    shown = [message for message in messages if message.origin != "summary"]
    words = room.words(shown, USER_SHARE * room.left)
    files = list(dict.fromkeys(path for message in reversed(shown) for path in paths_in(message)))[:MOST_FILES]
    named = room.line("Files: " + ", ".join(files)) if files else ""
    lines = room.lines([message for message in shown if message.id not in words])
    told = words | lines
    sections = [
        earlier,
        named,
        "\n".join(told[message.id] for message in shown if message.id in told),
    ]
    head = "No model could summarise what was said, so this is a list of it, oldest first."
    text = "\n\n".join([head, *(section for section in sections if section)])
    summaries = [message.id for message in messages if message.origin == "summary"]
    return Digest(text, (*summaries, *(message.id for message in shown if message.id in told)))


class _Room:
    """Tokens that are left of a digest."""

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

    def words(self, messages: Sequence[Message], most: float) -> dict[str, str]:
        """What the user said, whole, newest first, within ``most``."""
        told: dict[str, str] = {}
        for message in reversed(messages):
            if not is_request(message):
                continue
            said = "\n".join(part.text for part in message.of_type(TextPart))
            tokens = self.count(said) + 1
            if said and tokens <= min(most, self.left):
                told[message.id] = f"user (word for word): {said}"
                most -= tokens + 6
                self.left -= tokens + 6
        return told

    def lines(self, messages: Sequence[Message]) -> dict[str, str]:
        """A line a message, newest first; shorter ones where there are many."""
        told: dict[str, str] = {}
        for characters in (160, 80, 40):
            told = {message.id: line_of(message, characters) for message in messages}
            if self.count("\n".join(told.values())) <= self.left:
                return told
        chosen: dict[str, str] = {}
        for name, text in reversed(told.items()):
            if not self.line(text):
                break
            chosen[name] = text
        return chosen


@dataclass(frozen=True, slots=True)
class Digests:
    """Puts a digest in the place of what leaves. Messages it has no room for are dropped, and listed as such."""

    name: str = "digest"

    def calls_at_most(self, situation: Situation) -> int:
        return 0

    def propose(self, situation: Situation, answers: Sequence[SummaryAnswer]) -> Proposal:
        if situation.is_only_asked:
            return Declined("nothing_to_do", "Nothing has to leave now, so it stays until a model has summarised it.")
        plan = plan_for(situation, situation.rules.keep_unread)
        if not plan.leaving:
            return Declined("nothing_to_do", "Every message has to stay.")
        made = digest(situation, plan.leaving, most=aim_of(situation).summary)
        told = set(made.ids)
        lost = [DroppedMessage(id=each.id, reason=NO_ROOM) for each in plan.leaving if each.id not in told]
        text = made.text
        if lost:
            text = f"{text}\n({len(lost)} older messages are not in this list.)"
        event = committed(situation, plan.kept, plan.leaving, text=text, rung=self.name, dropped=lost)
        return Candidate(event)
