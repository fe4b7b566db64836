"""Long files of the project are pages of the site, a page for each section, and the first one leads to them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scripts.site_pages import on_page_markdown
from scripts.split_pages import SPLIT, pages


@pytest.mark.parametrize("name", SPLIT)
def test_the_first_page_of_a_split_file_leads_to_all_others(name: str) -> None:
    first, *others = pages(name).items()
    page = SimpleNamespace(file=SimpleNamespace(src_uri=first[0]))
    shown = on_page_markdown(first[1], page, None, None)
    assert len(others) > 5
    for place, text in others:
        title = text.partition("\n")[0].removeprefix("# ")
        assert f"[{title}]({place.removeprefix('project/')})" in shown
