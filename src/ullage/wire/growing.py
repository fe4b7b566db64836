"""The requests of one agent loop, made ready at the cost of what each adds to the last one.

growing = GrowingRequest()
stream(request, endpoint, client=client, make=growing.prepare)
"""

from __future__ import annotations

from collections.abc import Iterable

from ullage.codec.encode import Options
from ullage.codec.growing import GrowingCodec
from ullage.codec.repair import EVERYTHING
from ullage.messages import Message, Request
from ullage.reasoning import ReasoningPolicy
from ullage.wire.call import PLAIN, Prepared, addressed, post_of
from ullage.wire.endpoints import Endpoint


class GrowingRequest:
    """Prepares the requests of one session in turn. One for each loop; not to be shared by loops that alternate."""

    def __init__(self) -> None:
        self._codec = GrowingCodec()

    def extended(self, added: Iterable[Message]) -> tuple[Message, ...]:
        """The messages of the last request and these behind them, to make the next one of: known to extend it."""
        return self._codec.extended(added)

    def prepare(
        self, request: Request, endpoint: Endpoint, *, policy: ReasoningPolicy = EVERYTHING, options: Options = PLAIN
    ) -> Prepared:
        """What ``wire.call.prepare`` gives, its bytes the same. Raises ``InvalidRequest`` as it does.

        A request that extends the last one, for the same endpoint, model and policy, costs what was added and the
        copying of its body; any other costs what it costs there. ``request.messages`` is compared with the last ones,
        by identity where they are the same objects; those that ``extended`` gave are known and not compared.
        """
        request = addressed(request, endpoint)
        repaired, encoded, content = self._codec.prepare(request, policy=policy, options=options)
        return Prepared(request, repaired, encoded, post_of(request, endpoint, encoded, content))
