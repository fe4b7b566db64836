"""Which share of an answer's reasoning the next input holds, for each reasoning rule, from recorded pairs of calls.

    uv run python -m bench.reasoning_rules PAIRS ... [--against]

A rule (``models/reasoning.json``) is judged inside a tool loop and at a turn's begin, by clean pairs without media
whose first call reports reasoning: the share is what the truth leaves beside the estimate, nothing being learnt. A pair
contradicts the rule where the share is nearer to the other way. ``--against`` names these.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.evaluate import Replay, rows_of
from bench.recorded import Pair, is_pair, pair_of
from ullage.messages import ReasoningPart, ToolCallPart
from ullage.reasoning import ReasoningRule, begins_turn, rule_for

LEAST: Final = 20
"""Tokens of reasoning from which on a share can be told from the estimate's error."""


class Judged(NamedTuple):
    """What is judged together: a rule, the situation, and the form in which reasoning is sent back."""

    rule: str
    begins: bool
    form: str


class Share(NamedTuple):
    """Of one pair's reasoning, the share in the next input, and what the rule says."""

    judged: Judged
    pair: str
    share: float
    expected: bool

    @property
    def is_against(self) -> bool:
        return (self.share < 0.5) is self.expected


def shares_in(path: Path) -> Iterator[Share]:
    """The shares of one file's pairs."""
    replay = Replay(learns=False)
    for row in rows_of(path):
        if not is_pair(row):
            continue
        pair = pair_of(row)
        made = replay.pair(pair)
        reported = pair.usage.reasoning or 0
        if made.truth is None or pair.has_media or not pair.is_clean or reported < LEAST:
            continue
        first = pair.first
        rule = rule_for(first.wire, first.provider, first.model, stream=first.stream)
        roles = {message.role for message in pair.new}
        begins = begins_turn(rule, user_turn="user" in roles, tool_turn="tool" in roles)
        form = form_of(pair, rule)
        is_in_form = form == "sent" or (form == "unsent" and rule.even_unsent)
        expected = is_in_form and (rule.turns if begins else rule.loop)
        share = expected + (made.truth - made.predicted) / reported
        yield Share(Judged(rule.name, begins, form), pair.id, share, expected)


def form_of(pair: Pair, rule: ReasoningRule) -> str:
    """How the second request holds the answer's reasoning."""
    calls = [part for part in pair.returned if isinstance(part, ToolCallPart)]
    thoughts = [part for part in pair.returned if isinstance(part, ReasoningPart)]
    if not thoughts and not any(part.opaque_size for part in calls):
        return "unsent"
    is_encrypted = any(part.opaque_size for part in thoughts)
    has_needed = {"": True, "call": bool(calls), "encrypted": is_encrypted}
    return "sent" if has_needed[rule.needs] else "in another form"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("paths", type=Path, nargs="+")
    arguments.add_argument("--against", action="store_true")
    options = arguments.parse_args()
    found: defaultdict[Judged, list[Share]] = defaultdict(list)
    for path in options.paths:
        for share in shares_in(path):
            found[share.judged].append(share)
    for judged, shares in sorted(found.items()):
        against = [share for share in shares if share.is_against]
        middle = median(share.share for share in shares)
        situation = "turn" if judged.begins else "loop"
        print(
            f"{len(shares):4} pairs, {len(against):2} against, median {middle:5.2f}: "
            f"{situation}, {judged.form}, {judged.rule}"
        )
        if options.against:
            print(
                *(f"       {each.share:5.2f} {each.pair}" for each in against), sep="\n"
            )


if __name__ == "__main__":
    main()
