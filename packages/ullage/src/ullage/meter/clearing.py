"""Content that the provider takes out of a request before the model reads it.

A session keeps sending such content, and the provider clears it anew in each request. So what is learnt of a model
rests on the whole request, which is the reported input and what was cleared; a reading is of what the model read.
Source: https://platform.claude.com/docs/en/build-with-claude/context-editing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from ullage.reasoning import ReasoningRule
from ullage.usage import Cleared

PARAMETER: Final = "context_management"
"""The parameter by which Anthropic is asked to clear content; the page above."""

THINKING: Final = "clear_thinking"
"""How the type of an edit of earlier reasoning begins; the page above."""

TRIGGER: Final = 100_000
"""Input tokens from which on tool results are cleared, where the request names no threshold; the page above."""

KEEP: Final = 3
"""The newest tool results that stay, where the request names no number; the page above."""


class ClearedTokens(NamedTuple):
    """Tokens of a request that its model did not read: of its messages, and of earlier reasoning in them."""

    content: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """Both."""
        return self.content + self.reasoning

    def scaled(self, ratio: float) -> ClearedTokens:
        """The same content in the units of another model."""
        return ClearedTokens(round(self.content * ratio), round(self.reasoning * ratio))


NOTHING_CLEARED: Final = ClearedTokens()


def cleared_tokens(cleared: Iterable[Cleared], reasoning: float) -> ClearedTokens:
    """What a provider reports to have cleared of a request that was expected to hold so much earlier ``reasoning``.

    Reasoning that the model would not have counted anyway is not missing in its input.
    """
    content = thought = 0
    for each in cleared:
        if each.content == "reasoning":
            thought += each.tokens
        else:
            content += each.tokens
    return ClearedTokens(content, min(thought, round(reasoning)))


def counted_results(cleared: Iterable[Cleared]) -> int | None:
    """Of how many tool calls the results were cleared; ``None`` where that is not said."""
    return next((each.count for each in cleared if each.content == "tool_results"), None)


class Clearable(NamedTuple):
    """Which content a provider may clear of a request: tool results but the newest ``keep``, and earlier reasoning.

    Results of the tools that are ``excluded`` always stay.
    """

    results: bool = False
    reasoning: bool = False
    keep: int = KEEP
    excluded: frozenset[str] = frozenset()


def clearable(params: Mapping[str, object], *, tokens: int, results: int) -> Clearable:
    """What these parameters let a provider clear of a request of so many tokens and tool ``results``."""
    may = Clearable()
    for edit in _edits(params):
        kind = edit.get("type")
        if not isinstance(kind, str):
            continue
        if kind.startswith(THINKING):
            may = may._replace(reasoning=not _keeps_all(edit))
        elif kind.startswith("clear_tool_uses"):
            may = may._replace(
                results=may.results or _is_triggered(edit, tokens, results),
                keep=_value(edit.get("keep"), KEEP),
                excluded=_names(edit.get("exclude_tools")),
            )
    return may


def keeps_reasoning(params: Mapping[str, object]) -> bool:
    """Whether these parameters say which earlier reasoning stays, in place of what the model would keep unasked.

    https://platform.claude.com/docs/en/build-with-claude/thinking#thinking-block-preservation-by-model.
    """
    for edit in _edits(params):
        kind = edit.get("type")
        if isinstance(kind, str) and kind.startswith(THINKING) and edit.get("keep"):
            return True
    return False


KEPT: Final = ReasoningRule(
    True, True, "kept", beside=False, seen="documented, not measured"
)
"""The rule of a request that keeps thinking which its model would leave out after a user message; the page above."""


def rule_of_request(rule: ReasoningRule, keeps: bool) -> ReasoningRule:
    """The model's own rule, or that of a request that keeps reasoning."""
    return KEPT if keeps and not rule.turns else rule


def _keeps_all(edit: Mapping[str, Any]) -> bool:
    keep = edit.get("keep")
    return keep == "all" or (isinstance(keep, Mapping) and keep.get("type") == "all")


def _edits(params: Mapping[str, object]) -> Iterator[Mapping[str, Any]]:
    management = params.get(PARAMETER)
    edits = management.get("edits") if isinstance(management, Mapping) else None
    for edit in edits if isinstance(edits, list | tuple) else ():
        if isinstance(edit, Mapping):
            yield edit


def _is_triggered(edit: Mapping[str, Any], tokens: int, results: int) -> bool:
    trigger = edit.get("trigger")
    counts_uses = isinstance(trigger, Mapping) and trigger.get("type") == "tool_uses"
    return (results if counts_uses else tokens) >= _value(trigger, TRIGGER)


def _value(setting: object, default: int) -> int:
    """The number of a threshold such as ``{"type": "input_tokens", "value": 30000}``."""
    value = setting.get("value") if isinstance(setting, Mapping) else None
    return value if isinstance(value, int) and value >= 0 else default


def _names(value: object) -> frozenset[str]:
    if not isinstance(value, list | tuple):
        return frozenset()
    return frozenset(name for name in value if isinstance(name, str))


_CONTENTS: Final = {"tool_results": "tool results", "reasoning": "earlier reasoning"}
_COUNTED: Final = {"tool_results": "tool call", "reasoning": "turn"}


def notes_of_clearing(cleared: Iterable[Cleared]) -> tuple[str, ...]:
    """What a person should know of what was cleared of the last request, in a sentence."""
    told: list[str] = []
    for each in cleared:
        text = f"{each.tokens:,} tokens of {_CONTENTS.get(each.content, 'content')}"
        counted = _COUNTED.get(each.content)
        if each.count is not None and counted is not None:
            plural = "" if each.count == 1 else "s"
            text += f" ({each.count:,} {counted}{plural})"
        told.append(text)
    if not told:
        return ()
    return (
        f"The server cleared {' and '.join(told)} from the last request before the model read it. "
        "The reading is without them.",
    )
