from scripts.house_picture import drawn
from scripts.repository import ROOT


def test_the_picture_of_the_house_is_the_one_that_is_checked() -> None:
    kept = (ROOT / "docs" / "images" / "house.svg").read_text("utf-8")
    assert kept == drawn(), "run `uv run python -m scripts.house_picture`"
