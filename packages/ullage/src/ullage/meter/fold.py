"""The fold of a session's events into what is in its window and what is known about it.

``Fold.apply`` takes events in; it decides nothing and has no other effect. The state after n events depends on those n
events alone, so that the fold of a prefix is the prefix of the fold. Events that don't concern the window change
nothing but ``seq``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any, Final

from msgspec.structs import replace

from ullage.errors import SettingError, UnreadableInput
from ullage.events import (
    Calibrated,
    CallEnded,
    CallStarted,
    CompactionCommitted,
    EpochChanged,
    Event,
    FirstCall,
    InputCounted,
    LimitLearnt,
    MessageAdded,
    MessageReplaced,
    ModelChanged,
    OverheadLearnt,
    ParamsChanged,
    PiecesCounted,
    PolicyChanged,
    Pruned,
    ReasoningRefused,
    RequestPart,
    Rewound,
    SessionStarted,
    SettingsChanged,
    SizeStated,
    SystemChanged,
    ToolsChanged,
    TurnStarted,
    Uncompacted,
)
from ullage.messages import (
    COMPACTION,
    Message,
    ProviderItem,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from ullage.meter.anchor import Anchor, Forecast, Pending, SinceAnchor, turn_content
from ullage.meter.clearing import (
    NOTHING_CLEARED,
    PARAMETER,
    ClearedTokens,
    cleared_tokens,
    keeps_reasoning,
)
from ullage.meter.client_limits import with_client
from ullage.meter.cost import NOTHING_COUNTED, MessageCost
from ullage.meter.counting import CountedInput
from ullage.meter.expected import (
    expectation_of,
    is_summary_possible,
    largest_window,
    with_input,
    without_counts,
)
from ullage.meter.fingerprint import digest
from ullage.meter.limits import ModelLimits
from ullage.meter.model_switch import OtherModel, remember, rest_on_new_model
from ullage.meter.overhead import first_call_id, kept
from ullage.meter.plausible import (
    IN_DOUBT,
    UNUSABLE,
    Report,
    ReportHistory,
    difference_of_sums,
    is_possible,
    judge,
)
from ullage.meter.policy import (
    AGREED_WINDOWS,
    FIRST_CALLS_KEPT,
    LARGEST_WINDOW,
    LEAST_CHANGE_DOUBT,
    LEAST_LEFT,
    LEAST_PINNED_GROWTH,
    LEAST_WINDOW,
    LITTLE_FIRST,
    MOST_KEPT_OVERHEAD,
    MOST_OVERHEAD,
    PINS,
    REMOVAL_DOUBT,
    WINDOW_UNITS,
)
from ullage.meter.reasoning_in_view import ReasoningInView
from ullage.meter.situations import AFTER_COMPACTION, Opening
from ullage.meter.spend import with_call
from ullage.meter.state import State, StepRatios, plausible_ratio
from ullage.meter.stated import anchor_of, can_be_true, hidden_tokens, outranks
from ullage.meter.track import Step
from ullage.meter.view import (
    ChangedEntry,
    ContentLocation,
    Entry,
    UndoRecord,
    View,
    cleared,
)
from ullage.models.binding import binding_of
from ullage.reasoning import ReasoningPolicy, step_of
from ullage.tokens.calibration import calibration_from_json
from ullage.tokens.tools import read_answer_format
from ullage.usage import Usage
from ullage_programs.limits import NOTHING_SEEN

NO_USAGE = "the last call reported no usage"

REPLACED: Final = "replaced"
"""The mark of a request that hooks have replaced: its report tells nothing of what the ledger's texts cost."""

PROVIDER: Final = "the provider"
"""Who says the size of a request that it refuses."""

WEAK = ("", NO_USAGE, UNUSABLE, IN_DOUBT)
"""Labels of an anchor that speak of the last call, and not of the anchor's own."""


class Fold(State):
    """The state of a session's meter, updated by its events."""

    # -- the way in --

    def apply(self, event: Event) -> None:
        """Take one event in. Never raises for what a session may hold."""
        self.seq = event.seq or self.seq + 1
        self.session = event.session or self.session
        handler = _HANDLERS.get(type(event))
        if isinstance(event, Calibrated) and event.call:
            return  # it records what follows from the end of that call
        may_rebind = type(event) in _CHANGES_PREFIX
        sent = self.reasoning.sent(self.policy) if may_rebind else {}
        if handler is not None:
            if not isinstance(event, TurnStarted):  # it leaves the reading as it is
                self.revision = self.seq
            handler(self, event)
        if may_rebind:
            self._rebind(sent)

    def _rebind(self, sent: Mapping[str, float]) -> None:
        """Look again at which reasoning, ``sent`` before, is still behind the prefix that it was made behind."""
        self.head = self.loadable = None
        if self.bound.check(self.prefix_head, self.view, self._binds):
            self._recarry()
        lost = {**self.lost, **sent}
        in_view, known = self.view.entries.keys(), self.reasoning.tokens.keys()
        self.lost = {name: lost[name] for name in lost.keys() & in_view - known}

    def _epoch(self, _: EpochChanged) -> None:
        self.lost = {}

    def _binds(self, entry: Entry) -> bool:
        """Whether the model that wrote this answer binds its reasoning to what was in front of it."""
        maker = entry.cost.maker
        if maker is None:
            return False
        is_known = binding_of(maker.wire, maker.model) is not None
        return is_known or maker.model in self.bound.learnt

    @property
    def holds_bound(self) -> bool:
        """Whether reasoning in view is sent, and would be refused behind another system prompt or other tools."""
        if not self.refuses_changes or not self.policy.include_in_context:
            return False
        for entry in self.view:
            is_valid = entry.cost.carries and self.bound.is_valid(entry)
            if is_valid and self._binds(entry):
                return True
        return False

    def needs_content(self, event: Event) -> bool:
        """Whether applying this event reads messages in view, so that none of their contents may be missing."""
        return type(event) in _READS_CONTENT

    # -- the session --

    def _started(self, event: SessionStarted) -> None:
        self.partial = event.partial
        self.lacking = set(event.unlogged)
        self.is_subagent = event.is_subagent
        self.program = event.program
        self.directory = digest(event.cwd) if event.cwd else ""
        self.started_at = event.at
        self._use_model(event.model, event.wire, event.provider)

    def _model(self, event: ModelChanged) -> None:
        self._use_model(
            event.model, event.wire or self.wire, event.provider or self.provider
        )

    def _turn_started(self, event: TurnStarted) -> None:
        if not event.again:
            self.spend_before = self.spend

    def _use_model(self, model: str, wire: str, provider: str) -> None:
        if (model, wire, provider) == (self.model, self.wire, self.provider):
            return
        before = OtherModel(
            forecast=self.whole_forecast(),
            weight=self.view.tokens + self.fixed.tokens,
            forecaster=self.forecaster,
        )
        remember(self)
        changed_model = bool(self.model) and model != self.model
        self.reports = ReportHistory()
        self.follows = False
        self.set_model(model, wire, provider)
        self._take_limits()
        if changed_model:
            self.marks.append("model")
            self.seen = NOTHING_SEEN
            self._take_client_limits()
        if self.forecaster.same_units(before.forecaster):
            self._recarry()  # what the old model made, the new one may not read
            return
        self.counted = None
        self._recount()
        if self.anchor is not None:
            rest_on_new_model(self, before)
            self._begin_anew()

    def _begin_anew(self) -> None:
        """The anchor holds all that is in view, and no answer waits to be sent back."""
        self.output = None
        self.output_left = True
        self.removed = 0.0
        self.taken_out = None
        self.since = SinceAnchor()

    def _take_limits(self) -> None:
        """The limits that the catalogue has for the model."""
        known = self.known or ModelLimits()
        self.limits = self.limits.of_model(
            known.window, known.input_cap, known.max_output
        )
        self._take_client_limits()

    def _take_client_limits(self) -> None:
        """The limits of the program that wrote the session, by what it has shown so far."""
        self.limits = with_client(self)

    def _recount(self) -> None:
        """Every cost again, in the units of the new family."""
        self._count_fixed()  # results are counted by the tools that they refer to
        entries = list(self.view)
        self.view = View(tool_names=self.view.tool_names)
        self.step_ratios = StepRatios()
        self.fixed_ratio = 1.0
        self.reasoning = ReasoningInView()
        for entry in entries:
            self._enter(entry.message, entry.facts.origin)

    def _count_fixed(self) -> None:
        """What every request carries, again."""
        self.shares = self.declarations = None
        first = next(iter(self.view), None)
        leading = ""
        if first is not None and first.role == "system":
            leading = (
                "".join(part.text for part in first.message.of_type(TextPart)) or " "
            )
        fixed = self.forecaster.fixed(
            self.system or (), self.tools or (), self.params, leading=leading
        )
        self.fixed = fixed._replace(replaced=self.fixed.replaced)

    def _calibrated(self, event: Calibrated) -> None:
        """The calibration that the session begins with."""
        if bytes(event.state) == b"null":
            return
        try:
            self.calibration = calibration_from_json(event.state)
        except (
            UnreadableInput
        ):  # the session is opened all the same, and learns from the start
            return
        for name, learnt in self.calibration.models.items():
            if learnt.binds:
                self.bound.learnt.add(name.partition("/")[2])

    def _overhead_learnt(self, event: OverheadLearnt) -> None:
        self.earlier_calls = kept(event.calls)

    def _input_counted(self, event: InputCounted) -> None:
        """The count of the next request, unless it names another one or can't be true.

        A count that stays the same for content of another size takes the count before it back.
        """
        named, estimate = event.fingerprint, self.estimate()
        if named is not None and named.digest != self.view.digest:
            return
        # A count is of what the model reads.
        tokens = event.tokens + estimate.after_clearing(self.cleared).cleared.total
        request = expectation_of(self, self._request(estimate), tokens)
        if event.tokens <= 0 or not is_possible(tokens, request):
            return
        before = self.counted
        self.counted = CountedInput(
            tokens=tokens, estimated=estimate.tokens, new=estimate.new
        )
        if before is not None and self.counted.contradicts(before):
            self.counted = replace(self.counted, is_contradicted=True)

    def _may_refuse(self, tokens: int) -> bool:
        """Whether a request of so many tokens can have been refused for its size: what was hidden makes it larger."""
        return LEAST_LEFT * self.estimate().low <= tokens <= self._most_believed

    def _may_limit(self, event: LimitLearnt) -> bool:
        """Whether a refusal can name such a limit: what the model has taken is no multiple of it."""
        taken = 0 if self.anchor is None else self.anchor.input / AGREED_WINDOWS
        named = event.window or event.input_cap or 0
        return max(LEAST_WINDOW, taken) <= named <= self._most_believed

    @property
    def _most_believed(self) -> int:
        return AGREED_WINDOWS * (largest_window(self) or LARGEST_WINDOW)

    def _size_stated(self, event: SizeStated) -> None:
        """What somebody says of the size: readings rest on it if nothing better is known, until the next report."""
        if not can_be_true(event) or not outranks(self, event):
            return
        if event.is_provider and not self._may_refuse(event.tokens):
            return
        hidden = hidden_tokens(event)
        if hidden:
            self._size_summary(hidden)
        anchor = anchor_of(self, event)
        if self.anchor is None:
            self._note_unlogged(anchor)
        self.anchor = anchor
        self.counted = None
        self.history_doubt = 0.0
        self.begun = self.begun._replace(puts_back=False)  # it is in what was said
        self._begin_anew()

    def _size_summary(self, hidden: int) -> None:
        """The summary of the last compaction holds so many tokens beside its text."""
        record = next(reversed(self.undo_records.values()), None)
        entry = None if record is None else self.view.entries.get(record.summary)
        if entry is not None:
            tokens = entry.cost.tokens + hidden / self.learnt.ratio
            cost = self.forecaster.with_text_tokens(entry.cost, tokens)
            self.view.recost(entry.id, cost)

    def _pieces_counted(self, event: PiecesCounted) -> None:
        self.pieces = event.pieces
        self.shares = None

    def _limit(self, event: LimitLearnt) -> None:
        if self.model and event.model and event.model != self.model:
            return
        if event.source != "error" or self._may_limit(event):
            self.limits = self.limits.learn(event)
            self._take_client_limits()

    def _system(self, event: SystemChanged) -> None:
        if event.note:
            self.notes = (*self.told, event.note)
            self.amended = event.system
            return
        self.system = event.system
        self._lack("system", is_lacking=event.is_part)
        self.notes = ()
        self.amended = ()
        self._count_fixed()

    def _tools(self, event: ToolsChanged) -> None:
        self.tools = event.tools
        self._lack("tools", is_lacking=event.is_part)
        self.bound.declare(event.tools)
        self._count_fixed()

    def _lack(self, part: RequestPart, *, is_lacking: bool) -> None:
        """Whether requests hold more of this than the log."""
        if is_lacking:
            self.lacking.add(part)
        else:
            self.lacking.discard(part)

    def _params(self, event: ParamsChanged) -> None:
        if read_answer_format(event.params) != read_answer_format(self.params):
            self.history_doubt = math.hypot(self.history_doubt, LEAST_CHANGE_DOUBT)
        kept = keeps_reasoning(self.params)
        self.params = event.params
        if keeps_reasoning(event.params) != kept:
            self.set_model(self.model, self.wire, self.provider)
        if self.anchor is not None and PARAMETER not in event.params:
            self.anchor = replace(self.anchor, cleared=NOTHING_CLEARED)
        self._count_fixed()

    def _settings(self, event: SettingsChanged) -> None:
        settings = event.settings
        try:
            self.limits = self.limits.with_settings(settings)
        except SettingError:
            return  # an impossible value changes nothing; the caller that sets one checks it first
        if "window" in settings and self.limits.window is None:
            self._take_limits()
        include, strip = self.policy.include_in_context, self.policy.strip
        if "include_in_context" in settings:
            include = settings["include_in_context"] is not False
        if "strip" in settings:
            value = settings["strip"]
            strip = value if value in ("all", "all_but_last") else "none"
        self.policy = ReasoningPolicy(include_in_context=include, strip=strip)

    def _policy(self, event: PolicyChanged) -> None:
        self.policy = ReasoningPolicy(
            include_in_context=event.include_in_context, strip=event.strip
        )

    # -- messages --

    def _enter(self, message: Message, origin: ContentLocation) -> Entry:
        cost = self._cost(message)
        opening = self._opening(message, cost)
        entry = self.view.add(message, cost, opening=opening, origin=origin)
        self._follow(entry)
        if entry.order == 1 and message.role == "system":
            self._count_fixed()
        self._carry(entry)
        return entry

    def _cost(self, message: Message) -> MessageCost:
        return self.forecaster.message(
            message,
            self.view.tool_names,
            self.deferred_tokens,
        )

    def _opening(self, message: Message, cost: MessageCost) -> float:
        """What a message adds to a first request; it is needed only before the first reported input."""
        return (
            self.forecaster.opening_message(message, cost) if self.anchor is None else 0.0
        )

    def _follow(self, entry: Entry) -> None:
        """Update where turns begin and whether a tool loop is open, by a message."""
        is_answer, has_text, has_tools = turn_content(entry)
        beside, is_open = self.forecaster.rules[0].beside, self.reasoning.is_open
        self.reasoning.follow(
            step_of(
                is_answer=is_answer,
                has_text=has_text,
                has_tools=has_tools,
                beside=beside,
                is_open=is_open,
            )
        )

    def _carry(self, entry: Entry) -> None:
        """Record the reasoning of a message that may be sent."""
        answer = entry.cost.answer
        takes = self.forecaster.takes_reasoning(entry.cost)
        if answer is None or not takes or entry.id in self.bound.unbound:
            self.reasoning.remove(entry.id)
            return
        usage = self.usages.get(entry.call)
        tokens = self.forecaster.hidden(entry, usage)
        if tokens > 0 or entry.cost.carries:
            rests = self.forecaster.rests(entry, usage)
            self.reasoning.put(entry.id, tokens, rests, calls=answer.calls > 0)
        else:
            self.reasoning.remove(entry.id)

    def _message(self, event: MessageAdded) -> None:
        message = event.message
        if message.id in self.view.entries:
            self._exchange(message, ContentLocation(self.seq))
            return
        entry = self._enter(message, ContentLocation(self.seq))
        is_whole = not (self.missing or self.partial)
        self.bound.added(entry, self.prefix_head if is_whole else None, self.view)
        if message.role == "assistant":
            self.open_calls = {part.call_id for part in message.of_type(ToolCallPart)}
        if entry.cost.added.results:
            self.open_calls.difference_update(
                result.call_id for result in message.of_type(ToolResultPart)
            )
        if self.is_output(message) and not self.output_left:
            self.output = entry
        else:
            self.since = self.since.plus(entry)

    def _replaced(self, event: MessageReplaced) -> None:
        if event.message.id in self.view.entries:
            self._exchange(event.message, ContentLocation(self.seq))
        else:
            self._message(MessageAdded(message=event.message))

    def _exchange(self, message: Message, origin: ContentLocation) -> Entry:
        old = self.view.entries[message.id]
        cost = self._cost(message)
        anchored = self.is_anchored(old)
        opening = self._opening(message, cost)
        entry = self.view.replace(
            message, cost, opening=opening, origin=origin, keep_order=anchored
        )
        if anchored:
            self.removed += (old.cost.tokens - cost.tokens) * self.scale_of(old)
        elif old is not self.output:
            self.since = self.since.plus(old, -1).plus(entry)
        elif self.is_output(message):
            self.output = entry
            self._note_edit(old, entry)
        else:
            self.output, self.output_left = None, True
            self.since = self.since.plus(entry)
        if turn_content(old) == turn_content(entry) and (
            message.id in self.reasoning.tokens or not cost.carries
        ):
            self._carry(entry)
        else:
            self._recarry()
        return entry

    def _note_edit(self, old: Entry, new: Entry) -> None:
        """Record that the application sends an answer back in another form than it came in."""
        before, after = old.cost.answer, new.cost.answer
        if self.anchor is not None and before is not None and after is not None:
            edited = self.forecaster.edited(self.anchor, before, after)
            self.anchor = replace(self.anchor, edited=edited)

    def _leave(self, message_id: str, *, quiet: bool = False) -> Entry | None:
        """Take a message out of view. ``quiet`` when it was summarised: the turn that it began stays open."""
        entry = self.view.remove(message_id)
        if entry is None:
            return None
        if self.is_anchored(entry):
            self.removed += entry.cost.tokens * self.scale_of(entry)
        elif entry is self.output:
            self.output, self.output_left = None, True
        else:
            self.since = self.since.plus(entry, -1, quiet=quiet)
        self.reasoning.remove(message_id)
        return entry

    def _rewound(self, event: Rewound) -> None:
        self._note_taken_out()
        ids = list(self.view.entries)
        after = ids
        if event.to in self.view.entries:
            after = ids[ids.index(event.to) + 1 :]
        left = [entry for each in reversed(after) if (entry := self._leave(each))]
        if event.rewind:
            self.undo_records[event.rewind] = UndoRecord(
                self.anchor_call, tuple(ids), tuple(reversed(left)), is_rewind=True
            )
        last = self.view.last
        self.open_calls = set()
        if last is not None and last.role == "assistant":
            self.open_calls = {
                part.call_id for part in last.message.of_type(ToolCallPart)
            }
        if after:
            self._rearrange()
            self.marks.append("rewind")
        elif self.output is None and not self.since.messages:
            self.output_left = True  # an answer that was never shown is not sent either

    def _note_taken_out(self) -> None:
        """Note what a program's plugins have taken out, which its log does not have: the report is less than the view.

        Both take what is oldest first, so that what leaves now has left already, as far as any has.
        """
        anchor = self.anchor
        if anchor is None or self.taken_out is not None or not self.partly_unlogged:
            return
        held = anchor.fixed + anchor.reasoning + self.put_back + (self.unlogged or 0.0)
        for entry in self.view:
            if self.is_anchored(entry):
                held += entry.cost.tokens * self.scale_of(entry)
        gone = held - anchor.input
        self.taken_out = gone if gone > REMOVAL_DOUBT * held else 0.0

    def _pruned(self, event: Pruned) -> None:
        self._note_taken_out()
        by_message = self.view.holders(event.parts)
        changed = self._change(
            (
                cleared(entry.message, parts, event.notice),
                entry.facts.origin.after_pruning(self.seq),
            )
            for entry, parts in (
                (self.view.entries[holder], parts) for holder, parts in by_message.items()
            )
        )
        if event.prune:
            self.undo_records[event.prune] = UndoRecord(
                self.anchor_call, (), changed=changed, is_prune=True
            )
        if by_message:
            self.marks.append("prune")

    def _change(
        self, contents: Iterable[tuple[Message, ContentLocation]]
    ) -> tuple[ChangedEntry, ...]:
        """New content for messages in view; gives back the entries before and after."""
        changed: list[ChangedEntry] = []
        for message, origin in contents:
            before = self.view.entries.get(message.id)
            if before is not None:
                changed.append(ChangedEntry(before, self._exchange(message, origin)))
        return tuple(changed)

    def _note_writer(self, event: CompactionCommitted) -> None:
        """If the provider itself wrote the summary, reasoning behind it stays valid: what it stands for is noted.

        Under the conditions of https://platform.claude.com/docs/en/build-with-claude/compaction-thinking-blocks: what
        stays follows directly on what left, unchanged, and begins with another speaker.
        """
        summary = event.summary
        if summary is None:
            return
        if any(item.kind == COMPACTION for item in summary.of_type(ProviderItem)):
            self.bound.writers[summary.id] = self.bound.reader
        if event.replaced or event.behind:
            return
        parts = summary.parts
        item = parts[0] if len(parts) == 1 else None
        if not isinstance(item, ProviderItem) or item.kind != COMPACTION:
            return
        if item.provider is None or not self.refuses_changes:
            return
        gone = {*event.summarised, *(dropped.id for dropped in event.dropped)}
        kept = [entry for entry in self.view if entry.id not in gone]
        left = [entry for entry in self.view if entry.id in gone]
        if not kept or not left or [*left, *kept] != list(self.view):
            return
        speakers = [each.role == "assistant" for each in (left[-1], kept[0])]
        if kept[0].role == "system" or speakers[0] == speakers[1]:
            return
        self.bound.note_compaction(summary.id, self.view, kept[0].id)

    def _compacted(self, event: CompactionCommitted) -> None:
        self._note_writer(event)
        self._note_taken_out()
        gone = [*event.summarised, *(dropped.id for dropped in event.dropped)]
        order = tuple(self.view.entries)
        is_unseen = self.output is None and not self.since.messages
        if is_unseen and order and order[-1] in gone:
            self.output_left = (
                True  # an answer that was never shown is summed up with the rest
            )
        left = tuple(
            entry for each in gone if (entry := self._leave(each, quiet=True)) is not None
        )
        changed = self._change(
            (message, ContentLocation(self.seq, place))
            for place, message in enumerate(event.replaced, 1)
        )
        summary = ""
        if event.summary is not None:
            summary = event.summary.id
            cost = self.forecaster.message(event.summary, self.view.tool_names)
            if event.summary_tokens is not None:
                # It was reported, so it is not to be corrected as an estimate would be.
                cost = self.forecaster.with_text_tokens(
                    cost, event.summary_tokens / self.learnt.ratio
                )
            entry = self.view.add(
                event.summary, cost, opening=cost.tokens, origin=ContentLocation(self.seq)
            )
            self.since = self.since.plus(entry, quiet=True)
            self._carry(entry)
            self.view.arrange([*self._in_front_of_summary(event.behind), summary])
            if event.behind:
                self._rearrange()  # it begins a turn behind the messages in front of it
        for place, message in enumerate(event.added, len(event.replaced) + 1):
            cost = self.forecaster.message(message, self.view.tool_names)
            origin = ContentLocation(self.seq, place)
            entry = self.view.add(message, cost, opening=cost.tokens, origin=origin)
            self.since = self.since.plus(entry, quiet=True)
        self._take_out_earlier()
        puts_back = event.puts_back and not self.partial and self.unlogged is not None
        self.begun = Opening(is_compaction=True, puts_back=puts_back)
        self.put_back = 0.0
        self.undo_records[event.compaction] = UndoRecord(
            self.anchor_call,
            order,
            left,
            changed,
            summary,
            behind=event.behind,
            added=tuple(message.id for message in event.added),
            unshown=self._take_out_unshown() if puts_back else 0.0,
        )
        self.seen = self.seen.after_compaction(
            event.before or 0, is_automatic=event.is_automatic
        )
        self._take_client_limits()
        self.compactions += 1
        self.marks.append("compaction")

    def _take_out_earlier(self) -> None:
        """History from before the log leaves as well. Without a first call its share of what is unlogged is unknown."""
        anchor, unlogged = self.anchor, self.unlogged
        if anchor is None or not unlogged or not (self.partial or anchor.stated_by):
            return
        if (usual := self.usual_overhead) is not None:
            stays = min(unlogged, usual.tokens)
            self.history_doubt = max(usual.below, usual.above)
        elif "compaction" in self.marks:
            return  # it left with the one before
        else:
            stays = self.history_doubt = unlogged / 2
        self.removed += unlogged - stays
        self.unlogged = stays

    def _take_out_unshown(self) -> float:
        """Of what the log does not show of the last request, only what every request holds stays. Gives what left."""
        anchor = self.anchor
        if anchor is None or self.unlogged is None:
            return 0.0
        stays = min(self.unlogged, MOST_KEPT_OVERHEAD)
        self.history_doubt = math.hypot(self.history_doubt, self.unlogged - stays)
        self.unlogged = stays
        for entry in self.view:
            if self.is_anchored(entry):
                stays += entry.cost.tokens * self.scale_of(entry)
        before = self.removed
        self.removed = max(0.0, anchor.input - anchor.reasoning - anchor.fixed - stays)
        self.taken_out = 0.0
        return self.removed - before

    def _in_front_of_summary(self, behind: str) -> list[str]:
        """Ids up to the message that a summary stands behind; without one, the system messages at the beginning."""
        ids = list(self.view.entries)
        if behind in self.view.entries:
            return ids[: ids.index(behind) + 1]
        return [
            entry.id
            for entry in takewhile(lambda entry: entry.role == "system", self.view)
        ]

    def _uncompacted(self, event: Uncompacted) -> None:
        """Later compactions and prunes are undone first, newest first, so that each finds the view it left."""
        if event.compaction not in self.undo_records:
            return
        for name in reversed(tuple(self.undo_records)):
            record = self.undo_records.pop(name)
            if name == event.compaction or not record.is_rewind:
                self._undo(record)
            if name == event.compaction:
                break
        self._recarry()
        self.begun = self.begun._replace(puts_back=False)
        self.put_back = 0.0
        self.marks.append("uncompact")

    def _undo(self, record: UndoRecord) -> None:
        if record.behind and record.behind not in self.view.entries:
            return  # a rewind to before the summary took away what would come back
        for made in (record.summary, *record.added):
            self._leave(made, quiet=True)
        for before, after in record.changed:
            now = self.view.entries.get(after.id)
            if now is not None and now.facts.origin == after.facts.origin:
                self._exchange(before.message, before.facts.origin)
        same_anchor = self.anchor is not None and self.anchor.call == record.anchor
        if same_anchor:
            self.removed -= record.unshown
        for entry in record.left:
            if same_anchor and self.is_anchored(entry):
                self.removed -= entry.cost.tokens * self.scale_of(entry)
            elif same_anchor and self.output is None and self.is_output(entry):
                self.output, self.output_left = entry, False
            else:
                self.view.orders += 1
                entry = entry.with_order(self.view.orders)  # noqa: PLW2901
                self.since = self.since.plus(entry, quiet=True)
            self.view.put_back(entry)
        self.view.arrange(record.order)
        self.compactions -= not (record.is_prune or record.is_rewind)

    def _reasoning_refused(self, event: ReasoningRefused) -> None:
        self.bound.refuse(event.model, self.view)
        self.calibration = self.calibration.bound(self.provider, event.model)

    def _recarry(self) -> None:
        """Record the reasoning in view again, each message's in the turn it belongs to."""
        self.reasoning = ReasoningInView()
        for entry in self.view:
            self._follow(entry)
            self._carry(entry)

    def _rearrange(self) -> None:
        """The same after messages left, with the known amounts: no usage is read."""
        known = self.reasoning
        self.reasoning = ReasoningInView()
        for entry in self.view:
            self._follow(entry)
            tokens, answer = known.tokens.get(entry.id), entry.cost.answer
            if tokens is not None and answer is not None:
                self.reasoning.put(
                    entry.id,
                    tokens,
                    known.rests.get(entry.id, NOTHING_COUNTED),
                    calls=answer.calls > 0,
                )

    # -- calls --

    def _call_started(self, event: CallStarted) -> None:
        if event.purpose != "main":
            if event.purpose == "summary" and event.estimate is not None:
                self.summaries[event.call] = event.estimate.tokens
            return
        if event.fingerprint is not None:
            self.bound.started(event.call, self.prefix_head, self.view)
        if event.added != self.fixed.replaced:
            self.fixed, self.shares = self.fixed._replace(replaced=event.added), None
        if event.replaced_by:
            self.marks.append(REPLACED)
        self.pending[event.call] = replace(
            self._request(self.whole_forecast()),
            estimate=None if self.counted is None else self.estimate(),
            opening=(
                self.opening() if self.anchor is None and not event.replaced_by else None
            ),
            stream=event.stream,
            at=event.at,
            is_whole=event.fingerprint is not None,
            is_held=event.is_held,
            doubted=self.reports.beyond,
        )
        self.seen = self.seen.after_request()
        self.marks.clear()

    def _request(self, forecast: Forecast) -> Pending:
        """The request that the view makes now, with this forecast."""
        return Pending(
            order=self.view.orders,
            fixed=self.fixed.tokens,
            earlier=self.earlier_reasoning(),
            reasoning=self.earlier_reasoning(with_last=True),
            messages=self.view.tokens,
            rests=self.reasoning.turn_rests,
            turn=self.reasoning.turn,
            forecast=forecast,
            user_turn=self.user_turn,
            before=self.basis,
            marks=tuple(self.marks),
            stream=False,
            at=0.0,
            media=self.view.media,
            is_whole=True,
        )

    def _call_ended(self, event: CallEnded) -> None:
        """Judge the report, count what it spent, note the step, learn from it, and let readings rest on it."""
        if event.purpose != "main":
            self._side_call_ended(event)
            return
        usage = event.usage
        pending = self.pending.pop(event.call, None)
        cleared = self._cleared_of(usage, pending)
        context = self._judged(event, pending, cleared)
        is_failed = event.outcome == "failed"
        if event.outcome == "cancelled":
            self.begun = self.begun._replace(is_interrupted=True)
        self._spend_main(event, pending, context)
        if usage is not None:
            usage = self._usable(usage, context)
            self.usages[event.call] = replace(usage, raw=None)
        if pending is not None:
            self._note_step(event, pending, context, cleared)
        if is_failed and event.counted:
            known = self.whole_forecast() if pending is None else pending.forecast
            if not known.low <= event.counted <= known.high:
                # Else it says what was expected, and a bill tells more of the next request, which will be another one.
                self._size_stated(
                    SizeStated(by=PROVIDER, is_provider=True, tokens=event.counted)
                )
        if usage is None or context is None:
            if is_failed and pending is not None:
                self.marks[:0] = pending.marks
            elif self.anchor is not None and self.anchor.label in WEAK:
                label = self.reports.label or NO_USAGE
                self.anchor = replace(self.anchor, label=label)
            return
        is_own = pending is not None and REPLACED not in pending.marks
        if pending is not None and pending.before is not None and is_own:
            said = pending.estimate or pending.forecast
            self.calibration = self.calibration.widened(
                self.provider,
                self.model,
                said.situation,
                below=context < said.low,
                above=context > said.high,
            )
        self.seen = self.seen.after_call(context, usage.output or 0)
        self._note_pinned(pending, context)
        self._take_client_limits()
        level: float | None = None
        if self.reports.surprise is not None:
            level = expectation_of(self, pending, context).level
        if pending is not None and is_own:
            pending = self._learnt_from(pending, context)
        self._set_anchor(
            event.call, usage, context, pending, cleared=cleared, level=level
        )
        self.output_left = bool(event.replaced_by)

    def _note_pinned(self, pending: Pending | None, context: int) -> None:
        """Whether the provider reports the same input for a longer conversation: it cuts off what is more.

        That number is a window: a broken endpoint may repeat any other whatever is sent.
        """
        before = None if pending is None else pending.before
        if pending is None or before is None or before.anchor.spread:
            self.pins = 0
        elif context == before.anchor.input:
            grown = pending.messages - before.anchor.messages
            self.pins = self.pins + 1 if grown >= LEAST_PINNED_GROWTH else 0
        else:
            self.pins = 0
            is_expected = pending.forecast.low <= context <= pending.forecast.high
            is_larger = context > before.anchor.input
            self.follows = self.follows or (is_expected and is_larger)
        is_cut = (
            pending is not None
            and self.pins >= PINS
            and (self.follows or pending.messages > context)
            and self._is_window(context)
        )
        self.limits = self.limits.with_cut(context if is_cut else None)

    def _is_window(self, tokens: int) -> bool:
        """Whether a window has such a size. Round thousands are no window of reports that followed no conversation."""
        units = WINDOW_UNITS if self.follows else WINDOW_UNITS[:1]
        is_round = any(tokens % unit == 0 for unit in units)
        return is_round or tokens == largest_window(self)

    def _spend_main(
        self, event: CallEnded, pending: Pending | None, context: int | None
    ) -> None:
        """Count a call of the conversation: of a sum its own part, and an input that is not used as estimated."""
        usage, estimated = event.usage, None
        if event.outcome != "failed":
            if self.reports.is_unusable and pending is not None:
                estimated = pending.forecast.tokens
            is_own = self.reports.refused is None and self.reports.rule != "sum"
            if usage is not None and not is_own:
                usage = with_input(usage, context)
        self._note_spend(event, usage, estimated)

    def _learnt_from(self, pending: Pending, context: int) -> Pending:
        """Learn from a reported input; gives back the request as what was learnt corrects it."""
        rules = self.learnt.flipped
        self.calibration = self.forecaster.learn(
            self.calibration,
            pending,
            policy=self.policy,
            actual=context,
            is_surprise=self.reports.surprise is not None
            or self.begun.is_filled
            or self.pins > 0,
        )
        if self.learnt.flipped == rules:
            return pending
        self.step_ratios = StepRatios()  # they were measured by the rule before
        reasoning = self.earlier_reasoning(with_last=True)
        return replace(pending, reasoning=reasoning, before=None)

    def _side_call_ended(self, event: CallEnded) -> None:
        """A call beside the conversation. The report of a summary is judged by what was asked."""
        usage, asked = event.usage, self.summaries.pop(event.call, None)
        if usage is not None and event.purpose == "summary":
            self.usages[event.call] = replace(usage, raw=None)
        is_own = event.provider in {"", self.provider}
        if usage is None or asked is None or event.outcome == "failed" or not is_own:
            self._note_spend(event, usage)
            if usage is not None and usage.input:
                self.reports = replace(self.reports, last=usage.input)
            return
        spent, estimated = usage, asked if usage.flags else None
        if usage.context:
            own = difference_of_sums(usage.context, self.reports)
            self.reports = replace(self.reports, last=usage.context)
            context = usage.context if own is None else own
            if not is_summary_possible(context, asked, largest_window(self)):
                spent, estimated = with_input(usage, None), asked
            elif own is not None:
                spent = with_input(usage, own)
        self._note_spend(event, spent, estimated)

    def _note_spend(
        self, event: CallEnded, usage: Usage | None, estimated: int | None = None
    ) -> None:
        self.spend = with_call(
            self.spend, event, usage, self.known, self.provider, estimated
        )

    def _cleared_of(self, usage: Usage | None, pending: Pending | None) -> ClearedTokens:
        """What the provider cleared of a call's request."""
        if usage is None:
            return NOTHING_CLEARED
        if not usage.cleared:
            # The end of a stream says it: one that was cut is taken to be like the last.
            return NOTHING_CLEARED if usage.final else self.cleared
        reasoning = self.earlier_reasoning(with_last=True)
        if pending is not None:
            reasoning = pending.reasoning
        return cleared_tokens(usage.cleared, reasoning)

    def _judged(
        self, event: CallEnded, pending: Pending | None, cleared: ClearedTokens
    ) -> int | None:
        """The whole input that a call reports, if a reading may rest on it; what is remembered of reports follows."""
        usage = event.usage
        if event.outcome == "failed":
            return None
        if usage is None or not usage.verified or not usage.context:
            # those of a cut call's usage say that it is an estimate of our own
            flags = () if usage is None or usage.placeholder else usage.flags
            self.reports = self.reports.without_report(flags)
            return None
        report = Report(
            usage.context + cleared.total,
            says_cache=usage.cache_read is not None,
            cleared=cleared.total,
        )
        expected = expectation_of(self, pending, report.input)
        context, history = judge(report, expected, self.reports)
        contradictions = () if usage.placeholder else usage.flags
        self.reports = replace(history, contradictions=contradictions)
        return context

    def _usable(self, usage: Usage, context: int | None) -> Usage:
        """The usage as far as the reading may rest on it: counts of a report that can't be true are no counts."""
        if self.reports.refused is not None:
            return without_counts(usage)
        if self.reports.rule and context is not None:
            usage = without_counts(usage, self.reports.rule)
            return replace(usage, input=context, context_input=None)
        window = largest_window(self)
        if usage.answer is not None and window is not None and usage.answer > window:
            return without_counts(usage, "output_too_large")
        return usage

    def _set_anchor(
        self,
        call: str,
        usage: Usage,
        context: int,
        pending: Pending | None,
        *,
        cleared: ClearedTokens,
        level: float | None,
    ) -> None:
        """From here on readings rest on the input that this call reported."""
        order = self._order_before(call) if pending is None else pending.order
        entries = self.view.since(order)
        anchor = Anchor(
            call=call,
            input=context,
            usage=usage,
            order=order,
            fixed=self.fixed.tokens,
            reasoning=0.0,
            messages=self.view.tokens - sum(entry.cost.tokens for entry in entries),
            cleared=cleared,
            level=level,
        )
        if pending is not None:
            anchor = replace(
                anchor,
                fixed=pending.fixed,
                reasoning=pending.reasoning,
                messages=pending.messages,
                rests=pending.rests,
                turn=min(pending.turn, pending.reasoning),
                stream=pending.stream,
            )
        is_compacted = pending is not None and "compaction" in pending.marks
        if self.begun.is_filled and pending is not None:
            self._note_put_back(anchor, pending)
        elif self.anchor is None or self.anchor.stated_by or is_compacted:
            self._note_unlogged(anchor)
        if self.anchor is None and pending is not None:
            self._note_first_call(anchor, pending)
        if pending is not None and not self.begun.is_filled:
            self._measure(pending, context)
        self.anchor = anchor
        self.begun = self.begun._replace(
            reports=self.begun.reports + 1, is_interrupted=False
        )
        self.counted = self.shares = None
        self.output = None
        self.output_left = False
        self.removed = self.history_doubt = 0.0
        self.taken_out = None
        for entry in entries:
            if call and entry.call == call:
                self.output = entry
        self.since = SinceAnchor()
        for entry in entries:
            if entry is not self.output:
                self.since = self.since.plus(entry)
        if self.output is not None:
            self._carry(self.output)

    def _note_first_call(self, anchor: Anchor, pending: Pending) -> None:
        """What later sessions can learn of this one's first reported input: what it held beyond its estimate."""
        estimate = pending.opening
        if estimate is None or self.partial or anchor.level is not None:
            return
        doubt = (estimate.high - estimate.low) / 2
        if not self.missing and estimate.tokens:
            # The report itself says what system prompt and tools cost: only the messages' estimate may be off.
            doubt *= max(0.0, 1 - pending.fixed / estimate.tokens)
        call = self._call_beyond(
            anchor, pending, tokens=anchor.input - estimate.tokens, doubt=round(doubt)
        )
        if self.believes(call):
            self.first_call = call

    def _note_put_back(self, anchor: Anchor, pending: Pending) -> None:
        """What this call after a compaction held beyond its log."""
        forecast = pending.forecast
        tokens = anchor.input - round(forecast.tokens - forecast.overhead)
        self.put_back += tokens
        is_expected = forecast.low <= anchor.input <= forecast.high
        if abs(tokens) > MOST_OVERHEAD or (anchor.level is not None and not is_expected):
            return
        situation = AFTER_COMPACTION[self.begun.reports]
        call = self._call_beyond(anchor, pending, situation=situation, tokens=tokens)
        self.after_compactions = (*self.after_compactions, call)[-FIRST_CALLS_KEPT:]

    def _call_beyond(self, anchor: Anchor, pending: Pending, **beyond: Any) -> FirstCall:
        """This call as one that held so much beyond its log."""
        at = pending.at or self.started_at
        name = first_call_id(self.session, anchor.call, at, anchor.input)
        return replace(self.session_facts(), id=name, at=at, **beyond)

    def _note_unlogged(self, anchor: Anchor) -> None:
        """What the first reported input, or the first after a compaction, exceeds its estimate by."""
        beyond = anchor.unexplained
        if self.partly_unlogged:
            self.unlogged = max(0.0, beyond)
        elif self.anchor is None:
            self.unlogged = None
            if anchor.messages <= LITTLE_FIRST:
                # With hardly a message in it, what the estimate missed is in what every request carries.
                self.unlogged = max(-anchor.fixed / 2, beyond)
                self.fixed_ratio = plausible_ratio(
                    1 + self.unlogged / max(1.0, anchor.fixed)
                )
            self.first_messages = anchor.messages
        self.partial = self.partial and self.anchor is None

    def _measure(self, pending: Pending, context: int) -> None:
        """Note what the messages since the last reported input cost, if nothing else was added or removed."""
        before = pending.before
        if (
            before is None
            or pending.marks
            or before.changed
            or before.removed
            or before.output_left
        ):
            return
        last = before.anchor
        if last.label or last.spread:
            return
        self.step_ratios.note(
            last.order,
            pending.order,
            estimated=pending.messages - last.messages,
            actual=context - pending.reasoning - (last.input - last.reasoning),
        )

    def _order_before(self, call: str) -> int:
        """The newest order that a call without a recorded start covers: everything before its own answer was sent."""
        last = self.view.last
        if last is not None and call and last.call == call:
            return last.order - 1
        return self.view.orders

    def _note_step(
        self,
        event: CallEnded,
        pending: Pending,
        actual: int | None,
        cleared: ClearedTokens,
    ) -> None:
        """Note the estimate beside the reported input, both without what the provider cleared of this request."""
        if actual is None:
            forecast = pending.forecast.after_clearing(self.cleared)
        else:
            forecast = pending.forecast.after_clearing(cleared)
            actual -= cleared.total
        forecast = forecast.with_other(pending.doubted)
        refused: int | None = None
        if event.outcome != "failed" and self.reports.refused is not None:
            refused = self.reports.refused.input
        self.track.add(
            Step(
                number=len(self.track.steps) + 1,
                call=event.call,
                estimated=forecast.tokens,
                low=forecast.low,
                high=forecast.high,
                at=event.at or pending.at,
                actual=actual,
                marks=pending.marks,
                situation=forecast.situation,
                refused=refused,
            )
        )


_HANDLERS: dict[type, Callable[[Fold, Any], None]] = {
    SessionStarted: Fold._started,
    TurnStarted: Fold._turn_started,
    ModelChanged: Fold._model,
    Calibrated: Fold._calibrated,
    OverheadLearnt: Fold._overhead_learnt,
    InputCounted: Fold._input_counted,
    PiecesCounted: Fold._pieces_counted,
    SizeStated: Fold._size_stated,
    LimitLearnt: Fold._limit,
    SystemChanged: Fold._system,
    ToolsChanged: Fold._tools,
    ParamsChanged: Fold._params,
    PolicyChanged: Fold._policy,
    SettingsChanged: Fold._settings,
    MessageAdded: Fold._message,
    MessageReplaced: Fold._replaced,
    Rewound: Fold._rewound,
    Pruned: Fold._pruned,
    EpochChanged: Fold._epoch,
    CompactionCommitted: Fold._compacted,
    Uncompacted: Fold._uncompacted,
    ReasoningRefused: Fold._reasoning_refused,
    CallStarted: Fold._call_started,
    CallEnded: Fold._call_ended,
}

_CHANGES_PREFIX: Final = frozenset(
    {
        SystemChanged,
        ToolsChanged,
        ModelChanged,
        PolicyChanged,
        SettingsChanged,
        MessageReplaced,
        ReasoningRefused,
        Rewound,
        Pruned,
        CompactionCommitted,
        Uncompacted,
    }
)

_READS_CONTENT: Final = frozenset(
    {
        SessionStarted,
        ModelChanged,
        SystemChanged,
        ToolsChanged,
        ParamsChanged,
        Rewound,
        Pruned,
        Uncompacted,
    }
)
