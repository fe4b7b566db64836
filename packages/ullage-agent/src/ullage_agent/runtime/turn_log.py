"""The log of the process that drives: a line for each turn that fails or waits for a person."""

from __future__ import annotations

import logging

from ullage.events import Event
from ullage.turns.standing import AT_REST, stand
from ullage_agent.runtime.session_runtime import SessionRuntime

log = logging.getLogger("ullage.agent")


class TurnLog:
    """Listens to a session's ledger. Silent for sessions that another process drives, whose log has the line.

    A record has ``session``, ``tenant``, ``model`` and ``error`` as attributes too, for logs with fields.
    """

    def __init__(self, runtime: SessionRuntime) -> None:
        self._runtime = runtime
        self._standing = AT_REST

    def __call__(self, event: Event) -> None:
        """Log the event if it begins a state in which a person is needed."""
        standing = self._standing = stand(self._standing, event)
        ledger = self._runtime.ledger
        is_begun = standing.needs_person and standing.seq == event.seq
        if not is_begun or ledger.lease is None:
            return
        fields = {
            "session": ledger.session,
            "tenant": self._runtime.shared.quotas.tenant,
            "model": self._runtime.settings.model,
            "error": standing.kind,
        }
        level = logging.WARNING if standing.state == "failed" else logging.INFO
        text = (
            "The session %(session)s of the tenant %(tenant)s, with %(model)s: %(line)s"
        )
        known = {name: value for name, value in fields.items() if value}
        log.log(level, text, {**fields, "line": standing.line}, extra=known)
