"""Opens a session: the folds of its events, and what carrying out its steps needs."""

from __future__ import annotations

from ullage.agent.loop import Loop, apply
from ullage.meter.meter import Meter
from ullage.runtime.ledger import Ledger
from ullage.runtime.work import Shared, Work, sources_of


async def opened(shared: Shared, session: str) -> Work:
    """The session as the ledger has it. Raises ``SessionNotFound``, ``StoreUnavailable``, ``SettingError``."""
    events = await shared.store.read(session)
    loop = Loop()
    meter = Meter(estimator=shared.resolve({}).settings.estimator, session=session)
    for event in events:
        meter.apply(event)
        loop = apply(loop, event)
    settings = shared.resolve(loop.settings).settings
    ledger = Ledger(shared.store, session, meter, loop)
    work = Work(shared=shared, ledger=ledger, settings=settings, tools=shared.tools(settings))
    for event in events:
        work.note(event)
    work.wanted = [source for message in meter.messages for source in sources_of(message)]
    ledger.listeners.append(work.note)
    return work
