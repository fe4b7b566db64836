"""Which reasoning of a growing history is sent: the choice of ``reasoning.select``, without going back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ullage.codec.encode.blocks import EVERYTHING
from ullage.messages import Message, ToolCallPart
from ullage.reasoning import ModelPlace, ReasoningPolicy, need_for, readable_ids, rule_for, step_in


class Sent(NamedTuple):
    """Ids of the reasoning that is sent; ``None`` is all of it."""

    ids: frozenset[str] | None


class GrowingSelection:
    """What a policy lets through of the reasoning in messages that come in pieces."""

    def __init__(self, policy: ReasoningPolicy, asked: ModelPlace) -> None:
        self._asked = asked
        self._beside = rule_for(asked.wire, asked.provider, asked.model).beside
        self._all = policy == EVERYTHING
        self._last_only = policy.include_in_context and policy.strip == "all_but_last"
        self._need = need_for(asked.wire, asked.model) is not None
        self.always_moves = False
        """Whether the newest reasoning took the place of the one before, as it will again with each new answer."""
        self._seen: set[str] = set()
        self._last: frozenset[str] = frozenset()  # the reasoning of the last message that has any
        self._last_is_forced = False  # whether it stands with calls in the last turn
        self._is_open = False  # whether the last turn goes on with a tool loop
        self._is_forced = False  # whether an open loop needs its reasoning, whatever the policy says
        self._turn_has_any = False  # whether the last turn has reasoning that stands with calls

    def add(self, messages: Sequence[Message]) -> Sent | None:
        """What is sent of the next messages; ``None`` where they change what is sent of earlier ones.

        ``None`` also where an id is used twice, as then ids don't tell parts apart. After it nothing may be added.
        """
        if self._all:
            return Sent(None)
        if not messages:
            return Sent(frozenset())
        was_forced = self._is_forced and self._turn_has_any
        had_any, last_was_forced = self._turn_has_any, self._last_is_forced
        newest: frozenset[str] = frozenset()
        with_calls: set[str] = set()
        for message in messages:
            begins, self._is_open = step_in(message, beside=self._beside, is_open=self._is_open)
            if begins:
                had_any = last_was_forced = self._turn_has_any = self._last_is_forced = False
                with_calls.clear()
            ids = readable_ids(message, self._asked)
            if not ids:
                continue
            if len(set(ids)) < len(ids) or not self._seen.isdisjoint(ids):
                return None
            self._seen.update(ids)
            newest = frozenset(ids)
            self._last_is_forced = any(isinstance(part, ToolCallPart) for part in message.parts)
            if self._last_is_forced:
                self._turn_has_any = True
                with_calls.update(ids)
        self._is_forced = self._need and self._is_open
        if was_forced != (self._is_forced and had_any):
            return None
        if self._last_only and newest and self._last and not (self._is_forced and last_was_forced):
            self.always_moves = not self._need
            return None
        sent = newest if self._last_only else frozenset[str]()
        self._last = newest or self._last
        return Sent(sent | with_calls if self._is_forced else sent)
