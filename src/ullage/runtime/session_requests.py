"""The session's next request: what was added since the last one, and what had to be repaired in it."""

from __future__ import annotations

from ullage.codec.blocks import Options
from ullage.codec.history import History
from ullage.context.exchanges import in_view
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
from ullage.meter.meter import Meter
from ullage.reasoning import ReasoningPolicy
from ullage.wire.call import prepare
from ullage.wire.endpoints import Endpoint


class SessionRequests:
    """One session's requests in turn."""

    def __init__(self) -> None:
        self.history = History()
        self._added: list[Message] | None = None  # None where the next request does not simply extend the last
        self._repaired: frozenset[tuple[str, str, str]] = frozenset()

    def note(self, event: Event) -> None:
        """Take in what an event does to the view."""
        match event:
            case MessageAdded():
                if self._added is not None:
                    self._added.append(event.message)
            case MessageReplaced() | Rewound() | Pruned() | CompactionCommitted() | Uncompacted():
                self._added = None

    def messages(self, meter: Meter) -> tuple[Message, ...]:
        """The messages in view as they go out, at the cost of those that were added since the last request."""
        added, history = self._added, self.history
        if added is not None and len(meter) == history.count + len(added):
            return history.extended(in_view(added))
        return in_view(meter.messages)

    def settle(self) -> tuple[str, ...]:
        """Take note that the request went out. What was repaired in it and not in the one before, in words."""
        self._added = []
        if self.history.last is None:
            return ()
        repairs = {(each.kind, each.message, each.part): each.what for each in self.history.last.repaired.repairs}
        new = tuple(what for key, what in repairs.items() if key not in self._repaired)
        self._repaired = frozenset(repairs)
        return new

    def changes_earlier(
        self,
        request: Request,
        endpoint: Endpoint,
        earlier: Request | None,
        *,
        policy: ReasoningPolicy,
        options: Options,
    ) -> bool:
        """Whether blocks that were sent before stand otherwise in this request, or not at all, for the same model.

        ``earlier`` is the last request as the ledger has it, for the first one here: it is made again to be compared.
        Raises ``InvalidRequest``.
        """
        before: History = self.history
        if before.last is None and earlier is not None:
            before = History()
            prepare(earlier, endpoint, policy=policy, options=options, history=before)
        last = before.last
        now = prepare(request, endpoint, policy=policy, options=options, history=self.history)
        if last is None or _place(last.repaired.request) != _place(now.repaired.request):
            return False
        return not now.encoded.extends(last.encoded)


def _place(request: Request) -> tuple[str, str, str]:
    """Where it goes: to another place everything is new."""
    return request.provider, request.wire, request.model
