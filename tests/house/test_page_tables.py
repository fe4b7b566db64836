import pytest

from scripts.page_tables import DOCS, made_pages


@pytest.mark.parametrize(("name", "text"), made_pages().items())
def test_a_made_page_is_as_the_code_has_it(name: str, text: str) -> None:
    """Run: uv run python -m scripts.page_tables."""
    assert text == (DOCS / name).read_text("utf-8")
