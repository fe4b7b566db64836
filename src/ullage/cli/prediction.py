"""Predicting recorded calls: what a meter would have said before each of them, and what other formulas say.

A conversation is predicted in order. What its earlier actuals taught may be used for its later rows, and nothing else:
a row's own actual is looked at only after its prediction was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ullage.importers import recordings
from ullage.importers.recordings import Pair
from ullage.messages import FilePart, ImagePart, Request, ToolResultPart
from ullage.meter import growth, opening
from ullage.meter.growth import NOTHING_COUNTED, Added, Anchor, Answer, Counted, Estimate, Situation
from ullage.meter.interval import expected
from ullage.tokens.calibration import NOTHING_LEARNT, Learnt, learn
from ullage.tokens.families import Family, family_for
from ullage.tokens.media import file_tokens, image_tokens, media_rule_for
from ullage.tokens.observation import Observation
from ullage.tokens.text import TextCounter


class Prediction(NamedTuple):
    """The predicted input of a call, with its interval, and what came of it."""

    predicted: int
    low: int
    high: int
    truth: int | None
    growth: int | None
    """The truth less the input of the call before; ``None`` for a first call."""


@dataclass(slots=True)
class Conversation:
    """What the rows of one conversation have taught so far."""

    learnt: dict[str, Learnt] = field(default_factory=dict)
    earlier: float = 0.0
    """Reasoning of the turn's earlier calls that the last input holds."""
    counted: Counted = NOTHING_COUNTED
    """The answers that this rests on."""


class Predictor:
    """Predicts rows in their order. Holds one small state per conversation."""

    def __init__(
        self,
        counter: TextCounter,
        *,
        find_family: Callable[[str, str, str], Family] = family_for,
        learns: bool = True,
    ) -> None:
        self.counter = counter
        self.find_family = find_family
        self.learns = learns
        """Whether a conversation's actuals correct its later rows."""
        self.conversations: dict[tuple[str, ...], Conversation] = {}

    def call(self, row: Mapping[str, Any]) -> Prediction:
        """The input of a whole request that nothing came before."""
        request = recordings.request_of(row)
        estimate = opening.first_input(request, self._family(request), self.counter)
        return Prediction(estimate.tokens, estimate.low, estimate.high, recordings.truth_of(row), None)

    def pair(self, pair: Pair) -> Prediction:
        """The input of a pair's second call; then the conversation learns from what it was."""
        family = self.find_family(pair.wire, pair.provider, pair.model)
        told = self.conversations.setdefault(pair.conversation, Conversation())
        learnt = told.learnt.get(pair.model, NOTHING_LEARNT)
        anchor = self._anchor(pair, family, told.earlier, told.counted)
        added = self._added(pair, family)
        situation = self._situation(pair, family)
        estimate = growth.next_input(anchor, added, situation, family, learnt)
        grown = None if pair.truth is None or pair.first.input is None else pair.truth - pair.first.input
        if pair.first.input is None:
            estimate = self._without_anchor(estimate, added, family)
        elif pair.truth is not None and self.learns:
            bare = growth.next_input(anchor, added, situation, family, Learnt(flipped=learnt.flipped))
            seen = _observation(pair, anchor, added, family, estimate, bare)
            told.learnt[pair.model] = learn(learnt, seen)
        if situation.begins_turn:
            told.earlier, told.counted = 0.0, NOTHING_COUNTED
        elif estimate.reasoning_kept:
            told.earlier += estimate.reasoning_kept
            told.counted += growth.counted_for(anchor, family)
        return Prediction(estimate.tokens, estimate.low, estimate.high, pair.truth, grown)

    def _family(self, request: Request) -> Family:
        return self.find_family(request.wire, request.provider, request.model)

    def _anchor(self, pair: Pair, family: Family, earlier: float, counted: Counted) -> Anchor:
        return Anchor(
            input=pair.first.input or 0,
            output=pair.first.output,
            reasoning=pair.first.reasoning,
            answer=Answer.of(pair.answer, family, self.counter),
            echo=None if pair.echo is None else Answer.of(pair.echo, family, self.counter),
            earlier=earlier,
            counted=counted,
            stream=pair.stream,
            sent_back=pair.sent_back,
            placeholder=pair.placeholder,
        )

    def _added(self, pair: Pair, family: Family) -> Added:
        rule = media_rule_for(pair.wire, pair.provider, pair.model)

        def media(part: ImagePart | FilePart, in_result: bool) -> float:
            if isinstance(part, ImagePart):
                return image_tokens(part, rule, in_result=in_result)
            return file_tokens(part, rule, in_result=in_result)

        added = Added()
        for message in pair.new:
            added += Added.of(message, family, self.counter, tool_names=pair.call_names, media=media)
        return added

    def _situation(self, pair: Pair, family: Family) -> Situation:
        changed = 0.0
        if pair.changed is not None:
            before, after = (opening.first_input(each, family, self.counter).exact for each in pair.changed)
            changed = after - before
        return Situation(
            wire=pair.wire,
            provider=pair.provider,
            model=pair.model,
            user_turn=pair.user_turn,
            tool_turn=pair.tool_turn,
            kind=_kind(pair),
            changed=changed,
            altered=pair.altered,
            disturbed=pair.disturbed,
            exact_text=self.counter.name == "bpe" and family.has_public_vocabulary,
        )

    def _without_anchor(self, estimate: Estimate, added: Added, family: Family) -> Estimate:
        """The plain sum of what is seen, for a row without the first call's input: its true size can't be known."""
        high = round(estimate.exact * 4 + 10_000)
        return growth.with_bounds(estimate, low=0, high=high)


def _kind(pair: Pair) -> str:
    """The tools whose results a pair adds."""
    results = (part for message in pair.new for part in message.of_type(ToolResultPart))
    return "+".join(sorted(pair.call_names.get(part.call_id) or part.name for part in results))


def _observation(
    pair: Pair, anchor: Anchor, added: Added, family: Family, shown: Estimate, bare: Estimate
) -> Observation:
    truth = pair.truth or 0
    hidden = growth.hidden_reasoning(anchor, family)
    is_kept = shown.reasoning_kept > 0
    begins = shown.doubt.begins_turn
    widths = expected(shown.doubt)
    return Observation(
        content=added.text + bare.counted.text,
        residual=truth - bare.exact,
        actual=truth,
        corrected=truth - shown.exact,
        expected=widths.above,
        expected_below=widths.below,
        expected_text=widths.text,
        is_user=begins,
        results=added.results,
        calls=bare.counted.calls,
        kind=_kind(pair),
        hidden=hidden if is_kept else -hidden - shown.reasoning_left,
        otherwise=-shown.reasoning_left if begins else hidden if is_kept else -hidden,
        rule=shown.rule,
        sound=not (added.media or pair.disturbed or pair.altered or pair.placeholder),
        is_known=family.is_known,
    )


def plain(row: Mapping[str, Any]) -> Prediction:
    """The last total, where it can be read, and a quarter of the characters: for a row nothing else understands."""
    used = row.get("usage_a")
    counts = [used.get(key) for key in ("input", "output")] if isinstance(used, Mapping) else []
    total = sum(int(each) for each in counts if isinstance(each, int) and 0 <= each < recordings.LARGEST)
    estimate = total + sum(map(len, _texts(row, "new" if total else "atoms"))) // 4
    return Prediction(estimate, estimate // 4, estimate * 4 + 10_000, None, None)


Formula = Callable[[Mapping[str, Any]], float | None]
"""The input of a row's call by somebody's formula; ``None`` where the row doesn't hold what it needs."""


def _texts(row: Mapping[str, Any], *keys: str) -> Iterable[str]:
    for key in keys:
        value = row.get(key)
        for atom in value if isinstance(value, list) else ():
            if isinstance(atom, Mapping):
                yield from (text for text in (atom.get("t"), atom.get("name")) if isinstance(text, str))


def _everything(row: Mapping[str, Any]) -> list[str] | None:
    """All text of a request: a pair's second one, or a whole one; ``None`` where the row doesn't hold it."""
    whole = "atoms" in row
    if not whole and not isinstance(row.get("a_atoms"), list):
        return None
    texts = list(_texts(row, *(("atoms",) if whole else ("a_atoms", "a_response", "new"))))
    if isinstance(row.get("system"), str):
        texts.append(row["system"])
    if row.get("tools"):
        texts.append(recordings.as_json(row["tools"]))
    return texts


def quarter(row: Mapping[str, Any]) -> float | None:
    """Characters / 4 of everything that is sent, as OpenCode estimates."""
    texts = _everything(row)
    return None if texts is None else sum(len(text) for text in texts) / 4


def gemini_cli(row: Mapping[str, Any]) -> float | None:
    """gemini-cli's weights over everything that is sent."""
    from ullage.tokens.heuristics import GeminiCliCounter

    texts = _everything(row)
    return None if texts is None else sum(GeminiCliCounter().count(text, "") for text in texts)


def last_total(row: Mapping[str, Any]) -> float | None:
    """Input and output of the last call, as MEW reads a window."""
    first = recordings.pair_of(row).first
    return None if first.input is None else float(first.input + (first.output or 0))


def dexto(row: Mapping[str, Any]) -> float | None:
    """The last call's total and a quarter of the characters added, as Dexto estimates; 1,000 for each image or file."""
    total = last_total(row)
    if total is None:
        return None
    new = row.get("new")
    kinds = [atom.get("k") for atom in new if isinstance(atom, Mapping)] if isinstance(new, list) else []
    media = sum(isinstance(kind, str) and kind in recordings.MEDIA for kind in kinds)
    return total + sum(len(text) for text in _texts(row, "new")) / 4 + 1000 * media


FORMULAS: Mapping[str, Formula] = {
    "length / 4 of everything": quarter,
    "gemini-cli's weights": gemini_cli,
    "last total (MEW)": last_total,
    "Dexto's formula": dexto,
}
