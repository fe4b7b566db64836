from scripts.make_reference import PAGE, page


def test_the_reference_says_what_the_docstrings_say() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "run: uv run python -m scripts.make_reference"
    )
