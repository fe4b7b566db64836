import io

from rich.console import Console

from tests.cli.readings import OVER_FULL, QUARTER_FULL, UNKNOWN_WINDOW, reading
from ullage.meter.reading import Reading, Used


def printed(shown: Reading, **options: object) -> str:
    out = io.StringIO()
    Console(file=out, width=100, **options).print(shown)  # type: ignore[arg-type]
    return out.getvalue()


def test_a_reading_is_one_line_of_text() -> None:
    assert (
        str(QUARTER_FULL)
        == "52,100 ± 140 of 200,000 tokens (26 %), 107,760 until compaction"
    )
    assert str(UNKNOWN_WINDOW) == "52,100 ± 140 tokens, window unknown"
    assert str(OVER_FULL).endswith("compaction due")


def test_rich_draws_the_gauge_over_the_width_of_the_console() -> None:
    line = printed(QUARTER_FULL)
    assert (
        "█" in line
        and "52,100" in line
        and len(line.rstrip()) <= 100
        and line.count("\n") == 1
    )
    assert "\x1b[" in printed(QUARTER_FULL, force_terminal=True)


def test_a_notebook_shows_the_gauge_as_html() -> None:
    html = QUARTER_FULL._repr_html_()
    assert html.startswith("<pre") and "52,100" in html and "█" in html


def test_an_exact_number_has_no_interval() -> None:
    exact = reading(used=Used(tokens=10, low=10, high=10))
    assert str(exact).startswith("10 of 200,000 tokens")
