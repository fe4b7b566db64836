"""Named tokens with scopes and an expiry: records in the user's data directory, or in a database that machines share.

A running server notices each change, in a database within some seconds. Stored is the SHA-256 of each token, which is
enough for 256 random bits; the token itself is shown once, when it is created. Once there was a token tokens are
required, even if no valid one is left.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.bounds import UNREADABLE
from ullage.errors import CommandRefused, SettingError, UllageError
from ullage.guessing import WrongTokens, guessable
from ullage.store.records import RecentRecords, Records
from ullage.store.store import DEFAULT_TENANT
from ullage_server.api_types import Link
from ullage_server.policy import MOST_LINKS

log = logging.getLogger("ullage.server")

TokenScope = Literal["read", "write", "approve", "admin"]

SCOPES: Final[tuple[TokenScope, ...]] = ("read", "write", "approve", "admin")

INCLUDED: Final[Mapping[TokenScope, frozenset[TokenScope]]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "approve": frozenset({"read", "approve"}),
    "admin": frozenset(SCOPES),
}
"""All scopes that a scope allows."""

PREFIX: Final = "ullage_"
"""The beginning of every token, by which scanners find leaked ones."""


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored token. Times are seconds since 1970; without ``expires`` it does not expire.

    One with a ``session`` reads that session alone, with those of its tool calls: the one that was ``created`` then and
    none that has its id later. ``by`` is the digest of the token that made it, which is revoked with it.
    """

    name: str
    sha256: str
    scopes: tuple[TokenScope, ...]
    created: float
    expires: float | None = None
    tenant: str = DEFAULT_TENANT
    session: str = ""
    session_created: float = 0.0
    by: str = ""

    def is_expired(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires is not None and self.expires <= now


_RECORD: Final = msgspec.json.Decoder(TokenRecord)

KIND: Final = "tokens"
LINKS: Final = "links"
"""The kind of tokens that read one session. They are apart: such a one makes no server require tokens."""

_REQUIRED: Final = "-"
"""The record that outlives all tokens: no name of a token begins so."""


class Bearer(NamedTuple):
    """The token of a request: its name and what it allows. ``digest`` is empty if no token is required.

    The token that the server was started with has no name.

    It is for the sessions of ``tenant`` alone.
    """

    name: str
    scopes: frozenset[TokenScope]
    expires: float | None = None
    digest: str = ""
    tenant: str = DEFAULT_TENANT
    session: str = ""
    """The one session that it reads; empty: all of its tenant."""
    session_created: float = 0.0


ANYONE: Final = Bearer("", frozenset(SCOPES))
"""Every user and program of this machine, where no token is required."""


class NamedTokens:
    """The tokens of one place: a record for each, and one that says that tokens are required.

    Every method raises ``UllageError`` for a place that can't be read, written or trusted.
    """

    def __init__(self, records: Records, kind: str = KIND) -> None:
        self.records = records
        self._kind = kind

    @property
    def shown(self) -> str:
        """The place, for messages."""
        return self.records.shown

    def recent(self) -> RecentRecords:
        """The records as they were at most some seconds ago. Does not wait after the first call."""
        return self.records.recent(self._kind)

    def read(self) -> tuple[TokenRecord, ...] | None:
        """All tokens, including expired ones; ``None`` if there never was one. Blocks."""
        return self.decoded(self.records.all(self._kind))

    def add(
        self,
        name: str,
        scopes: tuple[TokenScope, ...],
        *,
        expires: float | None,
        now: float,
        tenant: str = DEFAULT_TENANT,
        session: str = "",
        session_created: float = 0.0,
        by: str = "",
    ) -> str:
        """Store a new token; returns its text, which can't be retrieved again.

        Raises ``SettingError`` for a name that is taken.
        """
        token = new_token()
        encoded = msgspec.json.encode(
            TokenRecord(
                name=name,
                sha256=digest_of(token),
                scopes=scopes,
                created=now,
                expires=expires,
                tenant=tenant,
                session=session,
                session_created=session_created,
                by=by,
            )
        )

        def added(body: bytes | None) -> bytes:
            if body not in (None, encoded):
                raise SettingError(
                    f"The token {name!r} exists already: choose another name, or revoke it first."
                )
            return encoded

        self.records.change(self._kind, _REQUIRED, lambda body: body or b"{}")
        self.records.change(self._kind, name, added)
        return token

    def drop_expired(self, now: float) -> list[TokenRecord]:
        """Remove the tokens that have expired; returns the others."""
        left = []
        for each in self.read() or ():
            if each.is_expired(now):
                self.records.change(self._kind, each.name, lambda _: None)
            else:
                left.append(each)
        return left

    def revoke(self, name: str) -> int:
        """Remove a token; returns how many are left. Raises ``SettingError`` where there is none of this name."""
        if name == _REQUIRED or name not in self.records.all(self._kind):
            raise SettingError(
                f"There is no token {name!r} in {self.shown}. Check the name, and --store."
            )
        self.records.change(self._kind, name, lambda _: None)
        return len(self.read() or ())

    def decoded(self, bodies: Mapping[str, bytes]) -> tuple[TokenRecord, ...] | None:
        """The tokens of these records; ``None`` if there never was one. Raises ``SettingError``."""
        named = [body for name, body in bodies.items() if name != _REQUIRED]
        try:
            found = tuple(_RECORD.decode(body) for body in named)
        except UNREADABLE as problem:
            raise SettingError(
                f"The tokens in {self.shown} can't be read: {problem}. Update Ullage, or revoke the token."
            ) from problem
        return found if bodies else None


def digest_of(token: str) -> str:
    """The stored digest of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_token() -> str:
    """The text of a new token."""
    return PREFIX + secrets.token_urlsafe(32)


class Tokens:
    """The tokens a server accepts: the token it was started with, and those now in each of ``sources``.

    If a source becomes unreadable none of its tokens is accepted; the log says so. Raises ``SettingError`` for a
    ``token`` that can be guessed.
    """

    def __init__(
        self,
        token: str = "",
        *sources: NamedTokens,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if token and (problem := guessable(token)):
            raise SettingError(problem)
        self._launched = [digest_of(token)] if token else []
        """Digests of tokens that allow everything until the server ends."""
        self._link = ""
        self._clock = clock
        self._read = [_ReadTokens(source) for source in sources]
        self._links = [NamedTokens(source.records, LINKS) for source in sources]
        self._read_links = [_ReadTokens(links) for links in self._links]
        self.wrong = WrongTokens(clock)

    def are_required(self) -> bool:
        """Whether a request needs a token now."""
        self._refresh()
        return bool(self._launched) or any(each.is_required for each in self._read)

    def new_link(self) -> str:
        """A word that ``redeem`` exchanges for a token, once. The link before is void."""
        word = secrets.token_urlsafe(32)
        self._link = digest_of(word)
        return word

    def redeem(self, word: str) -> str:
        """A token that allows everything until the server ends; empty if the word was used, or never was one."""
        if not self._link or not hmac.compare_digest(digest_of(word), self._link):
            return ""
        self._link = ""
        token = new_token()
        self._launched.append(digest_of(token))
        return token

    def add_link(
        self,
        session: str,
        bearer: Bearer,
        lasts_s: float,
        *,
        session_created: float = 0.0,
    ) -> Link:
        """A token that reads this session alone, at most as long as the token of who makes it lasts. Blocks.

        Raises ``CommandRefused`` where no token is required, or where the tenant has many links.
        """
        if not self.are_required() or not self._links:
            raise CommandRefused(
                "This server keeps no tokens, so it makes no links. Give the address of its page."
            )
        links, now = self._links[-1], self._clock()
        found = [each for each in links.drop_expired(now) if each.tenant == bearer.tenant]
        if len(found) >= MOST_LINKS:
            raise CommandRefused(
                f"There are {MOST_LINKS} links already. Wait until some expire, or revoke one with `ullage admin "
                "token revoke`."
            )
        expires = min(now + lasts_s, bearer.expires or math.inf)
        name = "-".join(filter(None, (bearer.name, "link", secrets.token_hex(4))))
        token = links.add(
            name,
            ("read",),
            expires=expires,
            now=now,
            tenant=bearer.tenant,
            session=session,
            session_created=session_created,
            by=bearer.digest if bearer.name else "",
        )
        return Link(name=name, token=token, expires=expires)

    def bearer(self, token: str) -> Bearer | TokenRecord | None:
        """The bearer of a token; the record of an expired token, ``None`` for a wrong token."""
        self._refresh()
        given = digest_of(token)
        found: Bearer | TokenRecord | None = None
        for launched in self._launched:
            if hmac.compare_digest(given, launched):
                found = Bearer("", frozenset(SCOPES), None, launched)
        for record in self._records():
            if hmac.compare_digest(given, record.sha256):
                found = record if record.is_expired(self._clock()) else _bearer_of(record)
        return found

    def is_valid(self, bearer: Bearer) -> bool:
        """Whether a bearer is still accepted: for answers that last for hours."""
        if not self.are_required() or bearer.digest in self._launched:
            return True
        now = self._clock()
        return any(
            record.sha256 == bearer.digest and not record.is_expired(now)
            for record in self._records()
        )

    def _refresh(self) -> None:
        for each in (*self._read, *self._read_links):
            each.refresh()

    def _records(self) -> Iterator[TokenRecord]:
        tokens = [record for each in self._read for record in each.records]
        yield from tokens
        makers = {"", *(record.sha256 for record in tokens)}
        for each in self._read_links:
            yield from (record for record in each.records if record.by in makers)


class _ReadTokens:
    """The tokens of one source as they were read last. Raises ``UllageError`` for one that can't be read at first."""

    def __init__(self, source: NamedTokens) -> None:
        self._source = source
        self._seen: object = None
        self.records: tuple[TokenRecord, ...] = ()
        self.is_required = source.decoded(source.recent().bodies) is not None

    def refresh(self) -> None:
        """Read them again if they have changed."""
        try:
            found = self._source.recent()
            if found.version == self._seen:
                return
            records = self._source.decoded(found.bodies)
        except UllageError as problem:
            self._seen = None
            if self.records or not self.is_required:
                log.error("%s Until then none of its tokens is accepted.", problem)
            self.records, self.is_required = (), True
            return
        self._seen = found.version
        self.records, self.is_required = records or (), records is not None


def _bearer_of(record: TokenRecord) -> Bearer:
    allowed = frozenset[TokenScope]().union(*(INCLUDED[scope] for scope in record.scopes))
    return Bearer(
        record.name,
        allowed,
        record.expires,
        record.sha256,
        record.tenant,
        record.session,
        record.session_created,
    )
