"""What is known of a session at one moment, and what follows from it for the next request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ullage.messages import Message, SystemBlock, Tool
from ullage.meter.anchor import Anchor, Forecast, Pending, Since
from ullage.meter.breakdown import Share
from ullage.meter.carried import Carried
from ullage.meter.departed import Departed
from ullage.meter.forecast import Fixed, Forecaster
from ullage.meter.limits import ModelLimits, lookup
from ullage.meter.measured import Measured
from ullage.meter.spend import Spend
from ullage.meter.track import Track
from ullage.meter.view import DERIVED, Entry, View
from ullage.meter.window import Denominators, Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

MUCH = 10_000
DENSEST = 8.0
"""Above so many estimated tokens of messages, with system prompt and tools known, an actual that is a multiple of the
estimate is put down to the messages, up to this multiple: nothing hidden is that large. Below, up to twice."""


@dataclass(kw_only=True, eq=False)
class State:
    """Everything that is known of a session, from its events. Not for sharing between threads.

    What is not marked as derived is stored in checkpoints by the type of its field: a field more is one line here.
    """

    limits: Limits
    calibration: Calibration
    policy: ReasoningPolicy
    estimator: str | Callable[[str], float] = field(metadata=DERIVED)
    """Set by the caller, and not by an event."""
    session: str = ""
    seq: int = 0
    revision: int = 0
    """The last event that concerned the window or what is known of it."""
    model: str = ""
    wire: str = ""
    provider: str = ""
    known: ModelLimits | None = field(init=False, metadata=DERIVED)
    forecaster: Forecaster = field(init=False, metadata=DERIVED)
    view: View = field(default_factory=View)
    carried: Carried = field(default_factory=Carried)
    since: Since = field(default_factory=Since)
    system: tuple[SystemBlock, ...] | None = None
    tools: tuple[Tool, ...] | None = None
    params: dict[str, object] = field(default_factory=dict)
    fixed: Fixed = field(default_factory=Fixed)
    shares: tuple[Share, ...] | None = field(default=None, metadata=DERIVED)
    """The rows of ``fixed``; ``None`` until they are asked for."""
    anchor: Anchor | None = None
    output: Entry | None = None
    output_left: bool = False
    """The last answer was removed or edited: its reported output is not in the next request."""
    removed: float = 0.0
    partial: bool = False
    history_doubt: float = 0.0
    """Tokens that may have changed unseen: history from before the log that a compaction may have taken with it,
    and the format of the answer, which some providers charge."""
    unlogged: float | None = None
    """Tokens the first actual held beyond what the events explain."""
    first_messages: float = 0.0
    """What the messages of the first actual's request were estimated at."""
    measured: Measured = field(default_factory=Measured)
    pending: dict[str, Pending] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    """What was reported for each main call, without the provider's own object."""
    open_calls: set[str] = field(default_factory=set)
    compacted: dict[str, Departed] = field(default_factory=dict)
    """By the id of the compaction or prune, oldest first, what it took out of the view."""
    compactions: int = 0
    marks: list[str] = field(default_factory=list)
    spend: Spend = field(default_factory=Spend)
    track: Track = field(default_factory=Track)

    def __post_init__(self) -> None:
        self.set_model(self.model, self.wire, self.provider)

    def set_model(self, model: str, wire: str, provider: str) -> None:
        """Take the limits and the estimators of this model."""
        self.model, self.wire, self.provider = model, wire, provider
        self.known = lookup(provider, model) if model else None
        self.forecaster = Forecaster(wire, provider, model, self.estimator)

    @property
    def denominators(self) -> Denominators:
        """The window and what follows from it."""
        return self.limits.denominators

    @property
    def partly_unlogged(self) -> bool:
        """Whether nobody has said what the system prompt or the tools are."""
        return self.system is None or self.tools is None

    @property
    def unsaid(self) -> str:
        """What of every request nobody has shown, in words; empty when all is known."""
        if self.system is None:
            return "System prompt and tools are" if self.tools is None else "The system prompt is"
        return "Tools are" if self.tools is None else ""

    @property
    def user_turn(self) -> bool:
        """Whether the next request begins a turn. At rest it is taken to."""
        return bool(self.since.users) or not (self.open_calls or (self.since.results and self.carried.is_open))

    @property
    def tool_turn(self) -> bool:
        """Whether the next request carries results of tools that the last answer called."""
        return bool(self.since.results) or bool(self.open_calls)

    def earlier_reasoning(self, *, with_last: bool = False) -> float:
        """Tokens of earlier answers' reasoning in the next request, by the provider's rules and the policy."""
        return self.forecaster.reasoning_counted(
            self.carried,
            self.policy,
            self.calibration,
            stream=self.anchor.stream if self.anchor else False,
            without=self.output.id if self.output and not with_last else "",
        )

    def forecast(self) -> Forecast:
        """What the next request holds. Costs O(1) in the length of the history."""
        if self.anchor is None:
            return self.forecaster.opening(
                self.fixed,
                self.view.opening,
                self.earlier_reasoning(),
                media=self.view.media,
                history=self.view.results > 0,
                missing=self.unsaid,
            )
        return self.forecaster.next(
            self.anchor,
            output=self.output,
            output_left=self.output_left,
            since=self.since,
            user_turn=self.user_turn,
            changed=self.fixed.tokens - self.anchor.fixed,
            removed=self.removed,
            doubt=self.history_doubt,
            earlier=self.earlier_reasoning(),
            policy=self.policy,
            calibration=self.calibration,
        )

    def is_anchored(self, entry: Entry) -> bool:
        """Whether the last actual held this message."""
        return self.anchor is not None and entry.order <= self.anchor.order

    def is_output(self, message: Message | Entry) -> bool:
        """Whether this is the answer of the call that the reading rests on."""
        return self.anchor is not None and bool(message.call) and message.call == self.anchor.call

    @property
    def _unexplained(self) -> float:
        """What of every request no event explains. The first messages were estimated when no ratio was known yet."""
        if self.unlogged is None or self.partly_unlogged:
            return self.unlogged or 0.0
        return self.unlogged - (self.text_ratio - 1) * self.first_messages

    @property
    def text_ratio(self) -> float:
        """Of new text, actual tokens per estimated token, as far as this model's calls have shown it."""
        return self.calibration.of(self.provider, self.model).ratio

    def scale_of(self, entry: Entry) -> float:
        """Actual tokens per estimated token of a message that the anchor covers: as its own step showed, else all."""
        measured = self.measured.ratio(entry.order)
        return self.scale() if measured is None else measured

    def scale(self) -> float:
        """Actual tokens per estimated token of what the anchor covers, without what every request carries."""
        if self.anchor is None or self.anchor.messages <= 0:
            return 1.0
        every = self.fixed.tokens + self._unexplained
        measured = (self.anchor.input - every - self.anchor.reasoning) / self.anchor.messages
        is_all_shown = not self.partly_unlogged and self.anchor.messages > MUCH
        return min(DENSEST if is_all_shown else 2.0, max(0.5, measured))
