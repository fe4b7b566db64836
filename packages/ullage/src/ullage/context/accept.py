"""Checks that a model's answer is a summary. Any other answer is rejected with a reason and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from ullage.context.policy import (
    COMPARED_CHARACTERS,
    ECHO_SHARE,
    LEAST_ECHO_WORDS,
    MOST_OF_SOURCE,
    OVER_LENGTH,
    SHINGLE,
    SHORT_SOURCE,
)
from ullage.context.strategy import Reason, SummaryAnswer
from ullage.messages import ReasoningPart, TextPart, ToolCallPart

_WORDS: Final = re.compile(r"\w+")


class AcceptedSummary(NamedTuple):
    """A summary: its text, and whether that is the whole visible answer, so that its reported length holds for it."""

    text: str
    is_whole: bool


class RejectedSummary(NamedTuple):
    """The answer is no summary, and the reason."""

    reason: Reason
    note: str


def accept(
    answer: SummaryAnswer,
    source: Callable[[], str],
    *,
    source_tokens: float,
    most: float,
    count: Callable[[str], float],
) -> AcceptedSummary | RejectedSummary:
    """The answer's text, if it is a summary of the source in about ``most`` tokens. ``source`` is made if needed."""
    failure = _failure(answer)
    if failure is not None:
        return failure
    assert answer.message is not None, "an answer without a message has failed"
    visible = "".join(part.text for part in answer.message.of_type(TextPart))
    text = visible.strip()
    tokens = count(text)
    allowed = min(most * OVER_LENGTH, max(SHORT_SOURCE, MOST_OF_SOURCE * source_tokens))
    if tokens > allowed:
        return RejectedSummary(
            "longer",
            f"{tokens:,.0f} tokens for {source_tokens:,.0f}; at most {allowed:,.0f} were allowed.",
        )
    share = _echo(text, source())
    if share >= ECHO_SHARE:
        return RejectedSummary(
            "echo", f"The summary repeated its source: {share:.0%} of it word for word."
        )
    return AcceptedSummary(text, len(visible) - len(text) <= 2)


def _failure(answer: SummaryAnswer) -> RejectedSummary | None:
    """The reason why the answer has no text to check."""
    if answer.error or answer.message is None:
        return RejectedSummary(
            "failed", f"The call failed: {answer.error or 'no answer came'}."
        )
    if answer.stop in ("length", "context_full"):
        return RejectedSummary("truncated", "The answer was cut at the output limit.")
    if answer.stop == "refused":
        return RejectedSummary("refused", "The model, or a filter, withheld the answer.")
    if any(answer.message.of_type(ToolCallPart)):
        return RejectedSummary(
            "tool_call", "The model called a tool instead of answering."
        )
    if answer.message.text.strip():
        return None
    if any(answer.message.of_type(ReasoningPart)):
        return RejectedSummary(
            "reasoning_only", "The answer holds reasoning and no text."
        )
    return RejectedSummary("empty", "The answer holds no text.")


def _echo(answer: str, source: str) -> float:
    """The share of the answer's runs of words that the source contains."""
    if len(source) > COMPARED_CHARACTERS:
        source = (
            source[: COMPARED_CHARACTERS // 2]
            + "\n"
            + source[-COMPARED_CHARACTERS // 2 :]
        )
    words = _words(answer)
    if len(words) < LEAST_ECHO_WORDS:
        return (
            1.0
            if words and f" {' '.join(words)} " in f" {' '.join(_words(source))} "
            else 0.0
        )
    runs = set(_runs(words))
    found = runs.intersection(_runs(_words(source)))
    return len(found) / len(runs)


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def _runs(words: list[str]) -> Iterator[tuple[str, ...]]:
    shifted: Iterable[list[str]] = (words[place:] for place in range(SHINGLE))
    return zip(*shifted, strict=False)
