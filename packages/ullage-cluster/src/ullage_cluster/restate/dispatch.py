"""A dispatch for many machines: a Restate server keeps the wakes, and calls one worker at a time for a session."""

from __future__ import annotations

import logging
import socket
from typing import Final
from urllib.parse import quote

import httpx2

from ullage.errors import MissingExtra, SettingError
from ullage.installation import extra_command
from ullage_agent.runtime.dispatch import Drive, ListenAddress
from ullage_cluster.restate.client import restate_client
from ullage_cluster.restate.names import HANDLER, object_of

log = logging.getLogger("ullage.agent")

SWEEP_S: Final = 5.0
"""The longest time that a session waits whose wake was lost. Restate keeps wakes, so few are."""

ANSWERS_IN_S: Final = 5.0

_NOT_TOLD: Final = (
    "Restate at %s was not told to have %s driven: %s. It is told again within %.0f s."
)
_NO_WORKER: Final = "Restate at %s knows no worker%s, so %s waits. Start one, and run `ullage admin dispatch register`."
_REFUSED: Final = "Restate at %s refused to have %s driven: %d %s"


class RestateDispatch:
    """Has sessions driven by the workers that are registered at Restate. ``ingress`` is where it takes requests: a URL,
    or ``unix:PATH``.

    A process with ``listen`` is such a worker. It refuses requests that the owner of the public ``key`` has not signed;
    without a key it takes all. Workers of one machine may share an address: the system spreads
    connections over them, and Restate makes one for each drive. Raises ``SettingError`` for an address that can't be
    listened on, and ``MissingExtra``.
    """

    takes_over = True
    sweep_s = SWEEP_S

    def __init__(
        self,
        ingress: str,
        listen: ListenAddress | None = None,
        *,
        place: str = "",
        key: str = "",
    ) -> None:
        self.place = place
        self._ingress = ingress
        self._keys = [key] if key else []
        self.address = listen
        self._listening: socket.socket | None = None
        if listen is not None:
            _check_installed()
            self._listening = _bound(listen)
            self.address = ListenAddress(*self._listening.getsockname()[:2])
        self._client: httpx2.AsyncClient | None = None
        self._unknown: set[str] = set()
        """The places of which Restate knew no worker the last time."""

    async def wake(self, session: str, why: int, place: str = "") -> None:
        """See ``Dispatch.wake``. A wake that Restate does not take is logged, for a place without a worker once: the
        sweep repeats it."""
        key = quote(session, safe="")
        try:
            answer = await self._http().post(
                f"/{object_of(place)}/{key}/{HANDLER}/send",
                json=why,
                headers={"idempotency-key": f"{key}@{why}"},
            )
        except httpx2.HTTPError as problem:
            reason = str(problem) or type(problem).__name__
            log.warning(_NOT_TOLD, self._ingress, session, reason.rstrip("."), SWEEP_S)
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
        """See ``Dispatch.serve``. Raises ``SettingError`` where the address was taken meanwhile."""
        if self.address is None:
            raise SettingError(
                "This process can't drive under Restate: it has no address that Restate calls. Give it one."
            )
        from ullage_cluster.restate.endpoint import serve_restate

        listening, self._listening = self._listening, None
        bound = listening or _bound(self.address)
        await serve_restate(bound, drive, self.place, self._keys)

    async def problem(self) -> str:
        """See ``Dispatch.problem``. Whether a worker is registered is known only when one is called."""
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


def _check_installed() -> None:
    try:
        import ullage_cluster.restate.endpoint  # noqa: F401
    except ImportError as problem:
        raise MissingExtra(
            f"A worker under Restate needs more than is installed ({problem.name}). Install it: "
            f"{extra_command('restate')}"
        ) from problem


def _bound(address: ListenAddress) -> socket.socket:
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            *address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(place)
    except (OSError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise SettingError(
            f"{address.host}:{address.port} can't be listened on for Restate: {reason}. Give another --listen."
        ) from problem
    return listening
