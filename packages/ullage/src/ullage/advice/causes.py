"""Why a call paid again for what the provider's cache should have held: the first difference, by name, with its price.

A call is compared with the earlier one that it has most in common with: item by item as the bodies were sent, where
they passed, else as the ledger or log holds them. What the provider says itself comes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from ullage.advice.call_rows import reported_row, with_prices
from ullage.advice.cause import Cause, CauseKind
from ullage.advice.differences import (
    first_difference,
    mark_difference,
    of_kind,
)
from ullage.advice.lives import CallRow
from ullage.advice.policy import LEAST_MISSED
from ullage.codec.dialects import DIALECTS, dialect_for
from ullage.events import CallEnded, CallStarted, Event, SentItem
from ullage.messages import Request
from ullage.meter.fold import Fold
from ullage.meter.policy import REQUESTS_KEPT
from ullage.meter.sent_items import (
    KnownItems,
    SentItems,
    common_items,
    sent_items,
    settings_of,
)
from ullage.meter.spend import MILLION
from ullage.models.gpt import has_new_cache
from ullage.usage import CacheVerdict

CACHE_BLOCK: Final = 128
"""Tokens in steps of which OpenAI's cache is read where nothing is said of what was written
(https://developers.openai.com/api/docs/guides/prompt-caching)."""

_LIVES_S: Final = {"usual": 300, "new": 1_800, "long": 3_600}
"""Seconds for which a cache is kept at least: of Anthropic and of earlier GPTs, of GPT-5.6 and later, and of Anthropic
on demand (https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://developers.openai.com/api/docs/guides/prompt-caching)."""

_TOOLS: Final[tuple[CauseKind, ...]] = (
    "tools", "tool_added", "tool_removed", "tools_replaced", "tool_changed", "tools_reordered",
)  # fmt: skip
_MESSAGES: Final[tuple[CauseKind, ...]] = (
    "messages", "message_edited", "message_inserted", "messages_removed", "compaction", "rewind",
)  # fmt: skip

_VERDICTS: Final[dict[str, tuple[CauseKind, ...]]] = {
    "model_changed": ("model",),
    "system_changed": ("system",),
    "tools_changed": _TOOLS,
    "messages_changed": _MESSAGES,
    "input_changed": (*_MESSAGES, "system"),
    "context_compacted": ("compaction",),
    "prompt_cache_key_changed": ("cache_key",),
    **dict.fromkeys(
        (
            "text_format_changed",
            "reasoning_effort_changed",
            "verbosity_changed",
            "service_tier_changed",
        ),
        ("setting",),
    ),
}
"""What the providers say (https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics,
https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics), and the kinds that it may stand for; OpenAI's
instructions are input. Their other words tell nothing."""


@dataclass(slots=True)
class SentCall:
    """A call as it was sent: its own items where its body passed, and what the ledger held then."""

    call: str
    at: float
    request: Request
    is_whole: bool
    """Whether the ledger has all that was sent."""
    body: tuple[SentItem, ...] = ()
    row: CallRow | None = None
    known: KnownItems = field(default_factory=dict)
    _logged: list[SentItem] = field(default_factory=list)

    def logged(self) -> list[SentItem]:
        """All items, as the ledger has them."""
        if not self._logged:
            self._logged = sent_items(self.request, known=self.known)
        return self._logged

    def text_of(self, item: SentItem) -> str:
        """The text of a tool, a block of the system prompt or a setting; empty where it was not kept."""
        request = self.request
        if item.kind == "tool":
            for tool in request.tools:
                if tool.name == item.name:
                    return tool.description + bytes(tool.schema).decode(errors="replace")
        if item.kind == "system":
            place = int(item.name.rpartition(" ")[2])
            return request.system[place].text if place < len(request.system) else ""
        return dict(settings_of(request)).get(item.name, b"").decode()

    @property
    def _is_marked(self) -> bool:
        """Whether its cache holds what a mark asks for, and of some models only from 4,096 tokens on: what was written
        is said then, also that it was nothing (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
        """
        dialect = DIALECTS.get(dialect_for(self.request.wire))
        says_writes = dialect is not None and dialect.cache == "outside"
        return says_writes or "claude" in self.request.model.lower()

    @property
    def held(self) -> int:
        """Tokens of it that the provider's cache holds afterwards."""
        row = self.row
        if row is None:
            return 0
        if row.written or (row.written == 0 and self._is_marked):
            return row.written + (row.cached or 0)
        return row.used // CACHE_BLOCK * CACHE_BLOCK


class CauseFollower:
    """Follows the main calls of a session, and names the causes of those that paid again."""

    def __init__(self) -> None:
        self.found: dict[str, Cause] = {}
        """The causes by the names of the calls."""
        self.calls: deque[SentCall] = deque(maxlen=REQUESTS_KEPT)
        self._bodies = SentItems()
        self._known: KnownItems = {}
        self._has_cache = False

    def follow(self, event: Event, fold: Fold) -> Cause | None:
        """Follow any event that its fold has applied; gives the cause where the end of a call has one."""
        if isinstance(event, CallStarted) and event.purpose == "main":
            body = self._bodies.read(event.call, event.sent)
            self.calls.append(_sent_call(event.call, event.at, fold, self._known, body))
        if not isinstance(event, CallEnded) or event.purpose != "main":
            return None
        cause = self._ended(event, fold)
        if cause is not None:
            self.found[event.call] = cause
        return cause

    def expected(self, fold: Fold, now: float) -> Cause | None:
        """Why the next call will pay again, as far as it can be known before it is made.

        Args:
            fold: The session as the next request is made from it.
            now: Seconds since 1970.
        """
        last = next((each for each in reversed(self.calls) if each.row), None)
        if last is None or last.row is None:
            return _expired(fold, now)
        if not self._has_cache or last.held < LEAST_MISSED:
            return None
        next_one = SentCall("", now, _heads(fold), True)
        old = sent_items(replace(last.request, messages=()))
        new = next_one.logged()
        cause = first_difference(old, new, last.text_of, next_one.text_of)
        if cause is None and last.at and now - last.at > life_s(last):
            cause = _late(now - last.at)
        return None if cause is None else _priced(cause, last.held, last.row)

    def _ended(self, event: CallEnded, fold: Fold) -> Cause | None:
        row = with_prices(reported_row(event, fold), fold)
        now = next((each for each in self.calls if each.call == row.call), None)
        if now is None:
            now = _sent_call(row.call, row.at, fold, self._known)
            self.calls.append(now)
        earlier = [each for each in self.calls if each.row is not None]
        had_cache = self._has_cache
        now.row = row
        if row.outcome == "failed":
            self.calls.remove(now)
            return None
        self._has_cache = had_cache or bool(row.cached or row.written)
        if row.cached is None or not (earlier and self._has_cache):
            return None
        most = max(each.held for each in earlier)
        if min(most, row.used) - row.cached < LEAST_MISSED:
            return None
        before = predecessor(earlier, now)
        if before is None:
            return None
        again = min(_repeated(before, now), row.used) - row.cached
        if again < LEAST_MISSED:
            return None
        verdict = event.usage.verdict if event.usage is not None else None
        return _priced(_named(before, now, verdict), again, row)


def _sent_call(
    call: str,
    at: float,
    fold: Fold,
    known: KnownItems,
    body: tuple[SentItem, ...] = (),
) -> SentCall:
    found = (entry.content for entry in fold.view if entry.facts.call != call)
    messages = tuple(message for message in found if message is not None)
    request = replace(_heads(fold), messages=messages)
    is_whole = not (fold.lacking or fold.partial)
    return SentCall(call, at, request, is_whole, body, known=known)


def _heads(fold: Fold) -> Request:
    """The next request without its messages."""
    return Request(
        wire=fold.wire,
        model=fold.model,
        system=fold.system or (),
        tools=fold.tools or (),
        params=fold.params,
    )


def _expired(fold: Fold, now: float) -> Cause | None:
    """That the last call of a session, which was not followed, is too long ago for any cache."""
    last = fold.track.last
    if last is None or not last.at or now - last.at <= _LIVES_S["long"]:
        return None
    tokens = last.actual or 0
    return None if tokens < LEAST_MISSED else replace(_late(now - last.at), tokens=tokens)


def _late(seconds: float) -> Cause:
    return Cause(kind="pause", words=f"the last call is {_duration(seconds)} ago")


def _priced(cause: Cause, tokens: int, row: CallRow) -> Cause:
    """The cause with what so many tokens cost more than reading them from the cache, at the prices of a call."""
    usd: float | None = None
    if row.new_price is not None and row.read_price is not None:
        usd = tokens * (row.new_price - row.read_price) / MILLION
    return replace(cause, tokens=tokens, usd=usd)


def predecessor(earlier: Sequence[SentCall], now: SentCall) -> SentCall | None:
    """The earlier call that a call has most in common with; of equal ones the newest.

    What a call repeats behind a difference is paid again. Where it repeats nothing there, as after a step back, it is
    the longest earlier call that it extends; ``None`` where there is none.
    """
    best, most = earlier[-1], (-1, -1)
    extended: SentCall | None = None
    longest = 0
    for call in reversed(earlier):
        before, sent = _comparable(call, now)
        same = common_items(before, sent)
        if same == len(before) and same > longest:
            extended, longest = call, same
        messages = common_items(of_kind(before, "message"), of_kind(sent, "message"))
        if (messages, same) > most:
            best, most = call, (messages, same)
    return best if _repeats(best, now) else extended


def _repeats(before: SentCall, now: SentCall) -> bool:
    """Whether messages of the earlier call come again behind the first difference, or there is none."""
    old, new = _comparable(before, now)
    same = common_items(old, new)
    known = {item.digest for item in of_kind(old[same:], "message")}
    return same == len(old) or any(item.digest in known for item in new[same:])


def _repeated(before: SentCall, now: SentCall) -> int:
    """Tokens that the cache held after the earlier call, without those by which the request has become smaller."""
    old, new = _comparable(before, now)
    known = {item.digest for item in old}
    stays = [place for place, item in enumerate(new) if item.digest in known]
    end = stays[-1] + 1 if stays else 0
    size, tail = _size(old), _size(new[end:])
    left = size - _size(new[:end])
    if before.row is None or now.row is None or left <= 0:
        return before.held
    was, used = before.row.used, now.row.used
    smaller = was * left / size
    if tail < left:  # what came is the smaller estimate
        smaller = max(0.0, was + used * tail / (_size(new) or 1) - used)
    return before.held - round(smaller)


def _size(items: Sequence[SentItem]) -> int:
    return sum(item.size for item in items)


def _comparable(
    before: SentCall, now: SentCall
) -> tuple[Sequence[SentItem], Sequence[SentItem]]:
    """The items of both, from the same source."""
    if before.body and now.body:
        return before.body, now.body
    return before.logged(), now.logged()


def _named(before: SentCall, now: SentCall, verdict: CacheVerdict | None) -> Cause:
    old, new = _comparable(before, now)
    found = first_difference(old, new, before.text_of, now.text_of)
    told = None if verdict is None else _VERDICTS.get(verdict.reason)
    if told is not None and verdict is not None:
        if found is None or found.kind not in told:
            words = verdict.reason.replace("_", " ")
            found = Cause(kind=told[0], words=words)
        return replace(found, by="provider")
    is_body = old is before.body
    return replace(_seen(before, now, found), by="bodies" if is_body else "log")


def _seen(before: SentCall, now: SentCall, found: Cause | None) -> Cause:
    """The cause as far as the calls tell it; ``found`` is their first difference."""
    pause_s = now.at - before.at if now.at and before.at else 0.0
    is_cold = pause_s > life_s(before) and (found is None or found.kind != "model")
    row = now.row
    cold = Cause(
        kind="pause",
        words=f"a pause of {_duration(pause_s)}: the cache is kept for {_duration(life_s(before))}",
    )
    if is_cold and not (row and row.cached):
        return cold
    is_body = bool(before.body and now.body)
    if found is None and is_body:
        found = mark_difference(before.body, now.body)
    if found is not None:
        return found
    if is_cold:
        return cold
    asked = before.held
    if row is not None and row.written is not None:
        asked = row.written + (row.cached or 0)
    if before.held - asked >= LEAST_MISSED:
        words = "no cache mark is behind what an earlier request has cached"
        return Cause(kind="marks", words=words)
    if is_body or (before.is_whole and now.is_whole):
        words = "the same prefix was sent in time and not read: the provider's own miss"
        if now.request.tools:  # no codec keeps such a field
            words += (
                ", or a tool's field beside its schema and description, such as strict"
            )
        if not is_body:
            words += ", or cache marks that only a proxy sees"
        return Cause(kind="provider", words=words)
    words = "the log does not show why: it lacks the system prompt or the tools"
    return Cause(kind="unknown", words=words)


def life_s(call: SentCall) -> int:
    """Seconds for which the provider keeps at least what this call has written."""
    if call.row is not None and call.row.hour_written:
        return _LIVES_S["long"]
    return _LIVES_S["new" if has_new_cache(call.request.model) else "usual"]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.1f} hours".replace(".0 ", " ")
