"""Has what every request carries counted in pieces, beside a call and never in its way.

Each piece is the difference of two counts of a request with one short message. What was counted is kept across
sessions: content that does not change is counted once.
"""

from __future__ import annotations

from msgspec.structs import replace

from ullage.events import PiecesCounted
from ullage.messages import Message, TextPart
from ullage.meter.counting import Carried, CountedPiece, pieces_of
from ullage.meter.fingerprint import digest, of_system, of_tools
from ullage.meter.policy import LARGE_TOOL
from ullage.store.counts import KnownCounts
from ullage.tasks import start, stop
from ullage.tokens.tools import is_hosted
from ullage.wire.endpoints import Endpoint
from ullage_agent.runtime.count_endpoints import place_of
from ullage_agent.runtime.counting import may_count
from ullage_agent.runtime.session_runtime import SessionRuntime

MESSAGE = Message(id="count", role="user", parts=(TextPart(id="count.0", text="."),))
"""The message of a counted request: most providers refuse one without."""


async def count_pieces(runtime: SessionRuntime, *, begins: bool) -> None:
    """Record what is known of the present system prompt and tools, if that is more or other than before.

    With ``begins`` the pieces that were not counted yet are counted in the background.
    """
    endpoint = may_count(runtime)
    if endpoint is None:
        return
    fold = runtime.fold
    place = place_of(endpoint, fold.model)
    known = (await runtime.shared.counts.known()).pieces
    pieces: dict[str, int] = {}
    present = _pieces(runtime)
    for piece in present:
        whole = known.get(_key(place, piece.whole))
        rest = known.get(_key(place, piece.rest))
        if whole is not None and rest is not None and whole > rest:
            pieces[piece.key] = whole - rest
    if pieces and pieces != fold.pieces:
        await runtime.ledger.write([PiecesCounted(pieces=pieces, model=fold.model)])
    is_whole = all(piece.key in runtime.fold.pieces for piece in present)
    if begins and runtime.counting is None and not is_whole:
        runtime.counting = start(_count(runtime, endpoint))


async def stop_counting(runtime: SessionRuntime) -> None:
    """End the counting in the background. What was counted is kept."""
    task, runtime.counting = runtime.counting, None
    if task is not None:
        await stop(task)


async def _count(runtime: SessionRuntime, endpoint: Endpoint) -> None:
    """Count one request after another, and keep each count: a cancel loses none of those before it."""
    meter, counts = runtime.ledger.meter, runtime.shared.counts
    place = place_of(endpoint, runtime.fold.model)
    bare = replace(meter.request(messages=(MESSAGE,)), params={})
    for piece in _pieces(runtime):
        for carried in (piece.whole, piece.rest):
            key = _key(place, carried)
            if key in (await counts.known()).pieces:
                continue
            request = replace(bare, system=carried.system, tools=carried.tools)
            tokens = await counts.count(request, endpoint, policy=meter.policy)
            if tokens is None:
                return
            await counts.keep(KnownCounts(pieces={key: tokens}))


def _pieces(runtime: SessionRuntime) -> list[CountedPiece]:
    fold = runtime.fold
    tools = fold.tools or ()
    if any(is_hosted(tool) for tool in tools):
        tools = ()  # what a provider's own tools cost depends on the rest of the request
    each = fold.fixed.tools.each
    large: set[str] = set()
    for tool, tokens in zip(tools, each, strict=False):
        if tokens >= LARGE_TOOL:
            large.add(tool.name)
    return pieces_of(fold.model, fold.system or (), tools, large)


def _key(place: str, carried: Carried) -> str:
    """Names the count of a request with this system prompt and these tools."""
    return digest(place, of_system(carried.system), of_tools(carried.tools))
