"""Named tokens with scopes and an expiry: in a file, or in the database of a store that several machines share.

A running server notices each change, in a database within some seconds. Stored is the SHA-256 of each token, which is
enough for 256 random bits; the token itself is shown once, when it is created. Once there was a token tokens are
required, even if no valid one is left.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.errors import SettingError, UllageError
from ullage.guessing import WrongTokens, guessable
from ullage.store.private_file import locked, replace_file
from ullage.store.records import Records
from ullage.store.store import DEFAULT_TENANT

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

FILE: Final = "tokens.json"
"""The file's name in the user's data directory."""

PREFIX: Final = "ullage_"
"""The beginning of every token, by which scanners find leaked ones."""

VERSION: Final = 1
"""Of the file."""
LARGEST_FILE: Final = 1_000_000
"""Bytes of the file: some 5,000 tokens."""


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored token. Times are seconds since 1970; without ``expires`` it does not expire."""

    name: str
    sha256: str
    scopes: tuple[TokenScope, ...]
    created: float
    expires: float | None = None
    tenant: str = DEFAULT_TENANT

    def is_expired(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires is not None and self.expires <= now


class _TokenFile(msgspec.Struct, frozen=True):
    version: int
    tokens: tuple[TokenRecord, ...]


class TokenSource(ABC):
    """Where tokens are. Every method raises ``UllageError`` for a place that can't be read, written or trusted."""

    @property
    @abstractmethod
    def shown(self) -> str:
        """The place, for messages."""

    @abstractmethod
    def read(self) -> tuple[TokenRecord, ...] | None:
        """All tokens, including expired ones; ``None`` if there never was one. Blocks."""

    @abstractmethod
    def recent(self) -> tuple[TokenRecord, ...] | None:
        """The same, at most some seconds old. Does not wait after the first call."""

    @abstractmethod
    def fingerprint(self) -> object:
        """Another value once ``recent`` gives other tokens."""

    @abstractmethod
    def put(self, record: TokenRecord) -> None:
        """Store a new token. Raises ``SettingError`` for a name that is taken."""

    @abstractmethod
    def revoke(self, name: str) -> int:
        """Remove a token; returns how many are left. Raises ``SettingError`` where there is none of this name."""

    def add(
        self,
        name: str,
        scopes: tuple[TokenScope, ...],
        *,
        expires: float | None,
        now: float,
        tenant: str = DEFAULT_TENANT,
    ) -> str:
        """Store a new token; returns its text, which can't be retrieved again. Raises ``SettingError``."""
        token = new_token()
        record = TokenRecord(
            name=name,
            sha256=digest_of(token),
            scopes=scopes,
            created=now,
            expires=expires,
            tenant=tenant,
        )
        self.put(record)
        return token


_STORED: Final = msgspec.json.Decoder(_TokenFile)
_RECORD: Final = msgspec.json.Decoder(TokenRecord)

KIND: Final = "tokens"
_REQUIRED: Final = ""
"""The record that outlives all tokens: no token has an empty name."""


class Bearer(NamedTuple):
    """The token of a request: its name and what it allows. ``digest`` is empty if no token is required.

    It is for the sessions of ``tenant`` alone.
    """

    name: str
    scopes: frozenset[TokenScope]
    expires: float | None = None
    digest: str = ""
    tenant: str = DEFAULT_TENANT


ANYONE: Final = Bearer("", frozenset(SCOPES))
"""Every user and program of this machine, where no token is required."""


class TokenStore(TokenSource):
    """The file of tokens. Every method raises ``SettingError`` for a file that can't be read, written or trusted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def shown(self) -> str:
        """See ``TokenSource.shown``."""
        return str(self.path)

    def fingerprint(self) -> object:
        """See ``TokenSource.fingerprint``."""
        try:
            found = self.path.stat()
        except OSError as problem:
            return problem.errno
        times = (found.st_mtime_ns, found.st_ctime_ns)
        return (*times, found.st_size, found.st_ino, found.st_mode)

    def recent(self) -> tuple[TokenRecord, ...] | None:
        """See ``TokenSource.recent``."""
        return self.read()

    def read(self) -> tuple[TokenRecord, ...] | None:
        """See ``TokenSource.read``: ``None`` if the file does not exist."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                data = (
                    file.read(LARGEST_FILE + 1) if stat.S_ISREG(status.st_mode) else b""
                )
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise SettingError(
                f"The tokens in {self.path} can't be read: {problem.strerror}. Check who may read it."
            ) from problem
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in (
            0,
            os.geteuid(),
        ):
            raise SettingError(
                f"Other users may change {self.path}: run `chmod 600` on it, then check its tokens."
            )
        try:
            if len(data) > LARGEST_FILE:
                raise msgspec.ValidationError(f"more than {LARGEST_FILE:,} bytes")
            stored = _STORED.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
            raise SettingError(
                f"The tokens in {self.path} can't be read: {problem}. Move the file away and add them again."
            ) from problem
        if stored.version != VERSION:
            raise SettingError(
                f"{self.path} was written by another version of Ullage (version {stored.version}). "
                "Update Ullage, or move the file away and add the tokens again."
            )
        return stored.tokens

    def put(self, record: TokenRecord) -> None:
        """See ``TokenSource.put``."""
        with self._locked():
            known = self.read() or ()
            if any(other.name == record.name for other in known):
                raise _is_taken(record.name)
            self._replace((*known, record))

    def revoke(self, name: str) -> int:
        """See ``TokenSource.revoke``."""
        with self._locked():
            known = self.read() or ()
            rest = tuple(record for record in known if record.name != name)
            if len(rest) == len(known):
                raise _is_unknown(name, self.shown)
            self._replace(rest)
        return len(rest)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with locked(self.path):
                yield
        except OSError as problem:
            raise SettingError(
                f"{self.path} can't be written: {problem.strerror}. Check who may write there."
            ) from problem

    def _replace(self, tokens: tuple[TokenRecord, ...]) -> None:
        encoded = msgspec.json.encode(_TokenFile(VERSION, tokens))
        data = msgspec.json.format(encoded, indent=1) + b"\n"
        try:
            replace_file(self.path, data)
        except OSError as problem:
            raise SettingError(
                f"{self.path} can't be written: {problem.strerror}. Check who may write there."
            ) from problem


class TokenTable(TokenSource):
    """``TokenSource`` in the records of a database, one for each token, and one that says that tokens are required."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @property
    def shown(self) -> str:
        """See ``TokenSource.shown``."""
        return self._records.shown

    def fingerprint(self) -> object:
        """See ``TokenSource.fingerprint``."""
        return self._records.recent(KIND).version

    def recent(self) -> tuple[TokenRecord, ...] | None:
        """See ``TokenSource.recent``."""
        return self._decoded(self._records.recent(KIND).bodies)

    def read(self) -> tuple[TokenRecord, ...] | None:
        """See ``TokenSource.read``."""
        return self._decoded(self._records.all(KIND))

    def put(self, record: TokenRecord) -> None:
        """See ``TokenSource.put``."""
        encoded = msgspec.json.encode(record)

        def added(body: bytes | None) -> bytes:
            if body not in (None, encoded):
                raise _is_taken(record.name)
            return encoded

        self._records.change(KIND, _REQUIRED, lambda body: body or b"{}")
        self._records.change(KIND, record.name, added)

    def revoke(self, name: str) -> int:
        """See ``TokenSource.revoke``."""
        if not name or name not in self._records.all(KIND):
            raise _is_unknown(name, self.shown)
        self._records.change(KIND, name, lambda _: None)
        return len(self.read() or ())

    def _decoded(self, bodies: Mapping[str, bytes]) -> tuple[TokenRecord, ...] | None:
        named = [body for name, body in bodies.items() if name != _REQUIRED]
        try:
            found = tuple(_RECORD.decode(body) for body in named)
        except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
            raise SettingError(
                f"The tokens in {self.shown} can't be read: {problem}. Update Ullage, or revoke the token."
            ) from problem
        return found if bodies else None


def _is_taken(name: str) -> SettingError:
    return SettingError(
        f"The token {name!r} exists already: choose another name, or revoke it first."
    )


def _is_unknown(name: str, shown: str) -> SettingError:
    return SettingError(
        f"There is no token {name!r} in {shown}. Check the name, and --store or --file."
    )


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
        *sources: TokenSource,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if token and (problem := guessable(token)):
            raise SettingError(problem)
        self._launched = [digest_of(token)] if token else []
        """Digests of tokens that allow everything until the server ends."""
        self._link = ""
        self._clock = clock
        self._read = [_ReadTokens(source) for source in sources]
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

    def bearer(self, token: str) -> Bearer | TokenRecord | None:
        """The bearer of a token; the record of an expired token, ``None`` for a wrong token."""
        self._refresh()
        given = digest_of(token)
        found: Bearer | TokenRecord | None = None
        for launched in self._launched:
            if hmac.compare_digest(given, launched):
                found = Bearer("the launch", frozenset(SCOPES), None, launched)
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
        for each in self._read:
            each.refresh()

    def _records(self) -> Iterator[TokenRecord]:
        for each in self._read:
            yield from each.records


class _ReadTokens:
    """The tokens of one source as they were read last. Raises ``UllageError`` for one that can't be read at first."""

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._seen: object = None
        self.records: tuple[TokenRecord, ...] = ()
        self.is_required = source.recent() is not None

    def refresh(self) -> None:
        """Read them again if they have changed."""
        try:
            seen = self._source.fingerprint()
        except UllageError as problem:
            self._seen = None
            self._refuse(problem)
            return
        if seen == self._seen:
            return
        self._seen = seen
        try:
            records = self._source.recent()
        except UllageError as problem:
            self._refuse(problem)
            return
        self.records, self.is_required = records or (), records is not None

    def _refuse(self, problem: UllageError) -> None:
        if self.records or not self.is_required:
            log.error("%s Until then none of its tokens is accepted.", problem)
        self.records, self.is_required = (), True


def _bearer_of(record: TokenRecord) -> Bearer:
    allowed = frozenset[TokenScope]().union(*(INCLUDED[scope] for scope in record.scopes))
    return Bearer(record.name, allowed, record.expires, record.sha256, record.tenant)
