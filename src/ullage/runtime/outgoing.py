"""The session's requests as they go out: what was added since the last one, and what had to be put right in it."""

from __future__ import annotations

from typing import NamedTuple

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
from ullage.wire.call import PLAIN, Prepared, prepare
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
        self._last: Prepared | None = None
        self._ready: _Ready | None = None

    @property
    def is_new(self) -> bool:
        """Whether no request was made ready yet."""
        return self._last is None

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
        ready = self._ready
        if ready is not None and ready.asked is request and ready.options is options and ready.policy == policy:
            return ready.prepared
        prepared = self.growing.prepare(request, endpoint, policy=policy, options=options)
        self.added, self.sent = [], len(request.messages)
        repairs = {(each.kind, each.message, each.part): each.what for each in prepared.repaired.repairs}
        self.repairs = tuple(what for key, what in repairs.items() if key not in self._repaired)
        self._repaired = frozenset(repairs)
        self._last, self._ready = prepared, _Ready(request, policy, options, prepared)
        return prepared

    def departs(
        self,
        request: Request,
        endpoint: Endpoint,
        earlier: Request | None,
        *,
        policy: ReasoningPolicy = EVERYTHING,
        options: Options = PLAIN,
    ) -> bool:
        """Whether blocks that were sent before stand otherwise in this request, or not at all, for the same model.

        ``earlier`` is the last request as the ledger has it, for the first one here: it is made ready again to be
        compared. Raises ``InvalidRequest``.
        """
        last = self._last
        if last is None and earlier is not None:
            last = prepare(earlier, endpoint, policy=policy, options=options)
        now = self.prepare(request, endpoint, policy=policy, options=options)
        return last is not None and _place(last) == _place(now) and not now.encoded.extends(last.encoded)


class _Ready(NamedTuple):
    """A request that was made ready ahead, and what for."""

    asked: Request
    policy: ReasoningPolicy
    options: Options
    prepared: Prepared


def _place(prepared: Prepared) -> tuple[str, str, str]:
    """Where it goes: to another place everything is new."""
    request = prepared.request
    return request.provider, request.wire, request.model
