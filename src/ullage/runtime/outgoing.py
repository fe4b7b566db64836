"""The session's requests as they go out: what was added since the last one, and what had to be put right in it."""

from __future__ import annotations

from ullage.codec.encode import Options
from ullage.codec.repair import EVERYTHING
from ullage.events import (
    CompactionCommitted,
    Event,
    MessageAdded,
    MessageReplaced,
    Pruned,
    Rewound,
    Uncompacted,
)
from ullage.messages import Message, Request
from ullage.reasoning import ReasoningPolicy
from ullage.wire.call import PLAIN, Prepared
from ullage.wire.endpoints import Endpoint
from ullage.wire.growing import GrowingRequest


class Outgoing:
    """One session's requests in turn. ``added`` is ``None`` where the next one does not simply extend the last."""

    def __init__(self) -> None:
        self.growing = GrowingRequest()
        self.added: list[Message] | None = None
        self.sent = 0
        """How many messages the last request had."""
        self.repairs: tuple[str, ...] = ()
        """What had to be put right in the last request and not in the one before it, in words."""
        self._repaired: frozenset[tuple[str, str, str]] = frozenset()

    def note(self, event: Event) -> None:
        """Take in what an event does to the view."""
        match event:
            case MessageAdded():
                if self.added is not None:
                    self.added.append(event.message)
            case MessageReplaced() | Rewound() | Pruned() | CompactionCommitted() | Uncompacted():
                self.added = None

    def prepare(
        self, request: Request, endpoint: Endpoint, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN
    ) -> Prepared:
        """The request made ready, as ``wire.call.prepare`` does. Raises ``InvalidRequest``."""
        prepared = self.growing.prepare(request, endpoint, policy=policy, options=options)
        self.added, self.sent = [], len(request.messages)
        repairs = {(each.kind, each.message, each.part): each.what for each in prepared.repaired.repairs}
        self.repairs = tuple(what for key, what in repairs.items() if key not in self._repaired)
        self._repaired = frozenset(repairs)
        return prepared
