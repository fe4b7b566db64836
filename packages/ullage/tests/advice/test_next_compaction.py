"""When the next compaction comes, and what it takes: by the program's rule, or by our own plan."""

from typing import Any

from tests.advice.story import Story, prose
from ullage.advice.history import history_of
from ullage.advice.next_compaction import NextCompaction, next_compaction
from ullage.events import CompactionCommitted, SettingsChanged
from ullage.meter.meter import Meter


def planned(story: Story, window: int = 200_000) -> NextCompaction:
    events = story.billed()
    meter = Meter(window=window)
    found = next_compaction(history_of(events, meter), meter, events)
    assert found is not None
    return found


def steady(program: str, steps: int = 10) -> Story:
    story = Story(program=program).user("go")
    for _ in range(steps):
        story.user(prose(100)).answer("done")
    return story


def test_claude_code_summarises_every_message() -> None:
    found = planned(steady("claude-code 2.1.100"))
    assert found.by == "Claude Code"
    assert found.leaves is not None and found.stays is not None
    assert found.leaves > 10 * found.stays


def test_pi_keeps_the_newest_20_000_tokens() -> None:
    found = planned(steady("pi 0.87.1", 40))
    assert found.leaves is not None and found.stays is not None
    assert 19_000 <= found.stays <= 21_500


def test_codex_keeps_the_newest_messages_of_a_person() -> None:
    found = planned(steady("codex 0.169.0", 40))
    assert found.stays is not None
    assert 18_000 <= found.stays <= 21_500


def test_of_a_program_without_a_known_rule_only_the_moment_is_said() -> None:
    found = planned(steady("opencode 1.18.33"))
    assert found.leaves is None
    assert found.left is not None


def test_our_own_sessions_are_planned_by_the_strategies() -> None:
    found = planned(steady("ullage 0.1", 30), window=40_000)
    assert found.leaves
    assert found.is_summary


def test_steady_growth_tells_the_calls_left_within_its_interval() -> None:
    found = planned(steady("claude-code 2.1.100"))
    assert found.left is not None
    left, low, high = found.left.calls, found.left.low, found.left.high
    assert high is not None
    assert low <= left <= high
    further = steady("claude-code 2.1.100", 10 + left)
    meter = Meter(window=200_000)
    history_of(further.billed(), meter)
    room = meter.reading().until_compaction
    assert room is not None
    assert abs(room) <= 2 * found.left.growth


def test_growth_over_a_compaction_is_no_growth() -> None:
    story = steady("claude-code 2.1.100")
    before = planned(story)
    gone = tuple(f"c{n}.a" for n in range(1, 9))
    story.then(CompactionCommitted(compaction="k", summarised=gone)).chat(1)
    after = planned(story)
    assert before.left and after.left
    assert abs(before.left.growth - after.left.growth) < 0.2 * before.left.growth


def test_two_calls_are_too_few_to_tell_the_growth() -> None:
    found = planned(Story().user("go").chat(1))
    assert found.left is None


def test_our_own_plan_clears_old_results_where_that_is_enough() -> None:
    story = Story(program="ullage 0.1").user("go")
    for _ in range(40):
        story.tool("read", '{"path":"/a"}', prose(150))
    found = planned(story, window=80_000)
    assert not found.is_summary
    assert found.leaves is not None and found.stays is not None
    assert found.leaves > 10_000


def test_a_session_whose_settings_name_other_strategies_is_planned_by_these() -> None:
    story = steady("ullage 0.1", 30)
    story.then(SettingsChanged(settings={"strategy": ["prune"], "keep": 0.2}))
    found = planned(story, window=40_000)
    assert found.leaves == 0
    story.then(SettingsChanged(settings={"strategy": 7, "keep": "much"}))
    again = planned(story, window=40_000)
    assert again.leaves


def test_our_own_plan_keeps_as_many_results_as_the_session_protects() -> None:
    leaves: list[int] = []
    chosen: tuple[dict[str, Any], ...] = (
        {"protect_tokens": 5_000},
        {},
        {"protect_tokens": -1, "keep": 5.0},
    )
    for settings in chosen:
        story = Story(program="ullage 0.1").user("go")
        story.then(SettingsChanged(settings=settings))
        for number in range(40):
            story.tool("read", f'{{"path":"/{number}"}}', prose(150))
        found = planned(story, window=80_000)
        assert found.leaves
        leaves.append(found.leaves)
    assert leaves[0] > leaves[1] + 5_000
    assert leaves[2] == leaves[1]
