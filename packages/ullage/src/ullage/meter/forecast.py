"""What the next request holds: the estimators of one model, applied to the state of the fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import hypot
from typing import Final, NamedTuple

from msgspec.structs import replace as with_changes

from ullage import reasoning
from ullage.envelope import MOST_TOKENS
from ullage.messages import FilePart, ImagePart, Message, SystemBlock, Tool
from ullage.meter import growth
from ullage.meter.anchor import Anchor, Forecast, ForecastBasis, Pending
from ullage.meter.clearing import rule_of_request
from ullage.meter.cost import (
    NO_DECLARATIONS,
    NO_DOUBT,
    NOTHING_COUNTED,
    Added,
    AnswerTokens,
    Counted,
    MessageCost,
    Widths,
    message_cost,
)
from ullage.meter.growth import (
    GrowthSituation,
    LastCall,
    doubted,
    expected,
    half_widths,
    is_open,
    is_proven,
)
from ullage.meter.measured import measured_cost
from ullage.meter.opening import OpeningContent, is_thinking, opening_interval
from ullage.meter.overhead import LearntOverhead
from ullage.meter.policy import CHANGE_DOUBT, LEAST_CHANGE_DOUBT, NARROWEST, REMOVAL_DOUBT
from ullage.meter.situations import Opening, situation_of, widths_of
from ullage.meter.view import Entry
from ullage.reasoning import ReasoningPolicy, ReasoningRule, SentBack
from ullage.tokens.calibration import NEVER_MEASURED, Calibration, Learnt
from ullage.tokens.content import is_exact, text_tokens
from ullage.tokens.families import PLAIN, Family, family_for
from ullage.tokens.hidden_prompts import (
    NONE,
    HiddenPrompt,
    HiddenPromptRow,
    hidden_prompt,
    rows_for,
)
from ullage.tokens.media import file_tokens, image_tokens, media_rule_for
from ullage.tokens.regression import Observation
from ullage.tokens.template import PLAIN as PLAIN_TEMPLATE
from ullage.tokens.template import Template, template_for
from ullage.tokens.text import TextCounter, counter_for
from ullage.tokens.text_kinds import summed
from ullage.tokens.tools import (
    NO_TOOLS,
    ToolsCost,
    answer_tokens,
    read_answer_format,
    read_choice,
    tool_tokens,
    tools_cost,
)
from ullage.usage import Usage

BY_NAME_ALONE = frozenset({"quarter", "gemini-cli"})
"""Estimators whose numbers are used as they are, without a family's ratio and constants."""

NOTHING_SHOWN = AnswerTokens()

NOW_COUNTED: Final = (
    "The reported inputs show that this model counts earlier reasoning, which was not expected of it. "
    "The reading includes it."
)
NOW_LEFT_OUT: Final = (
    "The reported inputs show that this model does not count earlier reasoning, which was expected of it. "
    "The reading leaves it out."
)
"""The notes of a reading whose conversation has shown a reasoning rule to be wrong."""


SAMPLE: Final = """# Editing files

- Read a file before you change it, and NEVER guess at its contents.
- Use `grep` instead of reading whole directories; quote paths that contain spaces.

If the user's request is ambiguous, ask one question. Otherwise implement it, run the tests (for example `pytest -q`), \
and report failures honestly.

{"name": "read_file", "description": "Returns up to 2000 lines. Don't call it for directories.", \
"input_schema": {"type": "object", "properties": {"file_path": {"type": "string", "description": "The absolute path"}, \
"offset": {"type": "integer"}}, "required": ["file_path"], "additionalProperties": false}}"""
"""Text like that of a system prompt and of tools. How two models count it says what unknown text of one comes to with
the other. For each token of GPT-5 the prompts and tools of Claude Code, Codex, Copilot CLI, OpenCode and pi are 1.06 to
1.19 tokens of Claude 4.5 and 1.43 to 1.63 of Opus 5 (n=10 texts of 2,300 to 32,000 characters; all together 1.10 and
1.50), and this one 1.10 and 1.49."""

NOTHING_REPORTED: Final = "estimated: no call has reported its usage yet"
PART_LEFT: Final = "estimated: part of the last request has left"


class Fixed(NamedTuple):
    """What every request carries beside its messages: system blocks, tools, the answer's schema, the template's own."""

    system: tuple[float, ...] = ()
    tools: ToolsCost = NO_TOOLS
    answer: float = 0.0
    overhead: float = 0.0
    hidden: HiddenPrompt = NONE
    """Of ``overhead``, what the host adds."""
    replaced: float = 0.0
    """What hooks have added to the last request; below zero where they took out more."""

    @property
    def tokens(self) -> float:
        """All of it."""
        known = sum(self.system) + self.tools.tokens + self.answer + self.overhead
        return known + self.replaced


class FittedEstimator:
    """A counter and families in the place of those that are built in, such as ones fitted to fewer recordings."""

    def __init__(
        self, counter: TextCounter, find_family: Callable[[str, str, str], Family]
    ) -> None:
        self.counter = counter
        self.find_family = find_family

    def __call__(self, text: str) -> float:
        return self.counter.count(text, "")


class Forecaster:
    """The estimators of one model over one wire at one provider."""

    def __init__(
        self,
        wire: str,
        provider: str,
        model: str,
        estimator: str | Callable[[str], float],
        *,
        keeps_reasoning: bool = False,
    ) -> None:
        self.wire, self.provider, self.model = wire, provider, model
        self.family: Family = PLAIN
        self.template: Template = PLAIN_TEMPLATE
        self.hidden_prompts: tuple[HiddenPromptRow, ...] = ()
        if isinstance(estimator, FittedEstimator):
            self.counter = estimator.counter
            self.family = estimator.find_family(wire, provider, model)
            self.template = template_for(wire, provider, model)
        else:
            self.counter = counter_for(estimator)
            if not callable(estimator) and estimator not in BY_NAME_ALONE:
                self.family = family_for(wire, provider, model)
                self.template = template_for(wire, provider, model)
        if self.template is not PLAIN_TEMPLATE:
            self.hidden_prompts = rows_for(wire, provider, model)
        self.unseen = replace(self.family, recounts=False)
        """The family for an answer without known content: its reported output is all there is to estimate from."""
        self.media_rule = media_rule_for(wire, provider, model)
        self.exact_text = is_exact(self.family, self.counter)
        self.rules = tuple(
            rule_of_request(
                reasoning.rule_for(wire, provider, model, stream=stream), keeps_reasoning
            )
            for stream in (False, True)
        )
        """Which reasoning is counted: of an answer that came at once, and of one that was streamed."""
        self.needs_reasoning = reasoning.need_for(wire, model) is not None
        """Whether a tool loop is rejected, or breaks, without its reasoning."""

    def same_units(self, other: Forecaster) -> bool:
        """Whether both count alike, so that costs need not be taken again."""
        return (self.family, self.template, self.media_rule, self.counter) == (
            other.family,
            other.template,
            other.media_rule,
            other.counter,
        )

    def text_ratio(self, other: Forecaster, sample: str) -> float:
        """Tokens of a text with this model for each token of it with the other one."""
        ours = text_tokens(sample, self.family, self.counter)
        theirs = text_tokens(sample, other.family, other.counter)
        return ours / theirs if theirs > 0 else 1.0

    # -- costs --

    def media(self, part: ImagePart | FilePart, in_result: bool) -> float:
        """Tokens of an image or file, by its pixels, pages or seconds."""
        if isinstance(part, ImagePart):
            return image_tokens(part, self.media_rule, in_result=in_result)
        return file_tokens(part, self.media_rule, in_result=in_result)

    def message(
        self,
        message: Message,
        tool_names: Mapping[str, str],
        declarations: Mapping[str, float] = NO_DECLARATIONS,
    ) -> MessageCost:
        """What a message costs as input; of one without its content, what was measured."""
        known = measured_cost(message)
        if known is not None:
            return known
        return message_cost(
            message,
            self.family,
            self.counter,
            tool_names=tool_names,
            media=self.media,
            declarations=declarations,
        )

    def text(self, text: str) -> float:
        """Tokens of a text of the system prompt."""
        return self.template.text * text_tokens(text, self.family, self.counter)

    def tool(self, tool: Tool) -> float:
        """Tokens of a tool's declaration."""
        return tool_tokens(tool, self.template, self.family, self.counter)

    def with_text_tokens(self, cost: MessageCost, tokens: float) -> MessageCost:
        """The cost of a message whose text is ``tokens`` long, in the estimator's own."""
        added = with_changes(cost.added, text=tokens)
        parts = tuple(
            part._replace(tokens=tokens / len(cost.parts)) for part in cost.parts
        )
        return cost._replace(added=added, tokens=added.tokens(self.family), parts=parts)

    def opening_message(self, message: Message, cost: MessageCost) -> float:
        """What a message of that cost adds to a first request. Additive over messages."""
        added, template = cost.added, self.template
        framed = template.message if added.users else 0.0
        if message.role == "assistant":  # what closes an answer is among its tokens
            framed = max(0.0, template.message - self.family.answering.once)
        wrapped = Added(results=added.results).wrapping(self.family)
        return template.text * added.text + added.media + framed + wrapped

    def fixed(
        self,
        system: Sequence[SystemBlock],
        tools: Sequence[Tool],
        params: Mapping[str, object],
        *,
        leading: str = "",
    ) -> Fixed:
        """What every request carries. ``leading`` is a system prompt that is one of the messages."""
        template, family, counter = self.template, self.family, self.counter
        text = next((block.text for block in system if block.text), leading)
        cost = tools_cost(
            tools, template, family, counter, choice=read_choice(params), system=text
        )
        answer_format = read_answer_format(params)
        answer = answer_tokens(
            answer_format, template, family, counter, system=text, tools=any(cost.each)
        )
        hidden = hidden_prompt(
            self.hidden_prompts, params, has_system=bool(text), has_tools=cost.tokens > 0
        )
        overhead = template.base + (template.system if text else 0.0) + hidden.tokens
        if template.thinking and is_thinking(params):
            overhead += template.thinking
        blocks: list[float] = []
        for block in system:
            # The first block carries the framing of the message that the prompt is on most wires.
            framing = 0 if blocks else template.message
            tokens = block.measured
            if tokens is None or not 0 <= tokens <= MOST_TOKENS:
                tokens = self.text(block.text)
            blocks.append(tokens + framing)
        return Fixed(tuple(blocks), cost, answer, overhead, hidden)

    # -- reasoning --

    def takes_reasoning(self, cost: MessageCost) -> bool:
        """Whether a message's reasoning can be in the next input: it has any, and the model can read it.

        Where a provider counts what was not sent back, an answer that shows none may have it as well.
        """
        return self._is_read(cost) and not self._is_of_other_form(cost)

    def _is_read(self, cost: MessageCost) -> bool:
        return (cost.carries or self.rules[0].even_unsent) and not reasoning.is_foreign(
            cost.maker, self
        )

    def _is_of_other_form(self, cost: MessageCost) -> bool:
        """Whether reasoning comes without what the provider needs to count it."""
        needs, answer = self.rules[0].needs, cost.answer
        if answer is None or not needs:
            return False
        return not (answer.calls if needs == "call" else answer.opaque_size)

    def _rule(self, anchor: Anchor, output: Entry | None) -> ReasoningRule:
        """The rule that decides about the reasoning of the last answer."""
        rule = self.rules[anchor.stream]
        if output is not None and self._is_of_other_form(output.cost):
            return reasoning.of_other_form(rule)
        return rule

    def hidden(self, entry: Entry, usage: Usage | None) -> float:
        """Tokens of a message's reasoning: as reported, as what its output can't show, or from its text."""
        cost = entry.cost
        if cost.answer is None or not self.takes_reasoning(cost):
            return 0.0
        if usage is not None and usage.answer is not None and not usage.placeholder:
            hidden = growth.hidden_reasoning(_last_call(usage, cost.answer), self.family)
            if hidden > 0:
                return hidden
        return cost.reasoning

    def rests(self, entry: Entry, usage: Usage | None) -> Counted:
        """The answer, if ``hidden`` is its output less its counted text."""
        cost = entry.cost
        if (
            cost.answer is None
            or usage is None
            or usage.placeholder
            or not self.takes_reasoning(cost)
        ):
            return NOTHING_COUNTED
        return growth.counted_for(_last_call(usage, cost.answer), self.family)

    def edited(self, anchor: Anchor, before: AnswerTokens, after: AnswerTokens) -> float:
        """``Anchor.edited`` once the answer ``before`` is sent back as ``after``.

        The difference is that of what is visible, and the reasoning that only the removed parts gave away.
        """
        family, usage = self.family, anchor.usage
        if usage.answer is None:
            return 0.0
        grown = anchor.edited + after.visible(family) - before.visible(family)
        hidden = growth.hidden_reasoning(_last_call(usage, before, anchor.edited), family)
        still_hidden = growth.hidden_reasoning(_last_call(usage, after, grown), family)
        return grown - (hidden - still_hidden)

    def _sent_back(
        self,
        output: Entry | None,
        policy: ReasoningPolicy,
        usage: Usage,
        *,
        begins_turn: bool,
    ) -> SentBack:
        """Whether the last answer's reasoning is sent again."""
        if output is not None and output.id in policy.unbound:
            return "no"
        if output is not None and not (
            output.cost.carries and self._is_read(output.cost)
        ):
            return "no" if usage.reasoning or output.cost.carries else "none"
        if policy.include_in_context and policy.strip != "all":
            return "yes"
        calls = (
            output is None or output.cost.answer is None or output.cost.answer.calls > 0
        )
        return "yes" if calls and not begins_turn and self.needs_reasoning else "no"

    # -- the forecast --

    def supposed(self, learnt: Learnt) -> Learnt:
        """What is known of the model; before its first call, what is supposed where its family was not measured."""
        is_new = not learnt.fits and not self.family.is_known
        return NEVER_MEASURED if is_new else learnt

    def opening(
        self,
        fixed: Fixed,
        messages: float,
        earlier: float,
        *,
        media: float,
        media_doubt: Widths = NO_DOUBT,
        history: bool,
        missing: str,
        overhead: LearntOverhead | None = None,
    ) -> Forecast:
        """A request before any reported usage. ``missing`` names what the log does not contain, for a note.

        ``overhead`` is what earlier sessions showed beyond such a log.
        """
        exact = max(0.0, fixed.tokens + messages + earlier)
        hidden = fixed.hidden
        content = OpeningContent(
            stratum=self.template.stratum,
            tokens=exact - hidden.tokens,
            tools=fixed.tools.tokens - fixed.tools.hosted,
            hosted=fixed.tools.hosted,
            unread=fixed.tools.unread,
            answer=fixed.answer,
            media=media,
            media_doubt=media_doubt,
            history=history,
        )
        low, high = opening_interval(content, is_exact=self.exact_text)
        tokens = round(exact)
        bare = Forecast(
            tokens=tokens,
            low=max(0, min(round(low + hidden.tokens - hidden.below), tokens)),
            high=max(round(high + hidden.tokens + hidden.above), tokens),
            last_input=None,
            last_output=0.0,
            new=exact,
            changed=0.0,
            removed=0.0,
            reasoning=earlier,
            unproven=round(hidden.above),
            label=NOTHING_REPORTED,
            notes=(f"{missing} not in the log: the number is a lower bound.",)
            if missing
            else (),
        )
        if overhead is None:
            return bare
        return with_overhead(bare, overhead, fixed=fixed.tokens, missing=missing)

    def next(
        self,
        basis: ForecastBasis,
        *,
        user_turn: bool,
        doubt: float,
        earlier: float,
        policy: ReasoningPolicy,
        learnt: Learnt,
        opening: Opening,
        program: str,
    ) -> Forecast:
        """A request after one whose input was reported.

        ``earlier`` is the reasoning of all earlier answers now, ``doubt`` what may be off beside the usual.
        """
        anchor, changed = basis.anchor, basis.changed
        learnt = self.supposed(learnt)
        estimate = self._estimate(
            basis, user_turn=user_turn, earlier=earlier, policy=policy, learnt=learnt
        )
        moved = earlier - anchor.reasoning
        # What is left of the last request can't be less than nothing, whatever the estimates of what left it say.
        left = basis.removed - basis.taken_out
        held = max(0.0, anchor.input + moved + changed - left)
        removed = anchor.input + moved + changed - held
        gone = removed - moved
        if gone < 0:  # reasoning that counts again, or an edit that made a message longer
            changed, gone = changed - gone, 0.0
        exact = max(0.0, estimate.exact - anchor.input + held)
        of_change = hypot(CHANGE_DOUBT * changed, LEAST_CHANGE_DOUBT) if changed else 0.0
        of_removal = REMOVAL_DOUBT * min(abs(removed), max(0.0, anchor.input - removed))
        further = hypot(of_change, of_removal, anchor.spread * anchor.input, doubt)
        usual = estimate.doubt
        below, above = half_widths(
            with_changes(usual, hidden=usual.hidden + abs(moved), size=exact)
        )
        situation = situation_of(
            basis, opening, begins_turn=usual.begins_turn, reasoning=usual.hidden
        )
        width = widths_of(program, situation)
        own = learnt.width_of(situation)
        below = max(NARROWEST, own[0] * width.below * below)
        above = max(NARROWEST, own[1] * hypot(width.above * above, width.more))
        tokens = round(exact)
        low, high = (
            round(exact - basis.taken_out - hypot(below, further)),
            round(exact + min(basis.taken_out, max(0.0, left)) + hypot(above, further)),
        )
        label = ""
        if anchor.stated_by:
            label = PART_LEFT if removed else anchor.label
        elif anchor.label:
            label = f"estimated: {anchor.label}"
        elif estimate.degraded or estimate.recounted:
            label = f"estimated: {_output_label(anchor.usage, estimate)}"
        elif removed:
            label = PART_LEFT
        elif changed:
            label = "estimated: system prompt or tools have changed"
        notes: tuple[str, ...] = ()
        if estimate.flipped:
            notes = (NOW_COUNTED if estimate.kept else NOW_LEFT_OUT,)
        reported_output = None
        if estimate.degraded or estimate.recounted:
            reported_output = anchor.usage.answer
        return Forecast(
            tokens=tokens,
            low=max(0, min(low, tokens)),
            high=max(high, tokens),
            last_input=None if anchor.stated_by else anchor.input,
            last_output=estimate.answer_kept,
            new=estimate.added + (anchor.input if anchor.stated_by else 0),
            changed=changed,
            removed=gone,
            reasoning=earlier + estimate.reasoning_kept,
            label=label,
            notes=notes,
            reported_output=reported_output,
            situation=situation,
        )

    def learn(
        self,
        calibration: Calibration,
        pending: Pending,
        *,
        policy: ReasoningPolicy,
        actual: int,
        is_surprise: bool = False,
    ) -> Calibration:
        """The calibration after the reported input of a call; unchanged without an estimate to compare it with.

        A surprise, or a report after one, says nothing of what a text costs, nor does one that is smaller than the
        last: something else came or left.
        """
        basis = pending.before
        if basis is None:
            return calibration
        anchor, since, earlier = basis.anchor, basis.since, pending.earlier
        known = self.supposed(calibration.of(self.provider, self.model))
        rules_alone = Learnt(flipped=known.flipped)
        user_turn = pending.user_turn
        bare = self._estimate(
            basis, user_turn=user_turn, earlier=earlier, policy=policy, learnt=rules_alone
        )
        shown = self._estimate(
            basis, user_turn=user_turn, earlier=earlier, policy=policy, learnt=known
        )
        moved = earlier - anchor.reasoning + basis.changed - basis.removed
        begins = shown.doubt.begins_turn
        last = 0.0  # reasoning of the last answer that a rule decides about
        output = basis.output
        if not shown.degraded and output is not None and self._is_read(output.cost):
            last = shown.doubt.hidden
        left = max(0.0, anchor.reasoning - earlier) if begins else 0.0
        is_kept = shown.reasoning_kept > 0
        in_loop = last if is_kept else -last
        rule = self._rule(anchor, output)
        of_turn = 0.0
        if begins and rule is self.rules[anchor.stream]:
            of_turn = -left or anchor.turn
        widths = expected(shown.doubt)
        is_disturbed = bool(
            basis.removed
            or basis.changed
            or anchor.label
            or shown.doubt.has_items
            or anchor.usage.placeholder
            or since.added.media
            or is_surprise
            or anchor.level is not None
            or actual - moved < anchor.input
        )
        observation = Observation(
            content=bare.doubt.content,
            text_kinds=summed(since.added.text_kinds, bare.counted.text_kinds),
            residual=actual - bare.exact - moved,
            corrected=actual - shown.exact - moved,
            expected=widths.above,
            expected_below=widths.below,
            expected_text=widths.text,
            is_user=begins,
            results=since.added.results,
            calls=bare.counted.calls,
            hidden=in_loop + of_turn,
            otherwise=-left if begins else in_loop,
            rule=rule.name,
            is_guess=not is_proven(rule, begins=begins),
            kind=since.kind,
            sound=not is_disturbed,
            is_known=self.family.is_known,
        )
        return calibration.learn(self.provider, self.model, observation)

    def _estimate(
        self,
        basis: ForecastBasis,
        *,
        user_turn: bool,
        earlier: float,
        policy: ReasoningPolicy,
        learnt: Learnt,
    ) -> growth.Estimate:
        anchor, output, since = basis.anchor, basis.output, basis.since
        answer = output.cost.answer if output is not None else None
        rule = self.rules[anchor.stream]
        begins = reasoning.begins_turn(
            rule, user_turn=user_turn, tool_turn=since.results > 0
        )
        leaves = begins and earlier < anchor.reasoning
        in_doubt = NO_DOUBT
        if begins and not basis.removed and is_open(rule, learnt, begins=True):
            in_doubt = doubted(anchor.turn, kept=not leaves)
        is_steered = user_turn and not begins and rule.beside_pairs.against > 0
        if is_steered:
            in_doubt = doubted(anchor.turn, kept=True)
        situation = GrowthSituation(
            rule=self._rule(anchor, output),
            begins_turn=begins,
            kind=since.kind,
            counted=anchor.rests if leaves else NOTHING_COUNTED,
            exact_text=self.exact_text,
            earlier=in_doubt,
            is_steered=is_steered,
        )
        usage, edited = anchor.usage, anchor.edited
        added = since.added
        sent: SentBack = "none"
        if basis.output_left:
            usage, edited = Usage(output=0), 0.0
        else:
            sent = self._sent_back(output, policy, usage, begins_turn=begins)
        if answer is not None and sent == "yes":
            added = added.plus(Added(text=answer.charged))
        last = _last_call(
            usage, answer or NOTHING_SHOWN, edited, input=anchor.input, sent_back=sent
        )
        return growth.next_input(
            last, added, situation, self.family if answer else self.unseen, learnt
        )


def with_overhead(
    bare: Forecast, overhead: LearntOverhead, *, fixed: float, missing: str
) -> Forecast:
    """The forecast of a first call with what earlier sessions showed that it holds beyond ``bare``.

    Where nothing is missing in the log, they showed what system prompt and tools (``fixed``) really cost: then only
    the rest of the estimate is as uncertain as before.
    """
    below, above = bare.tokens - bare.low, bare.high - bare.tokens
    if not missing and bare.tokens:
        rest = max(0.0, 1 - fixed / bare.tokens)
        below, above = round(below * rest), round(above * rest)
    label = NOTHING_REPORTED
    if not missing:  # else a row says it
        label += f"; system prompt and tools {overhead.source}"
    found = _with_more(bare, bare.new, Widths(below, above), overhead)
    return with_changes(found, new=bare.new + found.overhead, label=label, notes=())


def with_put_back(bare: Forecast, overhead: LearntOverhead) -> Forecast:
    """The forecast of a call after a compaction with what the program puts back beyond its log."""
    widths = Widths(bare.tokens - bare.low, bare.high - bare.tokens)
    found = _with_more(bare, bare.tokens, widths, overhead)
    return with_changes(found, new=bare.new + overhead.tokens)


def _with_more(
    bare: Forecast, known: float, widths: Widths, overhead: LearntOverhead
) -> Forecast:
    """The forecast with more than the tokens that are ``known``, which may be off by ``widths``."""
    exact = max(0.0, known + overhead.tokens)
    return with_changes(
        bare,
        tokens=round(exact),
        low=max(0, round(exact - hypot(widths.below, overhead.below))),
        high=round(exact + hypot(widths.above, overhead.above)),
        overhead=exact - known,
    )


def _output_label(usage: Usage, estimate: growth.Estimate) -> str:
    """Why the last answer is not taken as its output was reported, with both numbers."""
    reported, kept = usage.answer, round(estimate.answer_kept)
    if any(flag.startswith("report:") for flag in usage.flags):
        return "the last call's usage is not its own alone"
    if reported is None:
        return "the last call reported no output"
    if usage.placeholder:
        return f"the last output, {reported:,}, is a streaming placeholder"
    if estimate.degraded:
        return f"the last output was reported as {reported:,}, and its content is about {kept:,}"
    return f"the last output was reported as {reported:,}, and is charged by its text when sent back, {kept:,}"


def _last_call(
    usage: Usage,
    answer: AnswerTokens,
    edited: float = 0.0,
    *,
    input: int = 0,
    sent_back: SentBack = "yes",
) -> LastCall:
    return LastCall(
        input=input,
        output=None if usage.answer is None else usage.answer + edited,
        reasoning=usage.reasoning,
        answer=answer,
        sent_back=sent_back,
        placeholder=usage.placeholder,
        edited=edited,
    )
