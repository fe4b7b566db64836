"""Each message that the page on troubleshooting quotes is made by the program's source."""

import ast
import re

from scripts.house.messages import VALUE, text_of
from scripts.house.pages import ROOT
from scripts.house.source import of_ullage

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
QUOTED = re.findall(r"^### `([^`]+)`", PAGE, re.MULTILINE)


def test_each_quoted_message_is_one_of_the_program() -> None:
    texts = (
        text_of(node)
        for source in of_ullage()
        for node in source.nodes
        if isinstance(node, ast.JoinedStr | ast.Constant)
    )
    made = "\n".join(texts).replace(VALUE, "…")
    assert QUOTED
    assert [message for message in QUOTED if message not in made] == []
    assert "The cask … is empty. Fill it." not in made
