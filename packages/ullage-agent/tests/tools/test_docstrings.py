from hypothesis import given
from hypothesis import strategies as st

from ullage_agent.tools.docstrings import read_docstring

GOOGLE = """The forecast for a city.

    It may be wrong.

    Args:
        city: Its name,
            in English.
        days (int, optional): How many
          days ahead: at most 7.
        *more: Others.

    Returns:
        What to wear.

    Raises:
        ValueError: For no city.
    """

NUMPY = """The forecast for a city.

    Parameters
    ----------
    city : str
        Its name,
        in English.
    days, hours : int, optional
        How many ahead.

    Returns
    -------
    str
        What to wear.

    Raises
    ------
    ValueError
        For no city.
    """

REST = """The forecast for a city.

    :param city: Its name,
        in English.
    :param int days: How many ahead.
    :type city: str
    :returns: What to wear.
    :raises ValueError: For no city.
    """


def test_google_s_style_is_read() -> None:
    described = read_docstring(GOOGLE)
    assert described.parameters == {
        "city": "Its name, in English.",
        "days": "How many days ahead: at most 7.",
        "more": "Others.",
    }
    assert (
        described.text
        == "The forecast for a city.\n\nIt may be wrong.\n\nReturns:\n    What to wear."
    )


def test_numpy_s_style_is_read() -> None:
    described = read_docstring(NUMPY)
    assert described.parameters == {
        "city": "Its name, in English.",
        "days": "How many ahead.",
        "hours": "How many ahead.",
    }
    assert described.text.startswith("The forecast for a city.\n\nReturns\n-------\nstr")
    assert "ValueError" not in described.text


def test_rest_style_is_read() -> None:
    described = read_docstring(REST)
    assert described.parameters == {
        "city": "Its name, in English.",
        "days": "How many ahead.",
    }
    assert described.text == "The forecast for a city.\n\nReturns: What to wear."


def test_text_behind_a_google_section_is_kept() -> None:
    described = read_docstring("Do it.\n\nArgs:\n    a: One.\n\nMind the gap.")
    assert described == ("Do it.\n\nMind the gap.", {"a": "One."})


def test_any_other_text_is_the_description() -> None:
    assert read_docstring(None) == read_docstring("") == ("", {})
    for text in ("One line: with a colon.", "Say it.\n\nNote that:\nthis stays."):
        assert read_docstring(text) == (text, {})


@given(st.text(alphabet="aAr:gs-\n \t*().@P", max_size=200))
def test_no_docstring_makes_it_fail(docstring: str) -> None:
    read_docstring(docstring)
