"""The rules of reasoning written down a second time, for a whole history at once: what is sent, counted and forced.

What the package sends is decided as a history grows (``reasoning.SentReasoning``), and what is counted is summed up by
the meter; the tests hold both to this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ullage.messages import Message, ReasoningPart, ToolCallPart
from ullage.reasoning import (
    Maker,
    ModelPlace,
    ReasoningPolicy,
    SentReasoning,
    need_for,
    reasoning_ids,
    rule_for,
    step_in,
)


class Turn(NamedTuple):
    """The last turn: the index of its first message, and whether the model goes on in it with a tool loop."""

    start: int
    is_open: bool


class Selection(NamedTuple):
    """Ids of reasoning parts: what is sent, what of that the next input counts, what only a wire's need sends.

    A provider that counts what was not sent back counts more than is ``sent``.
    """

    sent: frozenset[str]
    counted: frozenset[str]
    forced: frozenset[str]


def select(
    messages: Sequence[Message],
    policy: ReasoningPolicy,
    *,
    wire: str = "",
    provider: str = "",
    model: str = "",
    stream: bool = False,
) -> Selection:
    """What of the reasoning in ``messages`` the next request carries, and what of that is counted.

    Inside an open tool loop the wire's need wins over the policy, and those parts are in ``forced``. Reasoning that
    the model does not read is in none of the three, unless it drops it by itself: then it is sent with the rest.
    """
    asked = Maker(wire, provider, model)
    rule = rule_for(wire, provider, model, stream=stream)
    turn = last_turn(messages, beside=rule.beside)
    readable = tuple(_ids(messages, asked))
    chosen = _by_policy(messages, readable, policy)
    if policy.include_in_context and policy.strip == "none":
        chosen |= frozenset(_ids(messages, asked, even_dropped=True))
    forced: frozenset[str] = frozenset()
    if turn.is_open and need_for(wire, model) is not None:
        forced = frozenset(_ids(_with_calls(messages[turn.start :]), asked)) - chosen
    sent = chosen | forced
    incremental = SentReasoning(policy, asked)
    assert incremental.add(messages)
    assert incremental.ids is None or incremental.ids == sent
    if not wire and not model:
        return Selection(sent, sent, forced)
    now = (
        frozenset(_ids(messages[turn.start :], asked))
        if (rule.loop if turn.is_open else rule.turns)
        else frozenset()
    )
    before = frozenset(_ids(messages[: turn.start], asked)) if rule.turns else frozenset()
    return Selection(
        sent, (frozenset(readable) if rule.even_unsent else sent) & (now | before), forced
    )


def last_turn(messages: Iterable[Message], *, beside: bool = True) -> Turn:
    """The turn that the next request goes on with or that has ended; it starts at 0 when no user's word began one."""
    start, is_open = 0, False
    for index, message in enumerate(messages):
        begins, is_open = step_in(message, beside=beside, is_open=is_open)
        start = index if begins else start
    return Turn(start, is_open)


def _by_policy(
    messages: Sequence[Message], readable: Sequence[str], policy: ReasoningPolicy
) -> frozenset[str]:
    if not policy.include_in_context or policy.strip == "all":
        return frozenset()
    every = frozenset(readable)
    if policy.strip == "none":
        return every
    held = (
        frozenset(part.id for part in one.of_type(ReasoningPart)) & every
        for one in reversed(messages)
    )
    return next((ids for ids in held if ids), frozenset())


def _with_calls(turn: Sequence[Message]) -> Iterable[Message]:
    return (
        message
        for message in turn
        if any(isinstance(part, ToolCallPart) for part in message.parts)
    )


def _ids(
    messages: Iterable[Message], asked: ModelPlace, *, even_dropped: bool = False
) -> Iterable[str]:
    for message in messages:
        yield from reasoning_ids(message, asked, even_dropped=even_dropped)
