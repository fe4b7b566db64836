import pytest

from ullage_programs.facts import ClientLimit
from ullage_programs.line.drawing import LineContent, amount, draw
from ullage_programs.line.settings import LineSettings


def content(
    tokens: int | None = 154_000,
    *,
    is_reported: bool = True,
    window: int = 200_000,
    threshold: ClientLimit | None = None,
    largest: int = 12_000,
    largest_name: str = "Read notes.md",
    is_compacted: bool = False,
) -> LineContent:
    return LineContent(
        tokens=tokens,
        is_reported=is_reported,
        window=window,
        threshold=threshold,
        largest=largest,
        largest_name=largest_name,
        cost=0.684,
        is_compacted=is_compacted,
    )


def line(shown: LineContent, **settings: object) -> str:
    return draw(shown, LineSettings({"color": False, **settings}))


AT_167 = ClientLimit(167_000, "documented", "")


def test_the_line_shows_the_next_call_the_room_the_largest_result_and_the_cost() -> None:
    assert line(content(threshold=AT_167)) == (
        "█████████░│░ next 154k/200k (77 %) · 13k to compaction~ · largest Read notes.md 12k · $0.68"
    )


def test_an_observed_threshold_has_no_tilde() -> None:
    seen = ClientLimit(167_000, "observed", "")
    assert "13k to compaction ·" in line(content(threshold=seen))


def test_a_size_that_no_report_supports_has_a_tilde() -> None:
    assert "next ~154k/200k" in line(content(is_reported=False))


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (150_000, 158_000, "(77 %) ·"),
        (130_000, 170_000, "(77 %), ± 24k ·"),
        (150_000, 190_000, "(77 %), 150k to 190k ·"),
    ],
)
def test_an_interval_is_shown_where_it_is_wide(low: int, high: int, shown: str) -> None:
    assert shown in line(content()._replace(low=low, high=high))
    assert "±" not in line(content()._replace(low=low, high=high), ascii=True)


def test_beyond_the_threshold_compaction_is_due() -> None:
    assert "compaction is due~" in line(content(168_000, threshold=AT_167))


def test_without_automatic_compaction_the_window_is_the_end() -> None:
    end = ClientLimit(None, "settings", "turned off")
    assert "46k to the end" in line(content(threshold=end))


def test_after_a_compaction_the_line_says_when_the_size_will_be_known() -> None:
    shown = line(content(None, is_compacted=True, largest=0))
    assert shown == "compacted, size known at the next answer · $0.68"


def test_before_the_first_answer_the_line_says_so() -> None:
    assert line(content(None, largest=0)) == "size known at the first answer · $0.68"


def test_without_a_window_only_tokens_are_shown() -> None:
    assert line(content(window=0, largest=0)) == "next 154k · $0.68"


def test_a_small_largest_result_is_not_worth_a_place() -> None:
    assert "largest" not in line(content(largest=3_000))


@pytest.mark.parametrize(
    ("tokens", "color"), [(60_000, "32"), (120_000, "33"), (160_000, "31")]
)
def test_the_color_follows_the_way_to_compaction(tokens: int, color: str) -> None:
    drawn = draw(content(tokens, threshold=AT_167), LineSettings({}))
    assert drawn.startswith(f"\x1b[{color}m")


def test_items_are_shown_in_the_order_of_the_settings() -> None:
    assert line(content(), items=["cost", "next"]) == "$0.68 · next 154k/200k (77 %)"


def test_without_unicode_the_line_is_ascii() -> None:
    assert line(content(threshold=AT_167), ascii=True).isascii()


def test_control_characters_of_a_file_name_do_not_reach_the_terminal() -> None:
    shown = line(content(largest_name="Read \x1b[2Jno\r\ntes.md\u202e"))
    assert "Read [2Jnotes.md 12k" in shown


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (940, "940"),
        (1_240, "1.2k"),
        (9_951, "10k"),
        (153_600, "154k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_000_000, "1M"),
        (1_250_000, "1.2M"),
    ],
)
def test_amounts_are_short(tokens: int, words: str) -> None:
    assert amount(tokens) == words
