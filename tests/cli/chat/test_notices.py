from __future__ import annotations

import pytest

from ullage.cli.chat.notices import notice
from ullage.display.text import plain
from ullage.events import (
    Amount,
    CallEnded,
    CallRetried,
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    DroppedMessage,
    Event,
    Forked,
    GrantGiven,
    GrantRevoked,
    Imported,
    LimitLearnt,
    ModelChanged,
    Pinned,
    Pruned,
    QueueLeft,
    ReadingTaken,
    RequestRepaired,
    Rewound,
    RuleFlipped,
    SettingsChanged,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
    Uncompacted,
)

SHOWN: list[tuple[Event, str]] = [
    (
        CompactionStarted(compaction="c", trigger="point", high=16_100, limit=16_000),
        "making room: the compaction point is reached, 16,100 of 16,000",
    ),
    (CompactionStarted(compaction="c", trigger="asked"), "making room: asked for"),
    (
        CompactionCommitted(
            compaction="c", summarised=("a", "b"), dropped=(DroppedMessage(id="d", reason="old"),), before=9_000,
            after=1_200, rung="summary",
        ),
        "compacted: 3 messages became a summary, 9,000 -> 1,200 tokens · /uncompact undoes it",
    ),
    (CompactionRolledBack(compaction="c", reason="longer", note="It grew."), "not compacted (longer): It grew."),
    (
        Pruned(parts=("a", "b"), before=900, after=100, rewritten=100),
        "pruned: 2 old tool results cleared, 900 -> 100 tokens, 100 written to the cache anew · /uncompact undoes it",
    ),
    (Pruned(parts=("a",)), "pruned: 1 old tool result cleared · /uncompact undoes it"),
    (Uncompacted(compaction="c-1"), "undone: c-1, the view from before it is back"),
    (Rewound(to="m"), "rewound: later messages left the view and stay in the ledger"),
    (ModelChanged(model="m"), "model: m"),
    (
        CallRetried(call="c", attempt=1, wait_s=2, error="Overloaded."),
        "Overloaded. · trying again in 2.0 s (attempt 2)",
    ),
    (CallEnded(call="c", outcome="failed", error="No key."), "No key."),
    (CallEnded(call="c", outcome="failed", error="No.", purpose="summary"), "summary call: No."),
    (
        GrantGiven(grant="g", tool="shell", prefix=("git", "log")),
        "allowed in this session: shell: git log … · /grants lists them",
    ),
    (GrantRevoked(grant="g"), "a grant of this session was revoked"),
    (
        TurnPaused(turn="t", reason="budget", note="1.00 of 1.00 dollars"),
        "paused (budget): 1.00 of 1.00 dollars · /retry goes on with the budget counted anew",
    ),
    (TurnResumed(turn="t"), "going on"),
    (TurnEnded(turn="t", reason="max_steps", note="100"), "ended, the limit of steps is reached: 100"),
    (QueueLeft(message_id="m", how="returned"), "given back, not sent: a message that waited"),
    (QueueLeft(message_id="m", how="withdrawn"), "withdrawn: a message that waited"),
    (LimitLearnt(model="m", source="error", window=8_000), "window: 8,000 tokens (the error says)"),
    (SettingsChanged(settings={"tools": ["a", "b"], "effort": None}), "set: tools = a,b, effort = default"),
    (Pinned(messages=("m",)), "pinned: 1 message"),
    (Pinned(messages=("m",), pinned=False), "no longer pinned: 1 message"),
    (Forked(origin="s-1", through=12), "begun as a copy of s-1, up to its event 12"),
    (
        Imported(origin="s-1", dropped=("the setting base_url", "an unfinished turn")),
        "imported from s-1, without the setting base_url, an unfinished turn",
    ),
    (RequestRepaired(call="c", repairs=("an id", "a pair")), "put right in the request: an id; a pair"),
    (
        RuleFlipped(model="m", rule="r", kept=False, residual=-300),
        "the provider's numbers show: earlier reasoning is not counted here",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "line"), SHOWN, ids=lambda value: type(value).__name__)
def test_what_people_should_know_is_a_line_with_its_numbers(event: Event, line: str) -> None:
    assert plain(notice(event)) == line


@pytest.mark.parametrize(
    "event",
    [
        TurnStarted(turn="t"),
        TurnEnded(turn="t"),
        TurnEnded(turn="t", reason="cancelled"),
        TurnPaused(turn="t", reason="approval"),
        QueueLeft(message_id="m", how="delivered"),
        CallEnded(call="c"),
        SettingsChanged(settings={"a": 1}, source="resolved"),
        CompactionRolledBack(compaction="c", reason="longer", rung="summary"),
        ReadingTaken(snapshot="s", used=Amount(tokens=1, low=1, high=1)),
    ],
)
def test_what_is_shown_elsewhere_or_means_nothing_to_people_is_no_line(event: Event) -> None:
    assert notice(event) == ()


def test_foreign_text_in_a_line_moves_no_cursor() -> None:
    line = plain(notice(CallEnded(call="c", outcome="failed", error="bad\x1b[2J\nkey")))
    assert line.isprintable()
