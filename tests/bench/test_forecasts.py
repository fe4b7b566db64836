from bench.forecasts import TEN, Trial, stretches, table
from tests.advice.story import Story, prose
from ullage.events import CompactionCommitted


def test_a_session_is_cut_into_stretches_at_its_compactions() -> None:
    story = Story().user("go")
    for _ in range(2):
        story.user(prose(40)).chat(5)
        story.then(CompactionCommitted(compaction=f"k{story.calls}", is_automatic=True))
    story.chat(3)
    first, second = stretches(story.billed())
    assert [len(first.starts), len(second.starts)] == [5, 5]
    assert first.first < first.end < second.first
    assert first.is_automatic


def test_a_row_tells_how_often_the_forecast_was_close_and_its_interval_held() -> None:
    said = Trial("codex", TEN, True, 10, 11, 8, 20, 14.0, 10.0)
    rows = table("x", [said, said._replace(said=30, low=11)]).rows
    assert rows == (("codex, 10 calls left", "2", "10", "50", "50", "10", "0", "100"),)
