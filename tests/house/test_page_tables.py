import pytest

from scripts.page_tables import paths_table, providers_table
from tests.house.pages import ROOT


@pytest.mark.parametrize(
    ("page", "table"), [("http.md", paths_table()), ("wire.md", providers_table())]
)
def test_a_page_shows_the_table_as_the_code_has_it(page: str, table: str) -> None:
    """Run: uv run python -m scripts.page_tables."""
    assert table in (ROOT / "docs" / page).read_text("utf-8")
