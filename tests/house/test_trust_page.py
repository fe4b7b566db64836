import re

from tests.house.pages import ROOT


def test_every_test_that_the_page_on_trust_names_is_there() -> None:
    named = re.findall(
        r"`(tests/[^`]+)::(\w+)`", (ROOT / "docs/why/trust.md").read_text("utf-8")
    )
    assert named
    missing = [
        name
        for path, name in named
        if f"def {name}(" not in (ROOT / path).read_text("utf-8")
    ]
    assert missing == []
