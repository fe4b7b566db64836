"""Why a call paid again for what the provider's cache should have held: the first difference, by name, with its price.

A call is compared with the earlier one that it has most in common with: item by item as the bodies were sent, where
they passed, else as the ledger or log holds them. What the provider says itself comes first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ullage.advice.call_rows import reported_row, with_prices
from ullage.advice.cause import Cause, CauseKind, Witness
from ullage.advice.differences import (
    Difference,
    first_difference,
    mark_difference,
    of_kind,
)
from ullage.advice.lives import CallRow
from ullage.advice.policy import LEAST_MISSED
from ullage.events import CallEnded, CallStarted, Event, SentItem
from ullage.messages import SystemBlock, Tool
from ullage.meter.fingerprint import digest, of_system, of_tools
from ullage.meter.fold import Fold
from ullage.meter.policy import REQUESTS_KEPT
from ullage.meter.same_content import bare_fields
from ullage.meter.sent_items import SETTINGS, SentItems, common_items
from ullage.meter.spend import MILLION
from ullage.meter.view import Entry
from ullage.models.gpt import has_new_cache
from ullage.usage import CacheVerdict

CACHE_BLOCK: Final = 128
"""Tokens in steps of which OpenAI's cache is read where nothing is said of what was written
(https://developers.openai.com/api/docs/guides/prompt-caching)."""

SHORT_LIFE_S: Final = 300
LONG_LIFE_S: Final = 3_600
NEW_LIFE_S: Final = 1_800
"""Seconds for which a cache is kept at least: of Anthropic and of earlier GPTs, of Anthropic on demand, and of GPT-5.6
and later (https://platform.claude.com/docs/en/build-with-claude/prompt-caching,
https://developers.openai.com/api/docs/guides/prompt-caching)."""

_VERDICTS: Final[dict[str, tuple[CauseKind, str]]] = {
    "model_changed": ("model", "the model changed"),
    "system_changed": ("system", "the system prompt changed"),
    "tools_changed": ("tools", "the tools changed"),
    "messages_changed": ("messages", "earlier messages changed"),
    "input_changed": ("messages", "earlier input changed"),
    "context_compacted": ("compaction", "the conversation was compacted"),
    "prompt_cache_key_changed": ("cache_key", "`prompt_cache_key` changed"),
    "text_format_changed": ("setting", "the format of the answer changed"),
    "reasoning_effort_changed": ("setting", "the effort of reasoning changed"),
    "verbosity_changed": ("setting", "the verbosity changed"),
    "service_tier_changed": ("setting", "the service tier changed"),
}
"""What the providers say (https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics,
https://developers.openai.com/api/docs/guides/prompt-caching/diagnostics). Their other words tell nothing."""

_FAMILIES: Final[dict[str, frozenset[str]]] = {
    "tools": frozenset(
        {
            "tool_added",
            "tool_removed",
            "tools_replaced",
            "tool_changed",
            "tools_reordered",
        }
    ),
    "messages": frozenset(
        {"message_edited", "message_inserted", "messages_removed", "compaction", "rewind"}
    ),
}


@dataclass(slots=True)
class SentCall:
    """A call as it was sent: its own items where its body passed, and what the ledger held then."""

    call: str
    at: float
    model: str
    tools: Sequence[Tool]
    system: Sequence[SystemBlock]
    params: dict[str, object]
    entries: tuple[Entry, ...]
    is_whole: bool
    """Whether the ledger has all that was sent."""
    body: tuple[SentItem, ...] = ()
    row: CallRow | None = None
    _logged: list[SentItem] = field(default_factory=list)

    def head(self) -> list[SentItem]:
        """The items in front of the messages, as the ledger has them."""
        found = [SentItem("model", self.model, digest(self.model), 0)]
        for tool in self.tools:
            if not tool.deferred:
                size = len(tool.description) + len(bytes(tool.schema))
                found.append(SentItem("tool", tool.name, of_tools((tool,)), size))
        for place, block in enumerate(self.system):
            size = len(block.text)
            found.append(
                SentItem("system", f"system block {place}", of_system((block,)), size)
            )
        for name, value in self.params.items():
            if name in SETTINGS:
                data = msgspec.json.encode(value)
                found.append(SentItem("setting", name, digest(name, data), len(data)))
        return found

    def logged(self) -> list[SentItem]:
        """All items, as the ledger has them."""
        if not self._logged:
            found = self.head()
            for place, entry in enumerate(self.entries, 1):
                found += _items_of(entry, place)
            self._logged = found
        return self._logged

    def text_of(self, item: SentItem) -> str:
        """The text of a tool, a block of the system prompt or a setting; empty where it was not kept."""
        if item.kind == "tool":
            for tool in self.tools:
                if tool.name == item.name:
                    return tool.description + bytes(tool.schema).decode(errors="replace")
        if item.kind == "system":
            place = int(item.name.rpartition(" ")[2])
            return self.system[place].text if place < len(self.system) else ""
        if item.kind == "setting" and item.name in self.params:
            return msgspec.json.encode(self.params[item.name]).decode()
        return ""

    @property
    def held(self) -> int:
        """Tokens of it that the provider's cache holds afterwards."""
        row = self.row
        if row is None:
            return 0
        if row.written:
            return row.written + (row.cached or 0)
        return row.used // CACHE_BLOCK * CACHE_BLOCK


def _items_of(entry: Entry, place: int) -> list[SentItem]:
    message = entry.content
    if message is None:
        return []
    found: list[SentItem] = []
    for part in message.parts:
        data = _encoder.encode(bare_fields(part))
        kind = str(part.__struct_config__.tag)
        name = f"message {place} ({message.role}, {kind})"
        found.append(SentItem("message", name, digest(message.role, data), len(data)))
    return found


_encoder: Final = msgspec.json.Encoder(order="sorted")


class CauseFollower:
    """Follows the main calls of a session, and names the causes of those that paid again."""

    def __init__(self) -> None:
        self.calls: deque[SentCall] = deque(maxlen=REQUESTS_KEPT)
        self._bodies = SentItems()
        self._has_cache = False

    def follow(self, event: Event, fold: Fold) -> Cause | None:
        """Follow any event that its fold has applied; gives the cause where the end of a call has one."""
        if isinstance(event, CallStarted) and event.purpose == "main":
            self.start(event, fold)
        if not isinstance(event, CallEnded) or event.purpose != "main":
            return None
        verdict = event.usage.verdict if event.usage is not None else None
        return self.end(with_prices(reported_row(event, fold), fold), fold, verdict)

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
        next_one = _sent_call("", now, fold)
        follows = SentItem("message", "", "", 0)  # what comes behind both heads
        heads = [*last.head(), follows], [*next_one.head(), follows]
        found = first_difference(*heads, last.text_of, next_one.text_of)
        if found is not None:
            cause = _cause(found, "log")
        elif last.at and now - last.at > life_s(last):
            words = f"the last call is {_duration(now - last.at)} ago"
            cause = Cause(kind="pause", words=words)
        else:
            return None
        return _priced(cause, last.held, last.row)

    def start(self, event: CallStarted, fold: Fold) -> None:
        """A main call begins; its fold has applied all events before."""
        self._note(event.call, event.at, fold, self._bodies.read(event.call, event.sent))

    def _note(
        self, call: str, at: float, fold: Fold, body: tuple[SentItem, ...]
    ) -> SentCall:
        entries = [entry for entry in fold.view if entry.facts.call != call]
        noted = _sent_call(call, at, fold, entries, body)
        self.calls.append(noted)
        return noted

    def end(
        self, row: CallRow, fold: Fold, verdict: CacheVerdict | None = None
    ) -> Cause | None:
        """A main call has ended: the cause, where it paid again for what an earlier one had sent."""
        now = next((each for each in self.calls if each.call == row.call), None)
        if now is None:
            now = self._note(row.call, row.at, fold, ())
        now.at = now.at or row.at
        earlier = [each for each in self.calls if each.row is not None]
        now.row = row
        if row.outcome == "failed":
            self.calls.remove(now)
            return None
        if row.cached is None or not (earlier and (self._has_cache or row.cached)):
            return None
        self._has_cache = True
        most = max(each.held for each in earlier)
        if min(most, row.used) - row.cached < LEAST_MISSED:
            return None
        before = predecessor(earlier, now)
        if before is None:
            return None
        again = min(_repeated(before, now), row.used) - row.cached
        if again < LEAST_MISSED:
            return None
        return _priced(_named(before, now, verdict), again, row)


def _sent_call(
    call: str,
    at: float,
    fold: Fold,
    entries: Sequence[Entry] = (),
    body: tuple[SentItem, ...] = (),
) -> SentCall:
    return SentCall(
        call=call,
        at=at,
        model=fold.model,
        tools=fold.tools or (),
        system=fold.system or (),
        params=fold.params,
        entries=tuple(entries),
        is_whole=not (fold.lacking or fold.partial),
        body=body,
    )


def _expired(fold: Fold, now: float) -> Cause | None:
    """That the last call of a session, which was not followed, is too long ago for any cache."""
    steps = fold.track.steps
    if not steps or not steps[-1].at or now - steps[-1].at <= LONG_LIFE_S:
        return None
    tokens = steps[-1].actual or 0
    if tokens < LEAST_MISSED:
        return None
    words = f"the last call is {_duration(now - steps[-1].at)} ago"
    return Cause(kind="pause", words=words, tokens=tokens)


def _priced(cause: Cause, tokens: int, row: CallRow) -> Cause:
    """The cause with what so many tokens cost more than reading them from the cache, at the prices of a call."""
    usd: float | None = None
    if row.new_price is not None and row.read_price is not None:
        usd = tokens * (row.new_price - row.read_price) / MILLION
    return msgspec.structs.replace(cause, tokens=tokens, usd=usd)


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
    if same == len(old):
        return True
    known = {item.digest for item in of_kind(old[same:], "message")}
    return any(item.digest in known for item in new[same:])


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
    by: Witness = "bodies" if old is before.body else "log"
    found = first_difference(old, new, before.text_of, now.text_of)
    told = None if verdict is None else _VERDICTS.get(verdict.reason)
    if told is not None:
        kind, words = told
        family = _FAMILIES.get(kind, {kind})
        if verdict is not None and verdict.reason == "input_changed":
            family = {*family, "system"}  # OpenAI's instructions are input
        if found is not None and found.kind in family:
            return _cause(found, "provider")
        return Cause(kind=kind, words=words, by="provider")
    cause = None if found is None else _cause(found, by)
    pause_s = now.at - before.at if now.at and before.at else 0.0
    is_cold = pause_s > life_s(before) and (found is None or found.kind != "model")
    if is_cold and not (now.row and now.row.cached):
        words = f"a pause of {_duration(pause_s)}: the cache is kept for {_duration(life_s(before))}"
        return Cause(kind="pause", words=words, by=by)
    if cause is not None:
        return cause
    if by == "bodies":
        marks = mark_difference(old, new)
        if marks is not None:
            return _cause(marks, by)
    if is_cold:
        return Cause(kind="pause", words=f"a pause of {_duration(pause_s)}", by=by)
    if now.row is not None and now.row.written is not None:
        asked = now.row.written + (now.row.cached or 0)
        if before.held - asked >= LEAST_MISSED:
            words = "no cache mark is behind what an earlier request has cached"
            return Cause(kind="marks", words=words, by=by)
    if by == "bodies" or (before.is_whole and now.is_whole):
        words = "the same prefix was sent in time and not read: the provider's own miss"
        if by == "log":
            words += ", or cache marks that only a proxy sees"
        return Cause(kind="provider", words=words, by=by)
    words = "the log does not show why: it lacks the system prompt or the tools"
    return Cause(kind="unknown", words=words, by=by)


def _cause(found: Difference, by: Witness) -> Cause:
    return Cause(
        kind=found.kind,
        name=found.name,
        words=found.words,
        quote=found.quote,
        place=found.place,
        by=by,
    )


def life_s(call: SentCall) -> int:
    """Seconds for which the provider keeps at least what this call has written."""
    if call.row is not None and call.row.hour_written:
        return LONG_LIFE_S
    if has_new_cache(call.model):
        return NEW_LIFE_S
    return SHORT_LIFE_S


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3_600:.1f} hours".replace(".0 ", " ")
