import pytest

from ullage.cli.window_events import window_line, window_sentence
from ullage.display.text import plain
from ullage.events import (
    CompactionCommitted,
    CompactionRolledBack,
    CompactionStarted,
    DroppedMessage,
    Event,
    LimitLearnt,
    ModelChanged,
    Pruned,
    Rewound,
    TurnStarted,
    Uncompacted,
)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Pruned(parts=("a",), before=9_000, after=4_000), "pruned: 1 old tool result cleared, 9,000 -> 4,000 tokens"),
        (Pruned(parts=("a", "b")), "pruned: 2 old tool results cleared"),
        (CompactionStarted(compaction="c", trigger="point"), "making room: the compaction point is reached"),
        (CompactionStarted(compaction="c", trigger=""), "making room"),
        (
            CompactionCommitted(compaction="c", summarised=("a", "b"), rung="summary", before=5, after=3),
            "compacted: 2 messages became a summary, 5 -> 3 tokens",
        ),
        (
            CompactionCommitted(compaction="c", dropped=(DroppedMessage(id="a", reason="r"),), rung="drop"),
            "compacted: 1 message became nothing: the oldest were left out",
        ),
        (CompactionCommitted(compaction="c", rung="trim"), "compacted: what is kept became shorter ones"),
        (CompactionRolledBack(compaction="c", reason="refused", note="Why."), "not compacted (refused): Why."),
        (CompactionRolledBack(compaction="c", reason="refused", rung="summary"), ""),
        (Uncompacted(compaction="c"), "undone: c, the view from before it is back"),
        (Rewound(to="m"), "rewound: later messages left the view"),
        (ModelChanged(model="m\x1b[2J"), "model: m [2J"),
        (LimitLearnt(model="m", source="error", window=32_000), "window: 32,000 tokens (the error says)"),
        (LimitLearnt(model="m", source="user", window=32_000), ""),
        (TurnStarted(turn="t"), ""),
    ],
)
def test_each_event_that_changes_the_window_is_one_line(event: Event, said: str) -> None:
    assert plain(window_line(event)) == (f"  {said}" if said else "")
    sentence = window_sentence(event)
    assert ("" if sentence is None else sentence.text) == said
