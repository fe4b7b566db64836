"""What left the window of a session in a store, read when it is asked for, and from then on only what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from ullage.store.policy import RECALL_TOKENS
from ullage.store.recall import Recalled, RecallIndex
from ullage.store.store import SessionStore
from ullage.tasks import to_completion
from ullage.threads import in_thread


class RecallLedger:
    """The index of one session of one store. Belongs to one event loop; calls wait for each other."""

    def __init__(self) -> None:
        self._index = RecallIndex()
        self._upto = 0
        self._lock = asyncio.Lock()

    async def recall(
        self,
        store: SessionStore,
        session: str,
        query: str = "",
        *,
        in_view: Mapping[str, bool],
        read: str = "",
        tokens: int = RECALL_TOKENS,
    ) -> Recalled:
        """``RecallIndex.recall`` over all events of the session. A cancel is safe at any point.

        Args:
            store: Where the session is.
            session: Its id: nothing of another one is recalled.
            query: As in ``RecallIndex.recall``.
            in_view: As in ``RecallIndex.recall``.
            read: As in ``RecallIndex.recall``.
            tokens: As in ``RecallIndex.recall``.

        Raises:
            InputError: There is no word to look for, or nothing that left is at this place.
            StoreUnavailable: The store can't be read.
        """
        async with self._lock:
            for event in await store.read(session, after=self._upto):
                self._index.apply(event)
                self._upto = event.seq
            work = partial(
                self._index.recall, query, in_view=in_view, read=read, tokens=tokens
            )
            return await to_completion(in_thread(work))
