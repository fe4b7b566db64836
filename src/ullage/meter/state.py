"""What is known of a session at one moment, and what follows from it for the next request."""

from __future__ import annotations

from collections.abc import Callable

from ullage.messages import Message, SystemBlock, Tool
from ullage.meter.anchor import Anchor, Forecast, Pending, Since
from ullage.meter.breakdown import Share
from ullage.meter.carried import Carried
from ullage.meter.departed import Departed
from ullage.meter.forecast import Fixed, Forecaster
from ullage.meter.limits import ModelLimits
from ullage.meter.measured import Measured
from ullage.meter.spend import Spend
from ullage.meter.stored_entries import Written
from ullage.meter.track import Track
from ullage.meter.usages import Usages
from ullage.meter.view import Entry, View
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration

MUCH = 10_000
DENSEST = 8.0
"""Above so many estimated tokens of messages, with system prompt and tools known, an actual that is a multiple of the
estimate is put down to the messages, up to this multiple: nothing hidden is that large. Below, up to twice."""


class State:
    """Everything that is known of a session, from its events. Not for sharing between threads."""

    def __init__(
        self,
        *,
        limits: Limits,
        calibration: Calibration,
        estimator: str | Callable[[str], float],
        policy: ReasoningPolicy,
    ) -> None:
        self.limits = limits
        self.denominators = limits.denominators
        self.calibration = calibration
        self.policy = policy
        self.estimator = estimator
        self.session = ""
        self.seq = 0
        self.revision = 0
        """The last event that concerned the window or what is known of it."""
        self.model = ""
        self.wire = ""
        self.provider = ""
        self.known: ModelLimits | None = None
        self.forecaster = Forecaster("", "", "", estimator)
        self.view = View()
        self.carried = Carried()
        self.since = Since()
        self.system: tuple[SystemBlock, ...] | None = None
        self.tools: tuple[Tool, ...] | None = None
        self.params: dict[str, object] = {}
        self.fixed = Fixed()
        self.shares: tuple[Share, ...] | None = None
        """The rows of ``fixed``, kept by whoever makes them."""
        self.anchor: Anchor | None = None
        self.output: Entry | None = None
        self.output_left = False
        """The last answer was removed or edited: its reported output is not in the next request."""
        self.removed = 0.0
        self.partial = False
        self.history_doubt = 0.0
        """Tokens that may have changed unseen: history from before the log that a compaction may have taken with it,
        and the format of the answer, which some providers charge."""
        self.unlogged: float | None = None
        """Tokens the first actual held beyond what the events explain."""
        self.first_messages = 0.0
        """Of the request that this was told from, what its messages were estimated at."""
        self.measured = Measured()
        self.pending: dict[str, Pending] = {}
        self.usages = Usages()
        self.open_calls: set[str] = set()
        self.compacted: dict[str, Departed] = {}
        """By the id of the compaction or prune, oldest first, what it took out of the view."""
        self.compactions = 0
        self.marks: list[str] = []
        self.spend = Spend()
        self.track = Track()
        self.written = Written()
        self.written_aside = Written()
        """What the last checkpoint wrote of the entries in view, and of those that left and may come back."""

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
                history=bool(self.view.holders),
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
