"""One ``Compactor`` for each conversation of a program that serves many.

    conversations = conversations_of({"window": 100_000}, wire="chat")
    with conversations.entered("thread-7", ["a", "b", "c"]) as compactor:
        ...                                  # fit, send, after

A call belongs to the conversation whose history it continues, among those of its key. Two runs on one key at a time,
say of two subagents, get a ``Compactor`` each.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from operator import eq
from typing import Any, Final, TypedDict

from ullage.compactor.compactor import Compactor
from ullage.context.strategy import Strategy
from ullage.errors import SettingError
from ullage.events import Event
from ullage.store.places import StorePlace

MOST_CONVERSATIONS: Final = 1_000
"""How many are held; the one whose last call is the longest ago is let go first, if it is not in use."""

_SIZE: Final = 8


class ConversationSettings(TypedDict, total=False):
    """What every plug-in takes: parameters of ``Compactor``, for all of its conversations.

    With a ``store`` a conversation survives a restart. ``compactor`` is one of the caller's own, for a single
    conversation, or a function that gives one for each conversation, by its name. ``most`` is how many conversations
    are remembered.
    """

    window: int | None
    reserve: int | None
    trigger: float | int | None
    keep: float | None
    protect_tokens: int | None
    strategies: Sequence[Strategy] | None
    store: StorePlace | None
    strict: bool
    on_event: Callable[[Event], None] | None
    compactor: Compactor | Callable[[str], Compactor] | None
    most: int


@dataclass(slots=True, eq=False)
class HeldConversation:
    """One conversation. ``session`` is its name in a store; ``history`` a digest of each beginning of its last call."""

    session: str
    compactor: Compactor
    history: tuple[bytes, ...] = ()
    is_busy: bool = False
    is_let_go: bool = False
    """Whether it is closed as soon as its call has ended."""


class Conversations:
    """Gives each conversation its own ``Compactor``, which ``make`` makes from the name of its session.

    A key is what the program calls a conversation, a thread id for example. Without one, the session is named after the
    first message, so that it has the same name after a restart. Safe to use from several threads.
    """

    def __init__(
        self, make: Callable[[str], Compactor], *, most: int = MOST_CONVERSATIONS
    ) -> None:
        self._make = make
        self._most = most
        self._held: OrderedDict[str, HeldConversation] = OrderedDict()
        self._answers: OrderedDict[str, str] = OrderedDict()
        """The session of an answer that the provider may hold, by its id."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    @contextmanager
    def entered(self, key: str, history: Sequence[str]) -> Iterator[Compactor]:
        """The ``Compactor`` for a call, which nobody else is given within the block."""
        held = self.enter(key, history)
        try:
            yield held.compactor
        finally:
            self.leave(held)

    def enter(
        self,
        key: str,
        history: Sequence[str],
        *,
        continues: str = "",
    ) -> HeldConversation:
        """The conversation that a call belongs to; busy until ``leave``.

        ``history`` has a text for each message, the same one in every call. A call that ``continues`` an answer or a
        conversation which the provider holds has only new ones.
        """
        marks = _beginnings(history)
        key = key or continues
        name = key or (marks[0].hex() if marks else "empty")
        with self._lock:
            session = self._answers.get(continues, "")
            found = self._held.get(session)
            if found is None or found.is_busy:
                found = self._found(name, marks, is_named=bool(key))
            if found is None:
                session = self._free_session(name)
                found = HeldConversation(session, self._make(session))
                self._held[session] = found
            self._held.move_to_end(found.session)
            found.is_busy = True
            if not continues:
                found.history = marks
            gone = self._surplus()
        for each in gone:
            each.compactor.close()
        return found

    def leave(
        self,
        held: HeldConversation,
        response: str = "",
    ) -> None:
        """Say that the call has ended, in whatever way. ``response`` is its answer's id."""
        with self._lock:
            held.is_busy = False
            if response:
                self._answers[response] = held.session
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        if held.is_let_go:
            held.compactor.close()

    def latest(self, key: str = "") -> Compactor | None:
        """The ``Compactor`` of the newest call of a key, or of all; ``None`` if there was none."""
        with self._lock:
            for session in reversed(self._held):
                if not key or session == key or session.startswith(f"{key}#"):
                    return self._held[session].compactor
        return None

    def close(self) -> None:
        """Let all conversations go, those with an open call when that has ended. They may be entered again."""
        idle: list[HeldConversation] = []
        with self._lock:
            for held in self._held.values():
                held.is_let_go = held.is_busy
                if not held.is_busy:
                    idle.append(held)
            self._held.clear()
        for each in idle:
            each.compactor.close()

    def _found(
        self, name: str, marks: tuple[bytes, ...], *, is_named: bool
    ) -> HeldConversation | None:
        """The idle one with most in common; for a key any idle one, as a history may be edited."""
        best: HeldConversation | None = None
        most = 0
        for held in self._of(name):
            if held.is_busy:
                continue
            common = _common(held.history, marks)
            is_continued = common * 2 > len(held.history)
            if is_named and best is None:
                best = held
            if is_continued and common > most:
                best, most = held, common
        return best

    def _of(self, name: str) -> Iterator[HeldConversation]:
        number = 1
        while (session := _numbered(name, number)) in self._held:
            yield self._held[session]
            number += 1

    def _free_session(self, name: str) -> str:
        number = 1
        while _numbered(name, number) in self._held:
            number += 1
        return _numbered(name, number)

    def _surplus(self) -> list[HeldConversation]:
        gone: list[HeldConversation] = []
        for session, held in list(self._held.items()):
            if len(self._held) <= self._most:
                break
            if not held.is_busy:
                gone.append(self._held.pop(session))
        return gone


def conversations_of(settings: ConversationSettings, **fixed: str) -> Conversations:
    """The conversations of a plug-in. ``fixed`` are further parameters of ``Compactor``.

    Raises ``TypeError`` for an unknown setting and ``SettingError`` for an impossible one.
    """
    options: dict[str, Any] = {**settings, **fixed}
    own = options.pop("compactor", None)
    most = options.pop("most", MOST_CONVERSATIONS)
    if own is not None and not isinstance(own, Compactor) and not callable(own):
        raise SettingError(
            "compactor is a Compactor, or a function that gives one for the name of each conversation, and not "
            f"{type(own).__name__}."
        )
    if not isinstance(most, int) or most < 1:
        raise SettingError(
            f"most={most!r} is not possible: give how many conversations are remembered, at least 1."
        )
    unstored = {**options, "store": None, "on_event": None}
    Compactor(**unstored)  # a wrong setting is an error now, and not in the first call
    if isinstance(own, Compactor):
        return Conversations(lambda _: own, most=most)
    if own is not None:
        return Conversations(own, most=most)
    if options.get("store") is None:
        return Conversations(lambda _: Compactor(**options), most=most)
    return Conversations(lambda name: Compactor(session=name, **options), most=most)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}#{number}"


def _beginnings(history: Sequence[str]) -> tuple[bytes, ...]:
    """A digest of the first text, of the first two, and so on."""
    made: list[bytes] = []
    before = b""
    for text in history:
        data = before + text.encode("utf-8", "surrogatepass")
        before = blake2b(data, digest_size=_SIZE).digest()
        made.append(before)
    return tuple(made)


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many messages two histories begin with together."""
    return sum(map(eq, one, other))  # a digest is of all texts up to its own
