"""Tells the outside when a session comes to need a person: by a signed webhook, or by a command of the operator's.

What needs a person is read from the store's list, so nothing is lost with a server. A record that all servers share has
the attempts of each notice: one server at a time claims it, and another one goes on where that one died.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx2
import msgspec

from ullage.display.text import printable
from ullage.encoding import shown_as
from ullage.errors import SettingError, UllageError
from ullage.store.store import Revision, SessionRow, SessionStore, SharedKey
from ullage.turns.standing import NEEDS_A_PERSON, ShownStanding
from ullage_server.policy import (
    MOST_NOTICED,
    NOTICE_CLAIM_S,
    NOTICE_LASTS_S,
    NOTICE_LOOK_S,
    NOTICE_PAUSES_S,
    NOTICE_S,
    NOTICES_AT_ONCE,
)

log = logging.getLogger("ullage.server")

SECRET: Final = "ULLAGE_WEBHOOK_SECRET"  # noqa: S105 - its name
"""The variable with the key that signs a webhook, as ``whsec_`` and base64: no other program of the machine sees it."""

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what a key begins with
SHORTEST_KEY: Final = 24
"""Bytes of a key (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md)."""
MAKE_KEY: Final = (
    f"It takes {SECRET_PREFIX} and {SHORTEST_KEY} bytes or more in base64. "
    f'Make one: echo "{SECRET_PREFIX}$(openssl rand -base64 32)"'
)

NoticeSender = Callable[["StandingNotice"], Awaitable[str]]
"""Sends a notice. An empty text is success, else it says what happened."""


class Attempts(NamedTuple):
    """What became of a notice. ``next_at``: when it is due again, 0 once it was delivered or given up."""

    tries: int
    next_at: float


_attempts: Final = msgspec.json.Decoder(dict[str, Attempts])


class StandingNotice(msgspec.Struct, frozen=True):
    """That a session needs a person. ``id`` is the same at each attempt, and another one for the next state."""

    id: str
    session: str
    title: str
    model: str
    tenant: str
    standing: ShownStanding
    url: str


def notice_of(row: SessionRow, page: str) -> StandingNotice:
    """The notice of a session's state. ``page`` is the address of the server's page."""
    standing = row.standing
    name = f"{row.id} {standing.seq} {standing.since}"
    root = row.id.partition("/")[0]
    return StandingNotice(
        id=sha256(name.encode()).hexdigest()[:32],
        session=row.id,
        title=row.title,
        model=row.model,
        tenant=row.tenant,
        standing=shown_as(ShownStanding, standing),
        url=f"{page}/#session={quote(root, safe='')}",
    )


class Notifier:
    """Sends the notices of a store's sessions to one receiver, whose ``name`` is the same at all servers."""

    def __init__(self, name: str, send: NoticeSender, page: str) -> None:
        self._key = SharedKey("notices", sha256(name.encode()).hexdigest()[:32])
        self._send = send
        self._page = page

    async def run(self, store: SessionStore) -> None:
        """Send until it is cancelled; then another server repeats what was being sent."""
        while True:
            try:
                await self.look(store)
            except UllageError as problem:
                log.warning("Notices wait for the store: %s", problem)
            except Exception:  # one notice that can't be made must not end all others
                log.exception("Notices could not be sent. They are tried again.")
            await asyncio.sleep(NOTICE_LOOK_S)

    async def look(self, store: SessionStore) -> None:
        """Send what is due now, a few notices at the same time. Raises ``StoreUnavailable``."""
        while await self._send_some(store):
            pass

    async def _send_some(self, store: SessionStore) -> bool:
        """Whether there may be more."""
        rows = await store.sessions(limit=MOST_NOTICED, states=NEEDS_A_PERSON)
        notices = {each.id: each for each in (notice_of(r, self._page) for r in rows)}
        values = await store.shared(self._key.kind, [self._key.name])
        old = (values.get(self._key.name, ""),)
        if claim(old, notices, time.time()).values == old:
            return False

        def claimed(old: tuple[str, ...], now: float) -> Revision[list[str]]:
            return claim(old, notices, now)

        names = await store.revise([self._key], claimed)
        results = await asyncio.gather(*(self._send(notices[name]) for name in names))
        failures = dict(zip(names, results, strict=True))

        def reported(old: tuple[str, ...], now: float) -> Revision[None]:
            return report(old, failures, now)

        if names:
            await store.revise([self._key], reported)
        for name, failure in failures.items():
            if failure:
                session = notices[name].session
                log.warning("The notice of %s was not delivered: %s", session, failure)
        return bool(names)


def claim(
    old: tuple[str, ...], notices: Mapping[str, StandingNotice], now: float
) -> Revision[list[str]]:
    """Take the notices that are due, for ``NOTICE_CLAIM_S``. Those of states that are over are forgotten."""
    known = _read(old)
    kept = {name: known[name] for name in notices if name in known}
    due = [
        name
        for name, notice in notices.items()
        if now - notice.standing.since < NOTICE_LASTS_S
        and (name not in kept or 0 < kept[name].next_at <= now)
    ][:NOTICES_AT_ONCE]
    for name in due:
        tries = kept[name].tries + 1 if name in kept else 1
        kept[name] = Attempts(tries, now + NOTICE_CLAIM_S)
    return Revision((_text(kept),), due)


def report(
    old: tuple[str, ...], failures: Mapping[str, str], now: float
) -> Revision[None]:
    """Note what was delivered, and when the others are due again."""
    known = _read(old)
    for name, failure in failures.items():
        if name not in known:
            continue
        tries = known[name].tries
        is_over = not failure or tries > len(NOTICE_PAUSES_S)
        next_at = 0.0 if is_over else now + NOTICE_PAUSES_S[tries - 1]
        known[name] = Attempts(tries, next_at)
    return Revision((_text(known),), None)


def _read(old: tuple[str, ...]) -> dict[str, Attempts]:
    return _attempts.decode(old[0]) if old[0] else {}


def _text(known: Mapping[str, Attempts]) -> str:
    return msgspec.json.encode(known).decode() if known else ""


def webhook_sender(url: str, key: bytes) -> NoticeSender:
    """Sends notices to the URL of ``--webhook``, signed as https://www.standardwebhooks.com says.

    The operator chooses it, so private addresses are allowed. Redirects are not followed, and of the answer only the
    status is read: 410 is the end of a notice, as the receiver wants no more of it. Raises ``SettingError``.
    """
    try:
        parts = httpx2.URL(url)
    except httpx2.InvalidURL:
        parts = httpx2.URL("")
    if parts.scheme not in ("http", "https") or not parts.host:
        raise SettingError("--webhook needs an address, as https://example.com/ullage.")

    async def send(notice: StandingNotice) -> str:
        at = datetime.now(UTC)
        body = body_of(notice, at)
        headers = {"content-type": "application/json"} | signed(notice.id, at, body, key)
        try:
            async with (
                asyncio.timeout(NOTICE_S),
                httpx2.AsyncClient(timeout=NOTICE_S, follow_redirects=False) as client,
                client.stream("POST", url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except (httpx2.HTTPError, OSError, TimeoutError) as problem:
            return f"{type(problem).__name__} {problem}".strip()
        return "" if status < 300 or status == 410 else f"the receiver answered {status}"

    return send


def body_of(notice: StandingNotice, at: datetime) -> bytes:
    """The JSON of a notice. Of what was said it has the title, and of calls the tool."""
    data: dict[str, Any] = msgspec.to_builtins(notice)
    del data["id"]
    kind = f"session.{notice.standing.state}"
    return msgspec.json.encode({"type": kind, "timestamp": at.isoformat(), "data": data})


def signed(name: str, at: datetime, body: bytes, key: bytes) -> dict[str, str]:
    """The headers with the signature of a message."""
    seconds = str(int(at.timestamp()))
    content = b"%b.%b.%b" % (name.encode(), seconds.encode(), body)
    signature = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
    return {
        "webhook-id": name,
        "webhook-timestamp": seconds,
        "webhook-signature": f"v1,{signature}",
    }


def webhook_key(environment: Mapping[str, str], file: str) -> bytes:
    """The key of ``--webhook-secret FILE``, or of the variable. Raises ``SettingError``."""
    place = file or SECRET
    try:
        text = Path(file).read_text("utf-8") if file else environment.get(SECRET, "")
        key = base64.b64decode(text.strip().removeprefix(SECRET_PREFIX), validate=True)
    except (OSError, UnicodeDecodeError, binascii.Error) as problem:
        raise SettingError(
            f"{place}: no key can be read ({problem}). {MAKE_KEY}"
        ) from problem
    if len(key) < SHORTEST_KEY:
        raise SettingError(f"{place} has no key, or a short one. {MAKE_KEY}")
    return key


def command_sender(words: Sequence[str]) -> NoticeSender:
    """Runs a program with the title and the text of a notice behind its own arguments, without a shell."""

    async def send(notice: StandingNotice) -> str:
        title = printable(f"Ullage: {notice.title or notice.session}")
        environment = {**os.environ}
        environment.pop(SECRET, None)
        try:
            program = await asyncio.create_subprocess_exec(
                *words,
                title,
                printable(notice.standing.line),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
            )
        except OSError as problem:
            return f"{words[0]}: {problem.strerror}"
        try:
            async with asyncio.timeout(NOTICE_S):
                code = await program.wait()
        except TimeoutError:
            return f"{words[0]} did not end within {NOTICE_S:.0f} s"
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
        return f"{words[0]} ended with {code}" if code else ""

    return send
