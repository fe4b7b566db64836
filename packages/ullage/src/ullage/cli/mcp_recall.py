"""What ``ullage mcp --recall`` answers: what left the window of this directory's session, word for word.

The only answers of the server that hold the text of a conversation.
"""

from __future__ import annotations

import time
from pathlib import Path

from ullage.cli.mcp_answers import AnswerRules, place_of_id
from ullage.cli.sessions import places_here
from ullage.display.text import quoted
from ullage.errors import InputError
from ullage.importers import FoundSession, find_sessions
from ullage.importers.growing import GrowingLog
from ullage.meter.meter import Meter
from ullage.store.policy import RECALL_LOG_BYTES, RECALL_QUOTED
from ullage.store.recall import RecallIndex, states


class OldText:
    """What left the windows of sessions that were begun in this directory, read on from where the last look ended.

    The client does not say which session it is in. It is the one that was written to since this server began, as a
    client starts a server of its own; among several, the one whose newest messages have the words of ``quote``.
    """

    def __init__(self) -> None:
        self._started = time.time()
        self._logs: dict[tuple[Path, str], RecallLog] = {}

    def recalled(
        self,
        rules: AnswerRules,
        query: str = "",
        read: str = "",
        session: str = "",
        quote: str = "",
    ) -> dict[str, str]:
        """The answer, and the session that it is of. Raises ``InputError``."""
        here = rules._replace(is_here_only=True)
        log = self._log_of(self._meant(here, session, quote))
        answer = log.index.recall(query, read=read, in_view=states(log.meter.state.view))
        return {"session": log.id, "text": answer.text}

    def _meant(self, rules: AnswerRules, session: str, quote: str) -> FoundSession:
        if session:
            return place_of_id(rules, session)
        here = list(places_here(find_sessions().once.places))
        active = [place for place in here if place.modified >= self._started]
        found = active or here[:1] or [place_of_id(rules, "")]
        if len(found) > 1 and quote:
            found = [place for place in found if self._log_of(place).has_said(quote)]
        if len(found) == 1:
            return found[0]
        raise InputError(
            f"{len(found)} sessions of this directory are in use. Call again with `quote`: some ten words of the "
            "user's last message, word for word."
        )

    def _log_of(self, place: FoundSession) -> RecallLog:
        if not place.session and place.path.stat().st_size > RECALL_LOG_BYTES:
            raise InputError(
                f"The log of {quoted(place.id)} has more than {RECALL_LOG_BYTES >> 20} MB, the most that is searched. "
                "Begin a new session, or search the file itself."
            )
        log = self._logs.setdefault((place.path, place.session), RecallLog(place))
        log.look()
        return log


class RecallLog:
    """A growing log, its meter and what left its window."""

    def __init__(self, place: FoundSession) -> None:
        self.id = place.id
        self.index = RecallIndex()
        self.meter = Meter()
        self._log = GrowingLog(place.path, place.session)

    def look(self) -> None:
        """Read what is new. Raises ``InputError``."""
        growth = self._log.look()
        while growth is not None:
            if growth.is_whole:
                self.index, self.meter = RecallIndex(), Meter()
            for event in growth.certain:
                self.meter.apply(event)
                self.index.apply(event)
            growth = self._log.look() if growth.is_behind else None

    def has_said(self, quote: str) -> bool:
        """Whether one of the newest messages has these words, whatever the white space between them."""
        wanted = " ".join(quote.split())
        newest = self.meter.messages[-RECALL_QUOTED:]
        return any(wanted in " ".join(message.text.split()) for message in newest)
