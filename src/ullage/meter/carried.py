"""The reasoning in the window, and how much of it the next input counts.

Amounts are tokens by message, reported where the provider said them and estimated where not. Which of them count is
the product of two rules: what the provider keeps (``ullage.reasoning``) and what the application sends (seed 004).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.meter.growth import NOTHING_COUNTED, Counted
from ullage.reasoning import ReasoningPolicy


@dataclass(slots=True)
class Carried:
    """Reasoning by message, in order, with running sums: every question is answered without going through it."""

    tokens: dict[str, float] = field(default_factory=dict)
    all: float = 0.0
    turn: float = 0.0
    in_turn: set[str] = field(default_factory=set)
    rests: dict[str, Counted] = field(default_factory=dict)
    """The answers by whose counted text an amount was had, and not from the provider."""
    turn_rests: Counted = NOTHING_COUNTED
    """All of these in the current turn."""

    def put(self, message: str, tokens: float, rests: Counted = NOTHING_COUNTED) -> None:
        """Set the amount of a message, and what it rests on; it belongs to the current turn if it is new."""
        if message not in self.tokens or message in self.in_turn:
            self.turn_rests += rests - self.rests.get(message, NOTHING_COUNTED)
        if rests != NOTHING_COUNTED:
            self.rests[message] = rests
        else:
            self.rests.pop(message, None)
        if message in self.tokens:
            difference = tokens - self.tokens[message]
            self.all += difference
            self.turn += difference if message in self.in_turn else 0.0
        else:
            self.in_turn.add(message)
            self.all += tokens
            self.turn += tokens
        self.tokens[message] = tokens

    def remove(self, message: str) -> float:
        """Forget a message that left the view; gives back its amount, 0 if it had none."""
        tokens = self.tokens.pop(message, 0.0)
        rests = self.rests.pop(message, NOTHING_COUNTED)
        self.all -= tokens
        if message in self.in_turn:
            self.in_turn.discard(message)
            self.turn -= tokens
            self.turn_rests -= rests
        return tokens

    def begin_turn(self) -> None:
        """A user message: what came before belongs to earlier turns."""
        self.turn = 0.0
        self.turn_rests = NOTHING_COUNTED
        self.in_turn.clear()

    def counted(
        self,
        policy: ReasoningPolicy,
        *,
        in_loop: bool,
        across_turns: bool,
        user_turn: bool,
        needed: bool = False,
        without: str = "",
    ) -> float:
        """Tokens of reasoning in the next input, those of the message ``without`` left out.

        ``in_loop`` and ``across_turns``: whether the provider counts what is sent back inside a tool loop, and from
        earlier turns. ``user_turn``: the next request begins a turn, so that the current one is over. ``needed``: the
        wire rejects a tool loop without its reasoning, which then wins over the policy inside that loop.
        """
        sent_all = policy.include_in_context and policy.strip == "none"
        sent_last = policy.include_in_context and policy.strip == "all_but_last"
        over = user_turn or not in_loop
        if sent_all and across_turns:
            if over and not user_turn:
                return self.all - self.turn - (0.0 if without in self.in_turn else self.tokens.get(without, 0.0))
            return self.all - self.tokens.get(without, 0.0)
        in_turn = 0.0
        if not over and (sent_all or needed):
            in_turn = self.turn - (self.tokens.get(without, 0.0) if without in self.in_turn else 0.0)
        elif sent_last:
            last = next(reversed(self.tokens), "")
            counts = last in self.in_turn and not over
            if last != without and (counts or (across_turns and (user_turn or last not in self.in_turn))):
                return self.tokens.get(last, 0.0)
        return in_turn
