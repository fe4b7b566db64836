"""The requests of a session: each is made from the last one and the messages added since."""

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
    """The last request of a session, and what has changed in the view since."""

    def __init__(self) -> None:
        self.history = History()
        self._added: list[Message] | None = (
            None  # None if the next request does not just extend the last one
        )
        self._repaired: frozenset[tuple[str, str, str]] = frozenset()

    def note(self, event: Event) -> None:
        """Note how an event changes the view."""
        match event:
            case MessageAdded():
                if self._added is not None:
                    self._added.append(event.message)
            case (
                MessageReplaced()
                | Rewound()
                | Pruned()
                | CompactionCommitted()
                | Uncompacted()
            ):
                self._added = None

    def messages(self, meter: Meter) -> tuple[Message, ...]:
        """The messages of the next request. The work is that of the messages added since the last one."""
        added, history = self._added, self.history
        if added is not None and len(meter) == history.count + len(added):
            return history.extended(in_view(added))
        return in_view(meter.messages)

    def settle(self) -> tuple[str, ...]:
        """Note that the request was sent. Returns descriptions of the repairs that the one before did not need."""
        self._added = []
        if self.history.last is None:
            return ()
        repairs: dict[tuple[str, str, str], str] = {}
        for repair in self.history.last.repaired.repairs:
            repairs[repair.kind, repair.message, repair.part] = repair.what
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
        """Whether this request changes or leaves out blocks that the same model was sent before.

        ``earlier`` is the last request by the ledger, to compare the first request of this process with. Raises
        ``InvalidRequest``.
        """
        before = self.history
        if before.last is None and earlier is not None:
            before = History()
            prepare(earlier, endpoint, policy=policy, options=options, history=before)
        last = before.last
        now = prepare(
            request, endpoint, policy=policy, options=options, history=self.history
        )
        if last is None:
            return False
        was, new = last.repaired.request, now.repaired.request
        if (was.provider, was.wire, was.model) != (new.provider, new.wire, new.model):
            return False  # another model has not seen any of it
        return not now.encoded.extends(last.encoded)
