import pytest

from scripts.leftovers import leftovers, machine_paths


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # TODO: two",
        "# FIXME\n",
        '"""XXX"""',
        "raise NotImplementedError",
        "raise SystemExit('not implemented')",
        "# Good enough for now.",
        '"""A stub of the reader."""',
        "# placeholder until the table is there",
        '"""Returns a placeholder."""',
        "x = 'This placeholder stays'",
        "# The output comes later. A placeholder.",
    ],
)
def test_a_planted_leftover_is_found(source: str) -> None:
    assert len(list(leftovers(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "usage.placeholder",
        "Usage(placeholder=True)",
        "placeholder: bool = False",
        '"""True when ``output`` is known to be a streaming placeholder, not a count."""',
        '"""Its output is a placeholder when the final count never came."""',
        "# An output placeholder says nothing of the answer's length.",
        '"""``placeholder=True`` says that its output is not a count."""',
        "row['placeholder']",
        '"""No count but a streaming placeholder. The highest placeholder was 0.4."""',
        "name = 'TodoWrite'",
        "return NotImplemented",
        "x = ''",
    ],
)
def test_the_words_of_the_domain_are_no_leftovers(source: str) -> None:
    assert list(leftovers(source)) == []


def test_a_leftover_is_found_on_its_own_line() -> None:
    source = '"""One.\n\n``placeholder`` and\noutput placeholders;\nfor now\n"""\n'
    assert [each.line for each in leftovers(source)] == [5]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see /build/cask/notes.txt", True),
        ('path = "/build/cask"', True),
        ("see /build/casket", False),
        ("https://example.com/build/cask/", False),
        ("../build/cask/", False),
    ],
)
def test_a_path_of_the_machine_is_found_and_a_longer_name_is_not(
    line: str, found: bool
) -> None:
    assert bool(list(machine_paths(line, ["/build/cask"]))) is found
