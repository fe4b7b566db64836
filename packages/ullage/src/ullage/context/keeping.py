"""Chooses the messages that stay in view, word for word, when the rest is summarised or dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ullage.context.costs import count_images
from ullage.context.exchanges import HistoryExchange, is_request
from ullage.context.policy import TASK_SHARE
from ullage.context.shorten import common_cap, shortened, with_newest_media
from ullage.context.situation import Situation
from ullage.messages import Message, ToolCallPart


class KeptMessages(NamedTuple):
    """The ids that stay, each with its reason, and the shortened messages among them."""

    why: Mapping[str, str]
    replaced: tuple[Message, ...]
    tokens: float


def must_stay(situation: Situation) -> dict[str, str]:
    """Ids that no compaction may remove from the view, each with its reason. Exchanges are never split.

    They are: system prompts at the beginning of the messages, pinned messages, the newest request, calls that wait
    for a result or a person, and what is outside of the part that a person named. The newest request may leave where
    it is in a part that goes on to the end.

    Args:
        situation: The conversation that is to be compacted.
    """
    why: dict[str, str] = {}
    request = None if situation.from_ else situation.request
    leading = True
    for exchange in situation.exchanges:
        for message in exchange.messages:
            leading = leading and message.role == "system"
            reason = _reason(
                situation,
                exchange,
                message,
                is_leading=leading,
                is_latest=message is request,
            )
            if message.id in situation.unnamed and not reason:
                reason = "outside of the part to be summarised"
            if reason:
                why |= {each: why.get(each, reason) for each in exchange.ids}
    return why


def _reason(
    situation: Situation,
    exchange: HistoryExchange,
    message: Message,
    *,
    is_leading: bool,
    is_latest: bool,
) -> str:
    if is_leading:
        return "system prompt"
    if message.id in situation.pins:
        return "pinned"
    if is_latest:
        return "latest request"
    if exchange.open and exchange is situation.exchanges[-1]:
        return "open call"
    waits = any(
        part.call_id in situation.waiting for part in message.of_type(ToolCallPart)
    )
    return "open call" if waits else ""


def keep(
    situation: Situation, *, room: float, tail: float, request_room: float | None = None
) -> KeptMessages:
    """The messages that stay, in at most about ``room`` tokens, ``tail`` of them for the newest exchanges.

    In this order: messages that must stay; results the model has not seen, cut to fit; the other requests of the
    unfinished task; the newest exchanges. Only the first kind is certain to stay, and of a part that a person named
    nothing else does. A newest request of more than ``request_room`` tokens is cut to head and tail. What stands before
    a part that goes on to the end is never changed.
    """
    choice = _Choice(situation, room)
    choice.take(must_stay(situation))
    if situation.from_:
        return KeptMessages(choice.why, (), choice.tokens)
    if request_room is not None and situation.request is not None:
        choice.shorten(situation.request, request_room)
    if not situation.up_to:
        choice.unseen()
        choice.task()
        choice.tail(tail)
    choice.images()
    return KeptMessages(choice.why, tuple(choice.replaced.values()), choice.tokens)


def cut_unread(situation: Situation, room: float) -> tuple[Message, ...]:
    """The results that no model has read, cut so that all messages take at most ``room`` tokens."""
    last = _newest_answer(situation.exchanges)
    choice = _Choice(situation, room)
    others = (message.id for message in situation.messages)
    if last is not None:
        others = (name for name in others if name not in last.ids)
    choice.take(dict.fromkeys(others, ""))
    choice.unseen()
    return tuple(choice.replaced.values())


class _Choice:
    """The messages chosen so far, with their tokens."""

    def __init__(self, situation: Situation, room: float) -> None:
        self.situation = situation
        self.room = room
        self.why: dict[str, str] = {}
        self.replaced: dict[str, Message] = {}
        self.tokens = 0.0
        self.newest = 0.0

    def take(self, why: Mapping[str, str]) -> None:
        self.tokens += self.situation.weigh(name for name in why if name not in self.why)
        self.why = {**why, **self.why}

    def shorten(self, message: Message, most: float) -> bool:
        """Cut a message to ``most`` tokens; False if that is not possible."""
        size = self.situation.weigh((message.id,))
        if size <= most:
            return True
        # The size in view and the cost alone may differ by the scale of the last reported usage.
        ratio = self.situation.cost(message) / size if size > 0 else 1.0
        situation = self.situation
        cut = shortened(
            message, most * ratio, situation.cost, can_read=situation.can_read
        )
        if cut is None:
            return False
        self.replaced[message.id] = cut
        self.tokens -= (size - self.situation.cost(cut) / ratio) * (
            message.id in self.why
        )
        return True

    def images(self) -> None:
        """Replaces the oldest kept images by notices until the number of images fits."""
        most = self.situation.image_limit
        if most is None:
            return
        stay = [
            self.replaced.get(each.id, each)
            for each in self.situation.messages
            if each.id in self.why
        ]
        over = sum(count_images(message) for message in stay) - most
        for message in stay:
            count = count_images(message)
            if over <= 0:
                return
            if count and message.id not in self.situation.pins:
                self.replaced[message.id] = with_newest_media(
                    message, max(0, count - over)
                )
                over -= min(count, over)

    def unseen(self) -> None:
        """Keeps results that no answer follows, with their calls: without them the model would call again."""
        last = _newest_answer(self.situation.exchanges)
        if last is None or last.ids[0] in self.why:
            return
        results = [message for message in last.messages if message.role == "tool"]
        if not results:
            return
        left = self.room - self.tokens
        others = self.situation.weigh(
            message.id for message in last.messages if message.role != "tool"
        )
        each = (left - others) / len(results)
        if each <= 0:
            return
        before = self.tokens, dict(self.replaced)
        self.take(dict.fromkeys(last.ids, "results not seen yet"))
        if self.tokens > self.room:
            sizes = [self.situation.weigh((message.id,)) for message in results]
            cap = common_cap(sizes, left - others)
            if not all(self.shorten(message, cap) for message in results):
                self.tokens, self.replaced = before
                for name in last.ids:
                    self.why.pop(name)
                return
        self.newest = self.tokens - before[0]

    def task(self) -> None:
        """Other requests since the last finished task, newest first, within their share of the room."""
        start = self.situation.task_start
        ids = [message.id for message in self.situation.messages]
        if start not in ids:
            return
        budget = TASK_SHARE * max(0.0, self.room - self.tokens)
        for message in reversed(self.situation.messages[ids.index(start) :]):
            if not is_request(message) or message.id in self.why:
                continue
            budget -= self.situation.weigh((message.id,))
            if budget < 0:
                return
            self.take({message.id: "request of the unfinished task"})

    def tail(self, tail: float) -> None:
        """The newest exchanges in a row, including unseen results."""
        request = self.situation.request
        in_turn = request is not None
        taken = self.newest
        for exchange in reversed(self.situation.exchanges):
            if any(message.origin == "summary" for message in exchange.messages):
                return
            size = self.situation.weigh(
                name for name in exchange.ids if name not in self.why
            )
            if self.tokens + size > self.room or taken + size > tail:
                return
            taken += size
            self.take(
                dict.fromkeys(exchange.ids, "last turn" if in_turn else "newest part")
            )
            if request is not None and request.id in exchange.ids:
                in_turn = False


def _newest_answer(every: Sequence[HistoryExchange]) -> HistoryExchange | None:
    """The last answer, or results without one; messages of persons and the system may stand behind it."""
    for exchange in reversed(every):
        if any(message.role in ("assistant", "tool") for message in exchange.messages):
            return exchange
    return None
