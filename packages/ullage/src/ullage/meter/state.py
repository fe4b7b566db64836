"""What is known of a session at one moment, and what follows from it for the next request."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Final

import msgspec
from msgspec.structs import replace

from ullage.events import FirstCall, RequestPart
from ullage.messages import Message, SystemBlock, Tool
from ullage.meter import fingerprint
from ullage.meter.anchor import Anchor, Forecast, ForecastBasis, Pending, SinceAnchor
from ullage.meter.bound_reasoning import BoundReasoning
from ullage.meter.clearing import (
    NOTHING_CLEARED,
    Clearable,
    ClearedTokens,
    clearable,
    counted_results,
    keeps_reasoning,
)
from ullage.meter.cost import TOOL_RESULTS, Widths
from ullage.meter.counting import CountedInput, CountMode
from ullage.meter.forecast import SAMPLE, Fixed, Forecaster, with_put_back
from ullage.meter.limits import ModelLimits, lookup
from ullage.meter.overhead import (
    LearntOverhead,
    learnt_overhead,
    learnt_put_back,
    name_of,
    teaches,
    typical_overhead,
)
from ullage.meter.plausible import ReportHistory
from ullage.meter.policy import (
    DENSEST,
    MOST_STEPS,
    MOST_UNPROVEN,
    MUCH,
    USUAL_OVERHEAD,
)
from ullage.meter.reading import Reading
from ullage.meter.reasoning_in_view import ReasoningInView
from ullage.meter.situations import AFTER_COMPACTION, SESSION, Opening
from ullage.meter.spend import Spend
from ullage.meter.track import Track
from ullage.meter.typical import TypicalFirstCall
from ullage.meter.view import DERIVED, Entry, Share, UndoRecord, View
from ullage.meter.window import Limits
from ullage.models.binding import (
    LEARNT,
    WITH_REFERENCES,
    Binding,
    binding_of,
    takes_claude_fields,
)
from ullage.reasoning import ReasoningPolicy, bare_model
from ullage.tokens.calibration import Calibration, Learnt
from ullage.usage import Usage
from ullage_programs.facts import ClientSettings
from ullage_programs.limits import NOTHING_SEEN, SeenSizes

PLAUSIBLE: Final = (0.5, 2.0)
"""Actual tokens for each estimated one, as far as that is put down to the messages. Beyond, something else came or
went with them: reasoning that was dropped, or text that no event shows."""


def plausible_ratio(ratio: float) -> float:
    """The ratio, as far as it is plausible."""
    return min(PLAUSIBLE[1], max(PLAUSIBLE[0], ratio))


@dataclass(slots=True)
class StepRatios:
    """What the messages of each step cost, oldest step first: the orders (``Entry.order``) of its messages and a ratio.

    Two reported inputs in a row, with nothing taken out in between, give the cost of the messages between them. When
    some of these messages leave the view, the rest is then known by measurement and not only in proportion: results of
    tools have other wrapping than text, and a compaction leaves another mixture than it found.
    """

    behind: list[int] = field(default_factory=list)
    through: list[int] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """Actual tokens for each estimated one."""

    def note(self, behind: int, through: int, *, estimated: float, actual: float) -> None:
        """Note the estimate and the reported tokens of the messages behind one order and through another.

        Steps come in order; what is not plausible is not kept.
        """
        if (
            through <= behind
            or estimated <= 0
            or not PLAUSIBLE[0] <= actual / estimated <= PLAUSIBLE[1]
        ):
            return
        self.behind.append(behind)
        self.through.append(through)
        self.ratios.append(actual / estimated)
        for column in (self.behind, self.through, self.ratios):
            del column[:-MOST_STEPS]

    def ratio(self, order: int) -> float | None:
        """What was measured of the message with this order; ``None`` where nothing was."""
        place = bisect_left(self.through, order)
        is_known = place < len(self.through) and self.behind[place] < order
        return self.ratios[place] if is_known else None


class ModelReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a model showed before the session changed to another one."""

    anchor: Anchor
    """Its last reported input."""
    unlogged: float | None
    first_messages: float
    """As in ``State``, in the units of that model."""


@dataclass(kw_only=True, eq=False)
class State:
    """Everything that the meter knows of a session, from its events. Not for sharing between threads.

    What is not marked as derived is stored in checkpoints by the type of its field: a field more is one line here.
    """

    limits: Limits
    calibration: Calibration
    policy: ReasoningPolicy
    estimator: str | Callable[[str], float] = field(metadata=DERIVED)
    """Set by the caller, and not by an event."""
    client_settings: ClientSettings = field(default_factory=dict, metadata=DERIVED)
    """The settings of the program that wrote the session, set by the caller as well."""
    seen: SeenSizes = NOTHING_SEEN
    """What the calls show of that program's limits."""
    session: str = ""
    seq: int = 0
    revision: int = 0
    """The last event that concerned the window or what is known of it."""
    model: str = ""
    wire: str = ""
    provider: str = ""
    known: ModelLimits | None = field(init=False, metadata=DERIVED)
    forecaster: Forecaster = field(init=False, metadata=DERIVED)
    text_ratios: dict[str, float] = field(init=False, metadata=DERIVED)
    """``text_ratio_to`` by the row's model, as far as they were asked for."""
    view: View = field(default_factory=View)
    reasoning: ReasoningInView = field(default_factory=ReasoningInView)
    bound: BoundReasoning = field(default_factory=BoundReasoning)
    lost: dict[str, float] = field(default_factory=dict)
    """By message, the reasoning in view that changes since the last epoch have made unsendable."""
    head: str | None = field(default=None, metadata=DERIVED)
    """``prefix_head``, until it changes; ``None`` until it is asked for."""
    since: SinceAnchor = field(default_factory=SinceAnchor)
    system: tuple[SystemBlock, ...] | None = None
    tools: tuple[Tool, ...] | None = None
    lacking: set[RequestPart] = field(default_factory=set)
    """What requests hold and the events do not, as the importer says."""
    params: dict[str, object] = field(default_factory=dict)
    fixed: Fixed = field(default_factory=Fixed)
    shares: list[Share] | None = field(default=None, metadata=DERIVED)
    """The rows of ``fixed``; ``None`` until they are asked for."""
    notes: tuple[str, ...] = ()
    """Ids of the messages that tell the model how the system prompt has changed since ``system``."""
    amended: tuple[SystemBlock, ...] = ()
    """The system prompt with these changes."""
    loadable: tuple[Tool, ...] | None = field(default=None, metadata=DERIVED)
    """``sent_tools``, until they change; ``None`` until they are asked for."""
    declarations: dict[str, float] | None = field(default=None, metadata=DERIVED)
    """``deferred_tokens``, until they change; ``None`` until they are asked for."""
    fixed_ratio: float = 1.0
    """Tokens of ``fixed`` for each estimated one, by a first report with little else in it."""
    anchor: Anchor | None = None
    model_reports: dict[str, ModelReport] = field(default_factory=dict)
    """By wire, provider and model, what the models showed that the session has had before this one."""
    output: Entry | None = None
    output_left: bool = False
    """The last answer was removed or edited: its reported output is not in the next request."""
    removed: float = 0.0
    taken_out: float | None = None
    """Tokens that the view held and the last request did not, once any of it has left."""
    partial: bool = False
    history_doubt: float = 0.0
    """Tokens that may have changed unseen: history from before the log that a compaction may have taken with it,
    and the format of the answer, which some providers charge."""
    unlogged: float | None = None
    """Tokens that the first reported input held beyond what the events explain."""
    first_messages: float = 0.0
    """The estimate of the messages of the first request whose input was reported."""
    step_ratios: StepRatios = field(default_factory=StepRatios)
    program: str = ""
    is_subagent: bool = False
    directory: str = ""
    """The digest of the session's working directory; empty where the log names none."""
    started_at: float = 0.0
    earlier_calls: tuple[FirstCall, ...] = ()
    """What earlier sessions' first calls held beyond their logs."""
    first_call: FirstCall | None = None
    """What this session's first call held beyond its log, once it is reported and believed."""
    after_compactions: tuple[FirstCall, ...] = ()
    """What its calls after compactions held beyond it, the newest last."""
    put_back: float = 0.0
    """Tokens in view that the program added after the last compaction, and that its log does not show."""
    counted: CountedInput | None = None
    """The provider's count of the next request; ``None`` once a call has reported its input."""
    pieces: dict[str, int] = field(default_factory=dict)
    """What parts of every request were counted at, by ``meter.counting``'s keys."""
    reports: ReportHistory = field(default_factory=ReportHistory)
    """What the endpoint's reports were like."""
    pins: int = 0
    """How many reports in a row were the same as the one before, although messages had been added."""
    follows: bool = False
    """Whether a report has grown as the conversation did."""
    pending: dict[str, Pending] = field(default_factory=dict)
    summaries: dict[str, int] = field(default_factory=dict)
    """What calls for a summary were estimated at, until they end."""
    usages: dict[str, Usage] = field(default_factory=dict)
    """What was reported for each main call, without the provider's own object."""
    open_calls: set[str] = field(default_factory=set)
    undo_records: dict[str, UndoRecord] = field(default_factory=dict)
    """By the id of the compaction or prune, oldest first, what it took out of the view."""
    compactions: int = 0
    begun: Opening = SESSION
    marks: list[str] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    spend_before: Spend = field(default_factory=Spend)
    """What the session had cost when its newest question was asked."""
    track: Track = field(default_factory=Track)

    def __post_init__(self) -> None:
        self.set_model(self.model, self.wire, self.provider)
        self.bound.declare(self.tools or ())

    def set_model(self, model: str, wire: str, provider: str) -> None:
        """Take the limits and the estimators of this model."""
        self.model, self.wire, self.provider = model, wire, provider
        self.bound.reader = bare_model(model)
        self.text_ratios = {}
        self.known = lookup(provider, model) if model else None
        self.forecaster = Forecaster(
            wire,
            provider,
            model,
            self.estimator,
            keeps_reasoning=keeps_reasoning(self.params),
        )

    @property
    def learnt(self) -> Learnt:
        """What was learnt of the model."""
        return self.calibration.of(self.provider, self.model)

    @property
    def anchor_call(self) -> str:
        """The call that the reading rests on; empty before the first reported input."""
        return "" if self.anchor is None else self.anchor.call

    @property
    def partly_unlogged(self) -> bool:
        """Whether the log lacks the system prompt itself or tools that are sent."""
        return bool(self.lacking)

    @property
    def sent_tools(self) -> tuple[Tool, ...]:
        """The tools of a request: those that are not deferred, or all where the provider can load them later."""
        if self.loadable is None:
            tools = self.tools or ()
            has_search = any("tool_search" in tool.kind for tool in tools)
            if not has_search and not self.takes_references:
                tools = tuple(tool for tool in tools if not tool.deferred)
            self.loadable = tools
        return self.loadable

    @property
    def takes_references(self) -> bool:
        """Whether deferred tools are declared as such, and loaded by a search's references to them.

        All Claude models since 4.5 can (https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool).
        Those are meant whose reasoning would be lost by one tool more.
        """
        return self.refuses_changes and takes_claude_fields(self.provider)

    @property
    def refuses_changes(self) -> bool:
        """Whether the model refuses reasoning behind another prefix than it was made behind."""
        binding = self.binding
        return binding is not None and binding.refuses

    @property
    def deferred_tokens(self) -> Mapping[str, float]:
        """Tokens of the deferred tools that a reference brings into the window, by name."""
        if self.declarations is None:
            self.declarations = {}
            tools = self.tools or ()
            if self.wire not in WITH_REFERENCES:
                tools = ()
            costs = self.fixed.tools.deferred
            for tool, tokens in zip(tools, costs, strict=False):
                if tool.deferred:
                    self.declarations[tool.name] = tokens
        return self.declarations

    @property
    def in_force(self) -> tuple[SystemBlock, ...]:
        """The system prompt with the changes that were told in messages."""
        if self.notes:
            return self.amended
        return self.system or ()

    @property
    def told(self) -> tuple[str, ...]:
        """Those of ``notes`` that are in view."""
        in_view: list[str] = []
        for note in self.notes:
            if note in self.view.entries:
                in_view.append(note)
        return tuple(in_view)

    @property
    def binding(self) -> Binding | None:
        """How the session's model binds reasoning to what is in front of it; ``None`` where it does not."""
        known = binding_of(self.wire, self.model)
        return LEARNT if known is None and self.model in self.bound.learnt else known

    @property
    def prefix_head(self) -> str:
        """Names what stands in front of the messages, and the policy that says which reasoning is sent."""
        if self.head is None:
            binding = self.binding
            has_system = binding is None or binding.has_system
            tools = [tool for tool in self.tools or () if not tool.deferred]
            self.head = fingerprint.digest(
                fingerprint.of_system(self.system or ()) if has_system else "",
                fingerprint.of_tools(tools),
                self.policy.strip if self.policy.include_in_context else "nothing",
            )
        return self.head

    @property
    def sent_policy(self) -> ReasoningPolicy:
        """The application's policy, and the messages whose reasoning is no longer behind its own prefix."""
        return dataclasses.replace(self.policy, unbound=self.bound.unbound)

    @property
    def reasoning_lost(self) -> int:
        """Tokens of ``lost``."""
        return round(sum(self.lost.values()))

    @property
    def missing(self) -> str:
        """What of every request is not in the log, in words; empty when all of it is."""
        if len(self.lacking) > 1:
            return "System prompt and tools are"
        if "system" in self.lacking:
            return "The system prompt is"
        return "Tools are" if self.lacking else ""

    @property
    def user_turn(self) -> bool:
        """Whether the next request begins a turn. At rest it is taken to."""
        if self.since.users:
            return True
        is_in_loop = self.since.results > 0 and self.reasoning.is_open
        return not self.open_calls and not is_in_loop

    def earlier_reasoning(self, *, with_last: bool = False) -> float:
        """Tokens of earlier answers' reasoning in the next request, by the provider's rules and the policy."""
        in_view = self.reasoning
        if not in_view.tokens:
            return 0.0
        rule = self.forecaster.rules[self.anchor is not None and self.anchor.stream]
        in_loop, across_turns = rule.loop, rule.turns
        learnt = self.learnt
        if learnt.flipped:
            in_loop = in_loop != learnt.flips(rule.name, False)
            across_turns = across_turns != learnt.flips(rule.name, True)
        return in_view.counted(
            self.policy,
            in_loop=in_loop,
            across_turns=across_turns,
            user_turn=not in_view.is_open,
            needed=self.forecaster.needs_reasoning,
            unsent_too=rule.even_unsent,
            without=self.output.id if self.output and not with_last else "",
        )

    @property
    def basis(self) -> ForecastBasis | None:
        """What the forecast of the next request rests on; ``None`` before the first reported input."""
        if self.anchor is None:
            return None
        changed = self.fixed.tokens - self.anchor.fixed
        taken_out = min(self.taken_out or 0.0, max(0.0, self.removed))
        return ForecastBasis(
            self.anchor,
            self.output,
            self.output_left,
            self.since,
            changed,
            self.removed,
            taken_out,
        )

    def forecast(self) -> Forecast:
        """What the model reads of the next request. Costs O(1) in the length of the history."""
        estimate = self.estimate()
        if self.counted is not None and self.counted.covers(estimate):
            return self.counted.applied(estimate).after_clearing(self.cleared)
        whole = self._counted_whole(estimate)
        may = clearable(self.params, tokens=whole.high, results=self.view.results)
        if beyond := self.reports.beyond:
            whole = whole.with_other(beyond, max(beyond, whole.unproven))
        results = reasoning = 0.0
        if may.results or self.cleared.content:
            results = self._newly_old(may)
        if may.reasoning or self.cleared.reasoning:
            reasoning = max(0.0, whole.reasoning - self.cleared.reasoning)
        if may.results and self.cleared.content:
            return whole.after_clearing(self.cleared, more=results, further=reasoning)
        return whole.after_clearing(self.cleared, further=results + reasoning)

    @property
    def cleared(self) -> ClearedTokens:
        """What the provider cleared of the last request, as it does again with the next one."""
        return NOTHING_CLEARED if self.anchor is None else self.anchor.cleared

    def _newly_old(self, may: Clearable) -> float:
        """Tokens of the tool results that a provider clears beyond those that it cleared of the last request.

        By their number where it is reported: something stays in the place of each result, so that the tokens that were
        cleared are fewer than those of the results.
        """
        known = None
        if self.anchor is not None and self.cleared.content and not may.excluded:
            known = counted_results(self.anchor.usage.cleared)
        if known is None:
            return max(0.0, self._old_results(may) - self.cleared.content)
        newly = max(0, self.view.results - may.keep - known)
        sizes = islice(self._newest_results(), may.keep, may.keep + newly)
        return sum(sizes) * self.scale() if newly else 0.0

    def _newest_results(self) -> Iterator[float]:
        """Tokens of each tool result in view, the newest first."""
        for entry in reversed(self.view.entries.values()):
            for part in reversed(entry.cost.parts):
                if part.row == TOOL_RESULTS:
                    yield part.tokens

    def _old_results(self, may: Clearable) -> float:
        """Tokens of the tool results in view that a provider clears: all but the newest. O(messages from those on)."""
        if self.view.results <= may.keep:
            return 0.0
        tokens, left = 0.0, may.keep
        for name, each in self.view.rows.get(TOOL_RESULTS, {}).items():
            tokens += 0.0 if name in may.excluded else each
        for entry in reversed(self.view.entries.values()):
            for part in reversed(entry.cost.parts):
                is_result = part.row == TOOL_RESULTS and part.name not in may.excluded
                if left > 0 and is_result:
                    tokens -= part.tokens
                    left -= 1
            if left <= 0:
                break
        return max(0.0, tokens * self.scale())

    def whole_forecast(self) -> Forecast:
        """What the next request holds before the provider clears any of it: by its count, else estimated."""
        return self._counted_whole(self.estimate())

    def _counted_whole(self, estimate: Forecast) -> Forecast:
        return estimate if self.counted is None else self.counted.applied(estimate)

    def estimate(self) -> Forecast:
        """The whole next request without its count, which is what reported inputs are compared with to learn."""
        earlier, basis = self.earlier_reasoning(), self.basis
        if basis is None:
            overhead = self.overhead
            opening = self.opening(overhead)
            if overhead is None and self.lacking:
                opening = replace(opening, high=round(opening.high + USUAL_OVERHEAD))
            if self.reports.label:
                opening = replace(opening, label=f"estimated: {self.reports.label}")
            return opening
        forecast = self.forecaster.next(
            basis,
            user_turn=self.user_turn,
            doubt=self.history_doubt,
            earlier=earlier,
            policy=self.sent_policy,
            learnt=self.learnt,
            opening=self.begun,
            program=name_of(self.program) if self.partly_unlogged else "",
        )
        if (put_back := self.expected_put_back) is not None:
            forecast = with_put_back(forecast, put_back)
        beyond = basis.anchor.beyond_of(forecast.tokens)
        window = self.limits.denominators.window.tokens
        is_proven = window is None or -beyond <= MOST_UNPROVEN * window
        forecast = forecast.with_other(beyond, 0.0 if is_proven else -beyond)
        cut = self.limits.cut
        return forecast if cut is None else forecast.cut_to(cut)

    def opening(self, overhead: LearntOverhead | None = None) -> Forecast:
        """The estimate of a first call, with this overhead."""
        view = self.view
        return self.forecaster.opening(
            self.fixed,
            view.opening,
            self.earlier_reasoning(),
            media=view.media,
            media_doubt=Widths(view.under, view.over),
            history=view.results > 0,
            missing=self.missing,
            overhead=overhead,
        )

    @property
    def overhead(self) -> LearntOverhead | None:
        """What the first call of this session adds to its log: by earlier ones, else as is typical of its program."""
        return None if self.partial else self.usual_overhead

    @property
    def usual_overhead(self) -> LearntOverhead | None:
        """What any first call of this program adds to its log, also where this log begins later."""
        if not (self.earlier_calls or self.lacking):
            return None
        earlier = [call for call in self.earlier_calls if self.believes(call)]
        now = self.session_facts()
        if not self.lacking:
            return learnt_overhead(earlier, now)
        typical = partial(typical_overhead, now=now, ratio=self.text_ratio_to)
        return learnt_overhead(earlier, now, typical)

    def text_ratio_to(self, row: TypicalFirstCall) -> float:
        """Tokens of this session's model for each one of the model that a row was measured with."""
        if (row.provider, row.model) == (self.provider, self.model) or not self.model:
            return 1.0
        if row.model not in self.text_ratios:
            other = Forecaster(row.wire, row.provider, row.model, self.estimator)
            self.text_ratios[row.model] = self.forecaster.text_ratio(other, SAMPLE)
        return self.text_ratios[row.model]

    @property
    def expected_put_back(self) -> LearntOverhead | None:
        """What the next call holds beyond its log because it follows a compaction; ``None`` where it does not."""
        if not self.begun.is_filled:
            return None
        situation = AFTER_COMPACTION[self.begun.reports]
        now = replace(self.session_facts(), situation=situation, logged={})
        usual = typical_overhead(self.program, now, self.text_ratio_to)
        if usual is None:
            return None
        return learnt_put_back(self.after_compactions, self.earlier_calls, now, usual)

    @property
    def expected_unlogged(self) -> float:
        """What the log lacks of every request, in tokens: as reported, else as in earlier sessions; 0 where unknown."""
        if not self.partly_unlogged:
            return 0.0
        if self.unlogged is None and self.overhead is not None:
            return self.overhead.tokens
        return self.unlogged or 0.0

    def believes(self, call: FirstCall) -> bool:
        """Whether such a first call can have been made of this model, with this system prompt and these tools."""
        window = self.known.window if self.known is not None else None
        return teaches(call, fixed=self.fixed.tokens, window=window)

    def session_facts(self) -> FirstCall:
        """This session as one that earlier ones are compared with: its first call without tokens."""
        content = ""
        if not self.lacking:
            content = fingerprint.digest(
                fingerprint.of_system(self.system or ()),
                fingerprint.of_tools(self.tools or ()),
            )
        return FirstCall(
            session=fingerprint.digest(name_of(self.program), self.session),
            program=self.program,
            provider=self.provider,
            model=self.model,
            is_subagent=self.is_subagent,
            unlogged="+".join(sorted(self.lacking)),
            logged=self._logged(),
            content=content,
            directory=self.directory,
            at=self.started_at,
        )

    def _logged(self) -> dict[str, int]:
        """The estimate of what the log holds of every request, by kind of block and for tools."""
        logged: dict[str, float] = {}
        for block, tokens in zip(self.system or (), self.fixed.system, strict=True):
            logged[block.kind] = logged.get(block.kind, 0.0) + tokens
        if self.fixed.tools.tokens:
            logged["tools"] = self.fixed.tools.tokens
        return {kind: round(tokens) for kind, tokens in logged.items()}

    def is_count_due(self, mode: CountMode, reading: Reading) -> bool:
        """Whether the next request is to be counted before it is sent.

        ``auto`` counts where an estimate is weakest or decides something: before the first call to a model, with new
        images or files, and where the compaction threshold or the input limit lies inside the interval.
        """
        if mode == "never":
            return False
        if self.counted is not None and self.counted.covers(self.estimate()):
            return False
        if mode == "always":
            return True
        anchor = self.anchor
        if anchor is None or anchor.spread or self.since.added.media:
            return True
        used = reading.used
        marks = (reading.compaction_point, reading.input_limit)
        return any(mark is not None and used.low < mark <= used.high for mark in marks)

    def is_anchored(self, entry: Entry) -> bool:
        """Whether the last reported input held this message."""
        return self.anchor is not None and entry.order <= self.anchor.order

    def is_output(self, message: Message | Entry) -> bool:
        """Whether this is the answer of the call that the reading rests on."""
        return (
            self.anchor is not None
            and bool(message.call)
            and message.call == self.anchor.call
        )

    @property
    def is_answer_in_view(self) -> bool:
        """Whether the answer of the last call is in view, or left it; if not, the next request may bring it."""
        if self.output is not None or self.output_left or self.since.messages:
            return True
        return not self.anchor_call or not len(self.view)

    def scale_of(self, entry: Entry) -> float:
        """Reported tokens per estimated token of a message that the anchor covers: of its own step, else of all."""
        ratio = self.step_ratios.ratio(entry.order)
        return self.scale() if ratio is None else ratio

    def scale(self) -> float:
        """Reported tokens per estimated token of what the anchor covers, without what every request carries."""
        if self.anchor is None or self.anchor.messages <= 0:
            return 1.0
        unexplained = self.unlogged or 0.0
        if self.unlogged is not None and not self.partly_unlogged:
            # The first messages were estimated when no ratio was known yet.
            unexplained -= (self.learnt.ratio - 1) * self.first_messages
        every = self.anchor.fixed + unexplained + self.put_back
        ratio = (self.anchor.input - every - self.anchor.reasoning) / self.anchor.messages
        is_all_shown = not self.partly_unlogged and self.anchor.messages > MUCH
        return min(DENSEST if is_all_shown else 2.0, max(0.5, ratio))
