import pytest

from tests.cli.readings import MESSAGES, QUARTER_FULL, reading, row
from ullage.cli.table import Cells, aligned, basis_terms, source_of, table_of
from ullage.display.text import plain
from ullage.meter.reading import Basis, Reading, Used


def lines(of: Reading, width: int = 100, *, every_row: bool = False) -> list[str]:
    return [plain(line) for line in table_of(of, width, every_row=every_row)]


def test_children_that_do_not_fit_are_one_line_that_says_how_to_see_them() -> None:
    many = row(
        "Messages", 5_000, children=tuple(row(f"tool {n}", 100 + n) for n in range(20))
    )
    table = lines(reading(rows=(many,)))
    assert table[8].split("  ")[1] == "13 more"
    assert "--rows lists them" in table[8]
    assert len(lines(reading(rows=(many,)), every_row=True)) == len(table) + 12


def test_single_tools_stand_in_the_note_and_servers_in_lines_of_their_own() -> None:
    server = row(
        "MCP files (2)", 700, children=(row("mcp_read", 400), row("mcp_write", 300))
    )
    tools = row("Tools (3)", 1_000, children=(server, row("bash", 300)))
    assert any(
        line.startswith("  MCP files (2)")
        for line in lines(reading(rows=(tools, MESSAGES)))
    )
    assert not any(line.startswith("  browser") for line in lines(QUARTER_FULL))


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (14, 286, "estimated, 14 to 286"),
        (1, 150, "estimated, 1 to 150"),
        (100, 160, "estimated ± 40"),
        (139, 141, "estimated ± 1"),
        (138, 180, "estimated, 138 to 180"),
        (140, 140, "estimated"),
    ],
)
def test_a_wide_interval_is_shown_as_its_ends(low: int, high: int, shown: str) -> None:
    assert source_of(row("Bash", 140, low=low, high=high)) == shown


def test_a_part_with_the_source_of_its_row_shows_its_interval_alone() -> None:
    tools = row("Tools", 500, low=400, high=600)
    assert source_of(row("Bash", 140, low=130, high=150), tools) == "± 10"


def test_an_empty_child_is_left_out_unless_every_row_is_asked_for() -> None:
    rows = (row("Messages", 10, children=(row("User", 10), row("Media", 0))),)
    assert not any("Media" in line for line in lines(reading(rows=rows)))
    assert any("Media" in line for line in lines(reading(rows=rows), every_row=True))


def test_past_the_compaction_point_nothing_is_left_until_it() -> None:
    past = reading(used=Used(tokens=170_000, low=169_000, high=171_000), free=14_000)
    assert not any("until compaction" in line for line in lines(past))
    assert any(
        "auto-compact buffer     14,000" in " ".join(line.split()) or "14,000" in line
        for line in lines(past)
    )


def test_the_formula_names_its_terms_with_their_signs() -> None:
    basis = Basis(
        last_input=50_000,
        last_output=2_000,
        new=100,
        changed=-30,
        removed=-900,
        label="after compaction",
    )
    assert " ".join(basis_terms(basis)) == (
        "50,000 last input + 2,000 last output + 100 new (estimated) - 30 changed (estimated) "
        "- 900 removed (estimated) (after compaction)"
    )


def test_names_and_wide_characters_stay_aligned() -> None:
    table = aligned(
        [Cells(name="日本語", tokens="5"), Cells(name="abc", tokens="1,000")], 80
    )
    assert [plain(line) for line in table] == ["日本語      5", "abc     1,000"]


def test_a_name_that_is_far_too_long_is_cut() -> None:
    assert "…" in plain(aligned([Cells(name="x" * 300, tokens="5")], 80)[0])
