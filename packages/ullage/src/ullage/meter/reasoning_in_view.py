"""The reasoning in the window, and how much of it the next input counts.

Amounts are tokens by message, as the provider reported them or, without a report, as estimated. Which of them count is
the product of two rules: what the provider keeps and what the application sends (LLxprt's effective count,
docs/from-the-seeds.md). A property test compares these sums with the same rules applied to all messages
(``tests/reasoning_in_full.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.meter.cost import NOTHING_COUNTED, Counted
from ullage.reasoning import ReasoningPolicy, ReasoningStep


@dataclass(slots=True)
class ReasoningInView:
    """Reasoning by message, in order, with running sums: every question is answered without going through it."""

    tokens: dict[str, float] = field(default_factory=dict)
    all: float = 0.0
    turn: float = 0.0
    in_turn: set[str] = field(default_factory=set)
    calling: float = 0.0
    """Of the current turn, that of messages with tool calls."""
    with_calls: set[str] = field(default_factory=set)
    rests: dict[str, Counted] = field(default_factory=dict)
    """The answers by whose counted text an amount was had, and not from the provider."""
    turn_rests: Counted = NOTHING_COUNTED
    """All of these in the current turn."""
    is_open: bool = False
    """Whether a tool loop is open; otherwise the current turn ends with the next request."""

    def follow(self, step: ReasoningStep) -> None:
        """A message was added, and this is what it is to the turns."""
        self.is_open = step.is_open
        if step.begins:
            self.begin_turn()

    def put(
        self,
        message: str,
        tokens: float,
        rests: Counted = NOTHING_COUNTED,
        *,
        calls: bool = False,
    ) -> None:
        """Set the amount of a message, what it rests on, and whether it holds tool calls.

        A new one belongs to the current turn.
        """
        is_new = message not in self.tokens
        if is_new or message in self.in_turn:
            known, known_rests = (
                self.tokens.get(message, 0.0),
                self.rests.get(message, NOTHING_COUNTED),
            )
            self.in_turn.add(message)
            self.turn += tokens - known
            self.turn_rests = self.turn_rests.plus(rests.plus(known_rests, -1))
            self.calling += tokens * calls - known * (message in self.with_calls)
            if calls:
                self.with_calls.add(message)
            else:
                self.with_calls.discard(message)
        self.all += tokens - self.tokens.get(message, 0.0)
        self.tokens[message] = tokens
        if rests != NOTHING_COUNTED:
            self.rests[message] = rests
        else:
            self.rests.pop(message, None)

    def remove(self, message: str) -> float:
        """Forget a message that left the view; gives back its amount, 0 if it had none."""
        tokens = self.tokens.pop(message, 0.0)
        rests = self.rests.pop(message, NOTHING_COUNTED)
        self.all -= tokens
        if message in self.in_turn:
            self.in_turn.discard(message)
            self.turn -= tokens
            self.turn_rests = self.turn_rests.plus(rests, -1)
        if message in self.with_calls:
            self.with_calls.discard(message)
            self.calling -= tokens
        return tokens

    def begin_turn(self) -> None:
        """A user message: what came before belongs to earlier turns."""
        self.turn = self.calling = 0.0
        self.turn_rests = NOTHING_COUNTED
        self.in_turn.clear()
        self.with_calls.clear()

    def sent(self, policy: ReasoningPolicy) -> dict[str, float]:
        """The amounts by message that the application's policy lets go out, outside of an open tool loop."""
        if not policy.include_in_context or policy.strip == "all":
            return {}
        names = list(self.tokens)
        if policy.strip == "all_but_last":
            names = names[-1:]
        return {name: self.tokens[name] for name in names}

    def counted(
        self,
        policy: ReasoningPolicy,
        *,
        in_loop: bool,
        across_turns: bool,
        user_turn: bool,
        needed: bool = False,
        unsent_too: bool = False,
        without: str = "",
    ) -> float:
        """Tokens of reasoning in the next input, those of the message ``without`` left out.

        ``in_loop`` and ``across_turns``: whether the provider counts what is sent back inside a tool loop, and from
        earlier turns. ``user_turn``: the next request begins a turn, so that the current one is over. ``needed``: the
        wire rejects a tool loop without its reasoning, which then wins over the policy inside that loop.
        ``unsent_too``: the provider counts what was not sent back as well.
        """
        of_turn = across_turns if user_turn else in_loop
        if unsent_too or (policy.include_in_context and policy.strip == "none"):
            counted = 0.0
            if of_turn:
                counted += self.turn
            if across_turns:
                counted += self.all - self.turn
            return counted - self._amount(without, of_turn, across_turns)
        is_forced = needed and not user_turn
        counted = 0.0
        if is_forced and of_turn:
            counted = self.calling
            if without in self.with_calls:
                counted -= self.tokens[without]
        if policy.include_in_context and policy.strip == "all_but_last" and self.tokens:
            last = next(reversed(self.tokens))
            is_there = last == without or (is_forced and last in self.with_calls)
            if not is_there:
                counted += self._amount(last, of_turn, across_turns)
        return counted

    def _amount(self, message: str, of_turn: bool, across_turns: bool) -> float:
        """What of a message's reasoning is counted, if that of the current turn and of earlier turns is or is not."""
        is_counted = of_turn if message in self.in_turn else across_turns
        return self.tokens.get(message, 0.0) if is_counted else 0.0
