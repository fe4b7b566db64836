from tests.house.pages import ROOT
from ullage.runtime.settings_table import table


def test_the_documentation_shows_the_table_as_it_is_made() -> None:
    assert table() in (ROOT / "docs" / "settings.md").read_text("utf-8")


def test_a_row_says_key_meaning_default_unit_and_where() -> None:
    rows = table().splitlines()
    assert (
        "| `flush_bytes` | the most of it that waits to be stored | 1024 | bytes, at most 1,024 | everywhere |" in rows
    )
    assert all(row.count("|") == 6 for row in rows)
