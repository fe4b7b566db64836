"""A dispatch for many machines: a Restate server keeps the wakes, and calls one worker at a time for a session."""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from urllib.parse import quote

import httpx2

from ullage_agent.runtime.dispatch import Drive
from ullage_agent.runtime.policy import RESTATE_SWEEP_S
from ullage_cluster.restate.client import restate_client
from ullage_cluster.restate.names import HANDLER, object_of

log = logging.getLogger("ullage.agent")

ANSWERS_IN_S: Final = 5.0

_NOT_TOLD: Final = "Restate at %s was not told to have %s driven: %s. A worker finds it within some %.0f s."
_NO_WORKER: Final = "Restate at %s knows no worker%s, so %s waits. Start one; its log says if it can't register."
_REFUSED: Final = "Restate at %s refused to have %s driven: %d %s"


class RestateDispatch:
    """Has sessions driven by the workers that Restate knows. ``ingress`` is where it takes requests: a URL, or
    ``unix:PATH``. Without Restate the workers' sweep finds what waits."""

    sweep_s = RESTATE_SWEEP_S

    def __init__(self, ingress: str, *, place: str = "") -> None:
        self.place = place
        self._ingress = ingress
        self._client: httpx2.AsyncClient | None = None
        self._unknown: set[str] = set()
        """The places of which Restate knew no worker the last time."""

    async def wake(self, session: str, why: int, place: str = "") -> None:
        """See ``Dispatch.wake``. A wake that Restate does not take is logged, for a place without a worker once."""
        key = quote(session, safe="")
        try:
            answer = await self._http().post(
                f"/{object_of(place)}/{key}/{HANDLER}/send",
                json=why,
                headers={"idempotency-key": f"{key}@{why}"},
            )
        except httpx2.HTTPError as problem:
            reason = str(problem) or type(problem).__name__
            log.warning(
                _NOT_TOLD, self._ingress, session, reason.rstrip("."), RESTATE_SWEEP_S
            )
            return
        if answer.status_code == httpx2.codes.NOT_FOUND:
            if place in self._unknown:
                return
            self._unknown.add(place)
            workers = f" of the place {place}" if place else ""
            log.warning(_NO_WORKER, self._ingress, workers, session)
        elif answer.is_error:
            told = answer.text[:200]
            log.warning(_REFUSED, self._ingress, session, answer.status_code, told)
        else:
            self._unknown.discard(place)

    async def serve(self, drive: Drive) -> None:
        """See ``Dispatch.serve``. Drives nothing: ``RestateWorker`` does."""
        await asyncio.Event().wait()

    async def problem(self) -> str:
        """See ``Dispatch.problem``. Whether it knows a worker is seen only when one is woken."""
        try:
            answer = await self._http().get("/restate/health")
        except httpx2.HTTPError as problem:
            reason = str(problem) or type(problem).__name__
            return f"Restate at {self._ingress} does not answer: {reason}."
        if answer.is_error:
            return f"Restate at {self._ingress} is not well: {answer.status_code}."
        return ""

    async def close(self) -> None:
        """See ``Dispatch.close``."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _http(self) -> httpx2.AsyncClient:
        if self._client is None:
            self._client = restate_client(self._ingress, ANSWERS_IN_S)
        return self._client
