"""What the next request holds: the estimators of one model, put to work on what the fold knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import hypot
from typing import Final, NamedTuple

from msgspec.structs import replace as with_changes

from ullage import reasoning
from ullage.messages import FilePart, ImagePart, Message, SystemBlock, Tool
from ullage.meter import growth, opening
from ullage.meter.anchor import Anchor, Before, Forecast, Pending, SinceAnchor
from ullage.meter.cost import MessageCost, message_cost
from ullage.meter.growth import NOTHING_COUNTED, AnswerTokens, Counted, GrowthSituation
from ullage.meter.interval import expected, half_widths
from ullage.meter.opening import OpeningContent, opening_interval
from ullage.meter.reasoning_in_view import ReasoningInView
from ullage.meter.view import Entry
from ullage.reasoning import ReasoningPolicy, SentBack
from ullage.tokens.calibration import NOTHING_LEARNT, Calibration, Learnt
from ullage.tokens.families import PLAIN, Family, family_for
from ullage.tokens.media import file_tokens, image_tokens, media_rule_for
from ullage.tokens.observation import Observation
from ullage.tokens.template import PLAIN as PLAIN_TEMPLATE
from ullage.tokens.template import Template, template_for
from ullage.tokens.text import TextCounter, counter_for
from ullage.tokens.tools import NO_TOOLS, ToolsCost, answer_tokens, read_answer_format, read_choice, tools_cost
from ullage.usage import Usage

BY_NAME_ALONE = frozenset({"quarter", "gemini-cli"})
"""Estimators whose word is taken as it is, as the seeds do, without a family's ratio and constants."""

REMOVAL_DOUBT = 0.05
"""Share of what was removed, or of what is left if that is less, that an estimate of it may be off."""

NOTHING_SHOWN = AnswerTokens()

CHANGE_DOUBT = 0.15
LEAST_CHANGE_DOUBT = 170.0
"""The same for a changed system prompt or changed tools, and the tokens that any such change may be off by."""


class Fixed(NamedTuple):
    """What every request carries beside its messages: system blocks, tools, the answer's schema, the template's own."""

    system: tuple[float, ...] = ()
    tools: ToolsCost = NO_TOOLS
    answer: float = 0.0
    overhead: float = 0.0

    @property
    def tokens(self) -> float:
        """All of it."""
        return sum(self.system) + self.tools.tokens + self.answer + self.overhead


TURNED: Final = "Here earlier reasoning is counted the other way round than the rule for this model says ({rule})."
"""The note of a reading whose conversation has shown a reasoning rule to be otherwise."""


class FittedEstimator:
    """A counter and families in the place of those that are built in, such as ones fitted to fewer recordings."""

    def __init__(self, counter: TextCounter, find_family: Callable[[str, str, str], Family]) -> None:
        self.counter = counter
        self.find_family = find_family

    def __call__(self, text: str) -> float:
        return self.counter.count(text, "")


class Forecaster:
    """The estimators of one model over one wire at one provider."""

    def __init__(self, wire: str, provider: str, model: str, estimator: str | Callable[[str], float]) -> None:
        self.wire, self.provider, self.model = wire, provider, model
        self.family: Family = PLAIN
        self.template: Template = PLAIN_TEMPLATE
        if isinstance(estimator, FittedEstimator):
            self.counter = estimator.counter
            self.family = estimator.find_family(wire, provider, model)
            self.template = template_for(wire, provider, model)
        else:
            self.counter = counter_for(estimator)
            if not callable(estimator) and estimator not in BY_NAME_ALONE:
                self.family = family_for(wire, provider, model)
                self.template = template_for(wire, provider, model)
        self.unseen = replace(self.family, recounts=False)
        """The family for an answer that nobody has shown: its output is all there is to go by."""
        self.media_rule = media_rule_for(wire, provider, model)
        self.exact_text = self.counter.name == "bpe" and self.family.has_public_vocabulary

    @property
    def counts_unsent(self) -> bool:
        """Whether reasoning is counted that was not sent back (xAI)."""
        return reasoning.rule_for(self.wire, self.provider, self.model).even_unsent

    @property
    def loop_survives_user(self) -> bool:
        """Whether a user's word beside tool results leaves the turn going on (Claude)."""
        return not reasoning.rule_for(self.wire, self.provider, self.model).beside

    def same_units(self, other: Forecaster) -> bool:
        """Whether both count alike, so that costs need not be taken again."""
        return (self.family, self.template, self.media_rule, self.counter) == (
            other.family,
            other.template,
            other.media_rule,
            other.counter,
        )

    # -- costs --

    def media(self, part: ImagePart | FilePart, in_result: bool) -> float:
        """Tokens of an image or file, by its pixels, pages or seconds."""
        if isinstance(part, ImagePart):
            return image_tokens(part, self.media_rule, in_result=in_result)
        return file_tokens(part, self.media_rule, in_result=in_result)

    def message(self, message: Message, tool_names: Mapping[str, str]) -> MessageCost:
        """What a message costs as input."""
        return message_cost(message, self.family, self.counter, tool_names=tool_names, media=self.media)

    def with_text_tokens(self, cost: MessageCost, tokens: float) -> MessageCost:
        """The cost of a message whose text is ``tokens`` long, in the estimator's own."""
        added = with_changes(cost.added, text=tokens)
        parts = tuple(part._replace(tokens=tokens / len(cost.parts)) for part in cost.parts)
        return cost._replace(added=added, tokens=added.tokens(self.family), parts=parts)

    def opening_message(self, message: Message, cost: MessageCost) -> float:
        """What a message of that cost comes to in a first request."""
        return opening.added_tokens(cost.added, self.template, self.family, is_answer=message.role == "assistant")

    def fixed(
        self, system: Sequence[SystemBlock], tools: Sequence[Tool], params: Mapping[str, object], *, leading: str = ""
    ) -> Fixed:
        """What every request carries. ``leading`` is a system prompt that stands among the messages."""
        text = next((block.text for block in system if block.text), leading)
        cost = tools_cost(tools, self.template, self.family, self.counter, choice=read_choice(params), system=text)
        answer = answer_tokens(
            read_answer_format(params), self.template, self.family, self.counter, system=text, tools=any(cost.each)
        )
        overhead = self.template.base + (self.template.system if text else 0.0)
        if self.template.thinking and opening.is_thinking(params):
            overhead += self.template.thinking
        return Fixed(opening.system_tokens(system, self.template, self.family, self.counter), cost, answer, overhead)

    # -- reasoning --

    def takes_reasoning(self, cost: MessageCost) -> bool:
        """Whether a message's reasoning can be in the next input: it has any, and the model asked can read it.

        Where a provider counts what was not sent back, an answer that shows none may have it as well.
        """
        return (cost.carries or self.counts_unsent) and not reasoning.is_foreign(cost.maker, self)

    def hidden(self, entry: Entry, usage: Usage | None) -> float:
        """Tokens of a message's reasoning: as reported, as what its output can't show, or from its text."""
        answer = entry.cost.answer
        if answer is None or not self.takes_reasoning(entry.cost):
            return 0.0
        if usage is not None and usage.answer is not None and not usage.placeholder:
            hidden = growth.hidden_reasoning(self._growth_anchor(usage, answer), self.family)
            if hidden > 0:
                return hidden
        return entry.cost.reasoning

    def reasoning_counted(
        self,
        in_view: ReasoningInView,
        policy: ReasoningPolicy,
        calibration: Calibration,
        *,
        stream: bool,
        without: str = "",
    ) -> float:
        """Tokens of reasoning in the next input, that of the message ``without`` left out."""
        if not in_view.tokens:
            return 0.0
        rule = reasoning.rule_for(self.wire, self.provider, self.model, stream=stream)
        learnt = calibration.of(self.provider, self.model)
        return in_view.counted(
            policy,
            in_loop=rule.loop != learnt.flips(rule.name, False),
            across_turns=rule.turns != learnt.flips(rule.name, True),
            user_turn=not in_view.is_open,
            needed=reasoning.need_for(self.wire, self.model) is not None,
            unsent_too=rule.even_unsent,
            without=without,
        )

    def sent_back(self, output: Entry | None, policy: ReasoningPolicy, usage: Usage, *, begins_turn: bool) -> SentBack:
        """Whether the last answer's reasoning goes out again."""
        if output is not None and not (output.cost.carries and self.takes_reasoning(output.cost)):
            return "no" if usage.reasoning or output.cost.carries else "none"
        if policy.include_in_context and policy.strip != "all":
            return "yes"
        calls = output is None or output.cost.answer is None or output.cost.answer.calls > 0
        is_forced = calls and not begins_turn and reasoning.need_for(self.wire, self.model) is not None
        return "yes" if is_forced else "no"

    def rests(self, entry: Entry, usage: Usage | None) -> Counted:
        """The answer, if ``hidden`` is what its counted text leaves of the output."""
        answer = entry.cost.answer
        if answer is None or usage is None or usage.placeholder or not self.takes_reasoning(entry.cost):
            return NOTHING_COUNTED
        return growth.counted_for(self._growth_anchor(usage, answer), self.family)

    def edited(self, anchor: Anchor, before: AnswerTokens, after: AnswerTokens) -> float:
        """``Anchor.edited`` once the answer ``before`` is sent back as ``after``.

        The difference is that of what is visible, and the reasoning that only the parts that left gave away.
        """
        family, usage = self.family, anchor.usage
        if usage.answer is None:
            return 0.0
        grown = anchor.edited + after.visible(family) - before.visible(family)
        hidden = growth.hidden_reasoning(self._growth_anchor(usage, before, anchor.edited), family)
        still_hidden = growth.hidden_reasoning(self._growth_anchor(usage, after, grown), family)
        return grown - (hidden - still_hidden)

    # -- the forecast --

    def opening(
        self, fixed: Fixed, messages: float, earlier: float, *, media: float, history: bool, missing: str
    ) -> Forecast:
        """A request before which nothing was reported. ``missing`` names what was never shown, for a note."""
        exact = max(0.0, fixed.tokens + messages + earlier)
        content = OpeningContent(
            stratum=self.template.stratum,
            tokens=exact,
            tools=fixed.tools.tokens - fixed.tools.hosted,
            hosted=fixed.tools.hosted,
            answer=fixed.answer,
            media=media,
            history=history,
        )
        low, high = opening_interval(content, is_exact=self.counter.name == "bpe")
        tokens = round(exact)
        return Forecast(
            tokens=tokens,
            low=max(0, min(low, tokens)),
            high=max(high, tokens),
            last_input=None,
            last_output=0.0,
            new=exact,
            changed=0.0,
            removed=0.0,
            reasoning=earlier,
            label="estimated: no call has reported its usage yet",
            notes=(f"{missing} not in the log: the number is a lower bound.",) if missing else (),
        )

    def next(
        self,
        anchor: Anchor,
        *,
        output: Entry | None,
        output_left: bool,
        since: SinceAnchor,
        user_turn: bool,
        changed: float,
        removed: float,
        doubt: float,
        earlier: float,
        policy: ReasoningPolicy,
        calibration: Calibration,
    ) -> Forecast:
        """A request after one whose input was reported.

        ``earlier`` is the reasoning of all earlier answers now, ``doubt`` what may be off beside the usual.
        """
        estimate = self._estimate(
            anchor,
            since,
            output=output,
            output_left=output_left,
            user_turn=user_turn,
            earlier=earlier,
            policy=policy,
            calibration=calibration,
        )
        moved = earlier - anchor.reasoning
        # What is left of the last request can't be less than nothing, whatever the estimates of what left it say.
        held = max(0.0, anchor.input + moved + changed - removed)
        removed = anchor.input + moved + changed - held
        gone = removed - moved
        if gone < 0:  # reasoning that counts again, or an edit that made a message longer
            changed, gone = changed - gone, 0.0
        exact = max(0.0, estimate.exact - anchor.input + held)
        tokens, low, high = round(exact), estimate.low, estimate.high
        if moved or changed or removed or doubt or anchor.spread:
            left = max(0.0, anchor.input - removed)
            of_change = hypot(CHANGE_DOUBT * changed, LEAST_CHANGE_DOUBT) if changed else 0.0
            of_removal = REMOVAL_DOUBT * min(abs(removed), left)
            further = hypot(of_change, of_removal, anchor.spread * anchor.input, doubt)
            low, high = _wider(estimate, exact, moved, further)
        return Forecast(
            tokens=tokens,
            low=max(0, min(low, tokens)),
            high=max(high, tokens),
            last_input=anchor.input,
            last_output=estimate.answer_kept,
            new=estimate.added,
            changed=changed,
            removed=gone,
            reasoning=earlier + estimate.reasoning_kept,
            label=_label(anchor, estimate, removed=removed, changed=changed),
            notes=(TURNED.format(rule=estimate.rule),) if estimate.flipped else (),
        )

    def learn(
        self,
        calibration: Calibration,
        pending: Pending,
        *,
        policy: ReasoningPolicy,
        actual: int,
    ) -> Calibration:
        """The calibration after a call's actual; unchanged where there was nothing to compare."""
        before = pending.before
        if before is None:
            return calibration
        estimate = partial(
            self._estimate,
            before.anchor,
            before.since,
            output=before.output,
            output_left=before.output_left,
            user_turn=pending.user_turn,
            earlier=pending.earlier,
            policy=policy,
        )
        flipped = calibration.of(self.provider, self.model).flipped
        rules_alone = Calibration(models={f"{self.provider}/{self.model}": Learnt(flipped=flipped)})
        bare, shown = estimate(calibration=rules_alone), estimate(calibration=calibration)
        moved = pending.earlier - before.anchor.reasoning + before.changed - before.removed
        begins = shown.doubt.begins_turn
        left = max(0.0, before.anchor.reasoning - pending.earlier) if begins else 0.0
        last = 0.0 if shown.degraded else self._last_hidden(before)
        is_kept = shown.reasoning_kept > 0
        widths = expected(shown.doubt)
        is_disturbed = before.removed or before.changed or before.anchor.label or shown.doubt.has_items
        is_disturbed = bool(is_disturbed) or before.anchor.usage.placeholder
        observation = Observation(
            content=before.since.added.text + bare.counted.text,
            residual=actual - bare.exact - moved,
            actual=actual,
            corrected=actual - shown.exact - moved,
            expected=widths.above,
            expected_below=widths.below,
            expected_text=widths.text,
            is_user=begins,
            results=before.since.added.results,
            calls=bare.counted.calls,
            hidden=last if is_kept else -last - left,
            otherwise=-left if begins else last if is_kept else -last,
            rule=shown.rule,
            kind=before.since.kind,
            sound=not (is_disturbed or before.since.added.media),
            is_known=self.family.is_known,
        )
        return calibration.learn(self.provider, self.model, observation)

    def _last_hidden(self, before: Before) -> float:
        """Reasoning of the last answer that a rule decides about; none where there was nothing to send back."""
        cost = before.output.cost if before.output is not None else None
        if cost is None or cost.answer is None or not self.takes_reasoning(cost):
            return 0.0
        return growth.hidden_reasoning(self._growth_anchor(before.anchor.usage, cost.answer), self.family)

    def _estimate(
        self,
        anchor: Anchor,
        since: SinceAnchor,
        *,
        output: Entry | None,
        output_left: bool,
        user_turn: bool,
        earlier: float,
        policy: ReasoningPolicy,
        calibration: Calibration,
    ) -> growth.Estimate:
        answer = output.cost.answer if output is not None else None
        situation = GrowthSituation(
            wire=self.wire,
            provider=self.provider,
            model=self.model,
            user_turn=user_turn,
            tool_turn=bool(since.results),
            kind=since.kind,
            exact_text=self.exact_text,
        )
        if anchor.rests != NOTHING_COUNTED and situation.begins_turn and earlier < anchor.reasoning:
            situation = with_changes(situation, counted=anchor.rests)
        rule = situation.rule(anchor.stream)
        begins = reasoning.begins_turn(rule, user_turn=user_turn, tool_turn=situation.tool_turn)
        if output_left:
            usage = Usage(input=anchor.input, output=0)
            sent: SentBack = "none"
        else:
            usage = anchor.usage
            sent = self.sent_back(output, policy, usage, begins_turn=begins)
        base = with_changes(
            self._growth_anchor(usage, answer or NOTHING_SHOWN, 0.0 if output_left else anchor.edited),
            input=anchor.input,
            stream=anchor.stream,
            sent_back=sent,
        )
        learnt = calibration.of(self.provider, self.model) if calibration.models else NOTHING_LEARNT
        return growth.next_input(base, since.added, situation, self.family if answer else self.unseen, learnt)

    def _growth_anchor(self, usage: Usage, answer: AnswerTokens, edited: float = 0.0) -> growth.LastCall:
        output = None if usage.answer is None else usage.answer + edited
        return growth.LastCall(
            input=usage.context or 0,
            output=output,
            reasoning=usage.reasoning,
            answer=answer,
            placeholder=usage.placeholder,
            edited=edited != 0,
        )


def _wider(estimate: growth.Estimate, exact: float, moved: float, further: float) -> tuple[int, int]:
    """The bounds of an estimate that was moved on: its own doubt, that of moved reasoning, and what is further off."""
    below, above = half_widths(with_changes(estimate.doubt, hidden=estimate.doubt.hidden + abs(moved), size=exact))
    return round(exact - hypot(below, further)), round(exact + hypot(above, further))


def _label(anchor: Anchor, estimate: growth.Estimate, *, removed: float, changed: float) -> str:
    if anchor.label:
        return f"estimated: {anchor.label}"
    if estimate.degraded:
        return "estimated: the last output was a streaming placeholder or missing"
    if removed:
        return "estimated: part of the last request has left"
    if changed:
        return "estimated: system prompt or tools have changed"
    return ""
