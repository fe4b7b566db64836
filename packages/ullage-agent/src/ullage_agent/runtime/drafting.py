"""Stores a streaming answer in small batches, and restores it after an interruption.

Displays follow the store (``SessionStore.follow``), so that everything they have shown is stored, even if the
process dies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from ullage.codec.stream import (
    CallDelta,
    PartDone,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
)
from ullage.encoding import encode
from ullage.errors import DamagedAnswer
from ullage.events import DraftPiece
from ullage.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from ullage.store.store import Lease, SessionStore
from ullage.tasks import background, to_completion

_part = msgspec.json.Decoder(Part)


@asynccontextmanager
async def drafting(
    store: SessionStore,
    lease: Lease,
    call: str,
    *,
    after: int = 0,
    at: float = 0.0,
    flush_s: float = 0.05,
    flush_bytes: int = 1_024,
    shown: Sequence[DraftPiece] = (),
) -> AsyncIterator[AnswerDraft]:
    """A draft of one answer, stored in batches while the block runs.

    A piece waits at most ``flush_s`` seconds, or until ``flush_bytes`` wait. Leaving the block stores the rest, even
    if the task is cancelled, once or again. An error of the store ends the block. ``after`` and ``at`` are the event
    behind which the call began: see ``SessionStore.draft``. ``shown`` are the pieces of the same answer that are stored
    already: it is handed out again from its beginning, and must say these again.
    """
    store_pieces = partial(store.draft, lease, after=after, at=at)
    draft = AnswerDraft(store_pieces, call, flush_bytes, shown)
    try:
        async with background(draft.store_in_batches(flush_s)):
            try:
                yield draft
            finally:
                draft.end()
    finally:
        if not draft.is_broken:
            await to_completion(draft.flush())


class AnswerDraft:
    """The pieces of one answer, also those that are stored: a crash of the database may lose the last of these.

    Made by ``drafting``.
    """

    def __init__(
        self,
        store: Callable[[Sequence[DraftPiece]], Awaitable[int]],
        call: str,
        flush_bytes: int,
        shown: Sequence[DraftPiece] = (),
    ) -> None:
        self.is_broken = False
        """The store has failed."""
        self._store = store
        self._call = call
        self._flush_bytes = flush_bytes
        self._pieces = list(shown)
        self._stored = len(shown)
        self._said_again: dict[str, str] = {}
        """By part: what of the text that is shown this answer has not said again."""
        for piece in shown:
            if piece.kind != "done":
                before = self._said_again.get(piece.part, "")
                self._said_again[piece.part] = before + piece.text
        self._size = 0
        self._is_ending = False
        self._wake = asyncio.Event()
        self._is_due = asyncio.Event()

    def put(self, event: StreamEvent) -> None:
        """One event of the stream."""
        piece = self._piece(event)
        if piece is not None and self._said_again:
            piece = self._behind_shown(piece)
        if piece is None:
            return
        self._pieces.append(piece)
        self._size += len(piece.text)
        self._wake.set()
        if self._size >= self._flush_bytes:
            self._is_due.set()

    def _behind_shown(self, piece: DraftPiece) -> DraftPiece | None:
        """What of a piece is not shown yet. Raises ``DamagedAnswer`` where it contradicts what is."""
        shown, text = self._said_again.get(piece.part), piece.text
        if piece.kind == "done" or shown is None:
            return piece
        if shown.startswith(text):
            self._said_again[piece.part] = shown[len(text) :]
            return None
        if not text.startswith(shown):
            raise DamagedAnswer(
                "Another answer than before was handed out. Ask for it again."
            )
        self._said_again[piece.part] = ""
        return piece._replace(text=text[len(shown) :])

    def _piece(self, event: StreamEvent) -> DraftPiece | None:
        offset = len(self._pieces)
        match event:
            case TextDelta():
                return DraftPiece(self._call, offset, "text", event.part, event.text)
            case ReasoningDelta():
                return DraftPiece(self._call, offset, "reasoning", event.part, event.text)
            case CallDelta():
                return DraftPiece(
                    self._call,
                    offset,
                    "call",
                    event.part,
                    event.text,
                    event.call_id,
                    event.name,
                )
            case PartDone():
                return DraftPiece(
                    self._call, offset, "done", event.part.id, encode(event.part).decode()
                )
            case _:
                return None

    def end(self) -> None:
        """No batch follows: what waits is stored by ``flush``."""
        self._is_ending = True
        self._wake.set()
        self._is_due.set()

    async def store_in_batches(self, flush_s: float) -> None:
        """Store a piece at once where none was stored for ``flush_s`` seconds, and later ones together, until ``end``.

        So a display begins when the answer does, and an answer whose pieces come slowly needs no timer. A cancel is
        raised behind the end.
        """
        await to_completion(self._store_in_batches(flush_s))

    async def _store_in_batches(self, flush_s: float) -> None:
        loop = asyncio.get_running_loop()
        next_at = loop.time()
        while True:
            await self._wake.wait()
            left_s = next_at - loop.time()
            if left_s > 0:
                timer = loop.call_later(left_s, self._is_due.set)
                await self._is_due.wait()
                timer.cancel()
            if self._is_ending:
                return
            await self.flush()
            next_at = loop.time() + flush_s

    async def flush(self) -> None:
        """Store the pieces that the store lacks. Raises what the store raises."""
        given, self._size = len(self._pieces), 0
        self._wake.clear()
        self._is_due.clear()
        try:
            while self._stored < given:
                self._stored = await self._store(self._pieces[self._stored : given])
        except BaseException:
            self.is_broken = True
            raise


def put_together(pieces: Sequence[DraftPiece], *, message_id: str, call: str) -> Message:
    """The answer from its stored pieces: complete parts, and the beginning of the others."""
    whole: dict[str, Part] = {}
    texts: dict[str, list[str]] = {}
    kinds: dict[str, DraftPiece] = {}
    for piece in pieces:
        if piece.call != call:
            continue
        if piece.kind == "done":
            whole[piece.part] = _part.decode(piece.text)
            kinds.setdefault(piece.part, piece)
        else:
            texts.setdefault(piece.part, []).append(piece.text)
            kinds.setdefault(piece.part, piece)
    parts = [
        whole[name] if name in whole else _grown(first, "".join(texts[name]))
        for name, first in kinds.items()
    ]
    return Message(id=message_id, role="assistant", parts=tuple(parts), call=call)


def _grown(first: DraftPiece, text: str) -> Part:
    match first.kind:
        case "reasoning":
            return ReasoningPart(id=first.part, text=text)
        case "call":
            return ToolCallPart(
                id=first.part, call_id=first.call_id, name=first.name, arguments=text
            )
        case _:
            return TextPart(id=first.part, text=text)
