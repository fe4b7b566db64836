"""Many sessions in one process: opened on demand, driven with or without clients, closed when idle.

async with Host(agent) as host:
    session = await host.look("notes")          # open from now on; looking drives nothing
    await session.send("Go on.")                # a command drives it, and no client has to stay for the answer
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from weakref import WeakValueDictionary

from ullage.display.text import quoted
from ullage.errors import (
    CommandRefused,
    LeaseLost,
    SessionBusy,
    SessionNotFound,
    SettingError,
    StoreUnavailable,
    UllageError,
)
from ullage.events import FirstCall
from ullage.store.refusals import check_new_id
from ullage.store.store import DEFAULT_TENANT, SessionStore
from ullage.store.tenants import TenantStore, prefix_of
from ullage.tasks import background, start, stop, to_completion
from ullage_agent.loop.quotas import TenantQuota
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.dispatch import Dispatch, Embedded
from ullage_agent.runtime.policy import (
    ANSWERS_IN_S,
    IDLE_S,
    POLL_S,
    RETRY_S,
    SHORTEST_SWEEP,
    WOKEN_AT_ONCE,
)
from ullage_agent.runtime.quotas import Quotas, new_session, new_session_id
from ullage_agent.runtime.session import Session
from ullage_agent.runtime.session_runtime import AgentRuntime

log = logging.getLogger("ullage.agent")

ANY_NUMBER: Final = 2**31
"""A limit on sessions that limits nothing."""


class HostedSession(Session[Any]):
    """A session of a host: its commands wake the driver that the ``dispatch`` chooses, here or in another process."""

    def __init__(self, agent: Agent[Any], session: str, host: Host) -> None:
        super().__init__(
            agent,
            session,
            resume=False,
            settings={},
            output=agent._output,
            output_retries=agent._output_retries,
        )
        self._dispatch = host.dispatch
        self._drives_here = host.drives > 0
        self._awaits_other = not host.attends

    async def _place_in(self, store: SessionStore) -> str:
        """The place of the session, which is not created: it was deleted while it is opened, or is there."""
        return (await store.about(self.id)).place

    @property
    def _is_driven_elsewhere(self) -> bool:
        """Whether other processes drive the session: those of its place, or all but this one."""
        return not self._drives_here or self._driving.place != self._open.place

    async def _ask_driver(self) -> None:
        is_driven_here = not self._idle.is_set()
        if is_driven_here:
            await super()._ask_driver()
            return
        self._drives = True
        about = await self._open.store.about(self.id)
        await self._dispatch.wake(self.id, about.seq, about.place)

    async def resume_left(self) -> None:
        """Have unfinished work driven: an interrupted turn, queued messages. Does nothing if there is none.

        Raises ``SettingError`` if a tool needs ``deps`` that the session was opened without.
        """
        self._check_deps(self._open)
        await self._ask_driver()

    def expect_driver(self) -> None:
        """Count as at work from here on: ``driven`` follows."""
        self._idle.clear()

    async def driven(self) -> None:
        """Drive the session here until it rests or has another driver; ``failure`` says why it can't be.

        Raises ``SettingError`` as ``resume_left`` does.
        """
        try:
            self._check_deps(self._open)
        except SettingError:
            self._idle.set()
            raise
        await super()._ask_driver()
        await self._idle.wait()

    async def until_idle(self) -> None:
        """Return once this process does no work for the session."""
        await self._idle.wait()

    def retire(self) -> None:
        """Drive the session no further than to the end of the current step. What is left is due for another driver."""
        self._driving.retire()

    def _beside_cancel(self) -> AbstractAsyncContextManager[Any]:
        """Where other processes drive the session and none of them has it, this one carries the cancel out."""
        if self._is_driven_elsewhere:
            return background(self._settle_cancel())
        return super()._beside_cancel()

    async def _settle_cancel(self) -> None:
        while True:
            with contextlib.suppress(LeaseLost, SessionBusy):
                return await self._driving.settle_cancel()
            await asyncio.sleep(POLL_S)


class Host:
    """Sessions of one agent, for interfaces that come and go. Use as ``async with``. Belongs to one event loop.

    With ``attends`` it also takes over the sessions of its store whose driver ended in any process.
    ``drives`` is how many sessions it drives at once; 0: none, it only stores and shows, and its dispatch has them
    driven elsewhere.
    """

    def __init__(
        self,
        agent: Agent[Any],
        *,
        idle_s: float = IDLE_S,
        dispatch: Dispatch | None = None,
        attends: bool = False,
        drives: int = ANY_NUMBER,
    ) -> None:
        self.agent = agent
        self.dispatch = dispatch or Embedded()
        self.attends = attends
        self.drives = drives
        self._slots = asyncio.Semaphore(drives)
        self._drives_begun = 0
        self._idle_s = idle_s
        self._shared: AgentRuntime | None = None
        self._agents: dict[str, Agent[Any]] = {}
        """The agent's copies for tenants, by their names."""
        self._sessions: dict[str, HostedSession] = {}
        self._used: dict[str, float] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._taking_over: asyncio.Task[None] | None = None
        self._failed: dict[str, float] = {}
        """When each of the sessions failed that are left alone for ``RETRY_S``."""
        self._woken: dict[str, int] = {}
        """The last sweep that woke each of those that still wait, as where their place has no worker."""
        self._sweeps = 0
        self.swept_sessions = 0
        """How many sessions its search for lost work has woken."""
        self.clock = time.monotonic
        self._is_retiring = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Host:
        self.agent._place, self.agent._is_hosted = self.dispatch.place, True
        self._shared = await self.agent._enter()
        self._is_retiring = False
        self._tasks = [
            start(self._close_idle(), name="host: closing idle sessions"),
        ]
        if self.drives:
            driving = start(self.dispatch.serve(self._drive), name="host: driving")
            self._tasks.append(driving)
        if self.attends and self.drives:
            self._taking_over = start(self._take_over(), name="host: taking over")
        return self

    async def __aexit__(self, *problem: object) -> None:
        """Stop all sessions without loss: the next process resumes unfinished turns."""
        await self._end_taking_over()
        await stop(*self._tasks)
        sessions, self._sessions = list(self._sessions.values()), {}
        closed = await asyncio.gather(
            *(session.close() for session in sessions), return_exceptions=True
        )
        for session, how in zip(sessions, closed, strict=True):
            if isinstance(how, Exception):
                log.error("The session %s did not close: %s", session.id, how)
        self._shared = None
        await self.dispatch.close()
        agents, self._agents = list(self._agents.values()), {}
        for agent in agents:
            await agent._leave()
        self.agent._place, self.agent._is_hosted = "", False
        await self.agent._leave()

    async def drain(self) -> None:
        """Take no more sessions, and return once each one that is driven here has ended its current step.

        Whoever does not want to wait so long cancels this, and leaving the host stops the steps. The rest of the work
        is due: another server takes it over, or the next one.
        """
        self._is_retiring = True
        await self._end_taking_over()
        for session in self._sessions.values():
            session.retire()
        for session in tuple(self._sessions.values()):
            await session.until_idle()

    async def _end_taking_over(self) -> None:
        if self._taking_over is not None:
            await stop(self._taking_over)
            self._taking_over = None

    @property
    def store(self) -> SessionStore:
        """The store of the sessions."""
        return self._open.store

    def first_calls(self) -> tuple[FirstCall, ...]:
        """What earlier sessions' first calls held beyond their logs, as the user's store has it. Reads files."""
        return self.agent._first_calls()

    @property
    def _open(self) -> AgentRuntime:
        if self._shared is None:
            raise RuntimeError("The host is not open: use `async with`.")
        return self._shared

    async def _shared_by(self, tenant: str) -> AgentRuntime:
        """What the sessions of a tenant share: a store, a root and MCP servers that no other tenant has."""
        if tenant == DEFAULT_TENANT:
            return self._open
        if tenant not in self._agents:
            async with self._lock(f"the tenant {tenant}"):
                if tenant not in self._agents:
                    shared = self._open
                    store = TenantStore(shared.store, tenant)
                    agent = self.agent._copied(store, shared.client)
                    await agent._enter()
                    self._agents[tenant] = agent
        found = self._agents[tenant]._shared
        assert found is not None, "an agent that was entered has been left"
        return found

    async def begin(
        self,
        session: str = "",
        settings: Mapping[str, object] | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        place: str | None = None,
    ) -> HostedSession:
        """A new session, at the host's place where none is named. Raises ``CommandRefused`` for a taken
        id or one that is not driven, ``QuotaReached``, ``SettingError``, ``StoreUnavailable``."""
        own = {
            name: value for name, value in (settings or {}).items() if value is not None
        }
        shared = await self._shared_by(tenant)
        agent = self._agents.get(tenant, self.agent)
        resolved = shared.commanded(own)
        agent._check_settings(resolved, own)
        name = session or prefix_of(tenant) + new_session_id()
        _check_driven(name)
        events = await agent._first_events(resolved, own)
        async with new_session(shared.store, name):
            where = shared.place if place is None else place
            await shared.store.create(name, events, place=where)
        return await self.wake(name)

    async def look(self, session: str) -> HostedSession:
        """A session of the store, opened if it is not. Raises ``SessionNotFound``, ``StoreUnavailable``.

        Nothing is driven before a command to it.
        """
        held = self._sessions.get(session)
        if held is None:
            async with self._lock(session):
                held = self._sessions.get(session)
                if held is None:
                    tenant = (await self.store.about(session)).tenant
                    await self._shared_by(tenant)
                    agent = self._agents.get(tenant, self.agent)
                    held = HostedSession(agent, session, self)
                    await held.__aenter__()
                    if self._is_retiring:
                        held.retire()
                    self._sessions[session] = held
        self._used[session] = time.monotonic()
        return held

    async def wake(self, session: str) -> HostedSession:
        """Have unfinished work of the session resumed. Raises as ``look`` does, and ``SettingError``.

        A tool call's own session is only opened: it belongs to the session that made the call.
        """
        held = await self.look(session)
        if not is_child(session):
            await held.resume_left()
        return held

    async def forget(self, session: str) -> None:
        """Close an open session at once; its work in progress is left as by a crash."""
        async with self._lock(session):
            held = self._sessions.pop(session, None)
            self._used.pop(session, None)
            if held is not None:
                await held.close()

    def _lock(self, name: str) -> asyncio.Lock:
        """The lock of this name, which is dropped after its last user."""
        return self._locks.setdefault(name, asyncio.Lock())

    async def _take_over(self) -> None:
        """Sweep until cancelled. A store that fails is asked again, and the log says each problem once."""
        told = ""
        while True:
            try:
                woken = await self.sweep()
            except UllageError as problem:
                if told != str(problem):
                    told = str(problem)
                    log.warning("Unfinished sessions can't be found: %s", told)
            else:
                told = ""
                if woken:
                    log.info("Resuming %d sessions: %s", len(woken), ", ".join(woken))
            share = random.uniform(SHORTEST_SWEEP, 1.0)  # noqa: S311
            await asyncio.sleep(share * self.dispatch.sweep_s)

    async def sweep(self) -> list[str]:
        """Wake the sessions that are due and have no driver; returns their ids. Raises ``StoreUnavailable``.

        Those that earlier sweeps woke come last, the latest woken last of all: any number of sessions that no driver
        takes delays no other.
        """
        now = self.clock()
        self._failed = {
            name: at for name, at in self._failed.items() if now - at < RETRY_S
        }
        most = min(WOKEN_AT_ONCE, self.drives - self._drives_begun)
        if most <= 0:
            return []
        limit = most + len(self._failed) + len(self._woken)
        found = await self.store.unattended(limit, [self.dispatch.place])
        due = {each.id: each for each in found if each.id not in self._failed}
        self._woken = {name: at for name, at in self._woken.items() if name in due}
        woken = sorted(due, key=lambda name: self._woken.get(name, 0))[:most]
        for name in woken:
            await self.dispatch.wake(name, due[name].seq, due[name].place)
        self._sweeps += 1
        self._woken.update(dict.fromkeys(woken, self._sweeps))
        self.swept_sessions += len(woken)
        return woken

    def _drive(self, session: str) -> Awaitable[bool]:
        held = self._sessions.get(session)
        if held is not None:
            held.expect_driver()  # at once, so that no look comes before the driver
        return self._driven(session, held)

    async def _driven(self, session: str, held: HostedSession | None) -> bool:
        """See ``Drive``. A tool call's own session is driven by that of the call."""
        if is_child(session):
            return True
        self._drives_begun += 1
        try:
            async with self._slots:
                failure = await self._failure_of_driving(session, held)
        except asyncio.CancelledError:
            await to_completion(self.forget(session))
            raise
        finally:
            self._drives_begun -= 1
        if self._is_retiring or isinstance(failure, StoreUnavailable):
            return False
        if failure is not None:
            self._failed[session] = self.clock()
        return True

    async def _failure_of_driving(
        self, session: str, held: HostedSession | None
    ) -> BaseException | None:
        """``held`` is the session if it was open when it was woken: forgotten since, it is not opened again."""
        try:
            held = held or await self.look(session)
            if not held._is_closing:
                await held.driven()
        except SessionNotFound:  # deleted, or a wake that somebody else has sent
            log.info("There is no session %s to be driven.", quoted(session))
            return None
        except UllageError as problem:
            log.warning("The session %s can't be resumed: %s", session, problem)
            return problem
        if held._is_closing:
            return StoreUnavailable(
                f"The session {session} was closed while it was driven. Its work is unfinished. Open it again "
                "to continue."
            )
        return held._failure

    @property
    def is_draining(self) -> bool:
        """Whether it takes no more sessions, for good."""
        return self._is_retiring

    async def problems(self) -> dict[str, str]:
        """Why no work should be given to this process now, by what it lacks; empty while it is ready."""
        if self._is_retiring:
            return {"draining": "It takes no more sessions, and ends after its steps."}
        checks = {"store": self._store_problem(), "dispatch": self.dispatch.problem()}
        found = await asyncio.gather(*(_in_time(check) for check in checks.values()))
        return {
            lack: problem for lack, problem in zip(checks, found, strict=True) if problem
        }

    async def _store_problem(self) -> str:
        try:
            await self.store.check()
        except StoreUnavailable as problem:
            return str(problem)
        return ""

    @property
    def open_sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    @property
    def busy_sessions(self) -> int:
        """How many of them are at work."""
        return sum(not session._is_idle for session in self._sessions.values())

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(min(self._idle_s, 30.0))
            await self._close_unused()

    async def _close_unused(self) -> None:
        """Close the sessions that neither worked nor were asked for in the last ``idle_s``."""
        now = time.monotonic()
        for name, session in list(self._sessions.items()):
            if not session._is_idle:
                self._used[name] = now
            elif now - self._used.get(name, now) > self._idle_s:
                await self.forget(name)


class TenantHost:
    """A host as one tenant's callers see it: their sessions alone."""

    def __init__(self, host: Host, tenant: str) -> None:
        self.tenant = tenant
        self.store = TenantStore(host.store, tenant)
        self._host = host

    def id_of(self, given: str) -> str:
        """The id of a new session for which the caller gave this one, or none."""
        return prefix_of(self.tenant) + (given or new_session_id())

    async def begin(
        self, session: str, settings: Mapping[str, object], place: str | None = None
    ) -> Session:
        """See ``Host.begin``."""
        return await self._host.begin(
            self.id_of(session), settings, tenant=self.tenant, place=place
        )

    async def look(self, session: str) -> Session:
        """See ``Host.look``. Raises ``SessionNotFound`` for another tenant's session."""
        await self.store.own(session)
        return await self._host.look(session)

    async def delete(self, session: str) -> None:
        """Delete a session, whose work in this process is stopped first.

        Raises ``SessionNotFound`` for another tenant's, ``SessionBusy`` while another process drives it.
        """
        await self.store.own(session)
        await self._host.forget(session)
        await self.store.delete(session)
        await self._host.forget(session)  # a request between the two opened it

    @property
    def place(self) -> str:
        """Where sessions are begun for which no place is named."""
        return self._host.dispatch.place

    async def quota(self) -> TenantQuota | None:
        """The tenant's quota with what was used of it today, if it has one."""
        return await Quotas(self.store).today()

    def first_calls(self) -> tuple[FirstCall, ...]:
        """See ``Host.first_calls``. None for a tenant: they are learnt from sessions of all of them."""
        return self._host.first_calls() if self.tenant == DEFAULT_TENANT else ()

    @property
    def open_sessions(self) -> int:
        """How many sessions are open in this process, of all tenants."""
        return self._host.open_sessions

    @property
    def busy_sessions(self) -> int:
        """How many of them are at work."""
        return self._host.busy_sessions


async def _in_time(check: Coroutine[None, None, str]) -> str:
    """What a check of readiness gives; one without an answer has failed."""
    try:
        async with asyncio.timeout(ANSWERS_IN_S):
            return await check
    except TimeoutError:
        return f"It did not answer within {ANSWERS_IN_S:.0f} s."


def _check_driven(session: str) -> None:
    """Raise ``CommandRefused`` for the id of a session that no host would drive."""
    check_new_id(session)
    if is_child(session):
        raise CommandRefused(
            f"{quoted(session)} can't be the id of a session: behind a slash is a tool call, whose session is driven "
            "by that of the call. Choose another id."
        )


def is_child(session: str) -> bool:
    """Whether a session belongs to a tool call of another one."""
    return "/" in session
