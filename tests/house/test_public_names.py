import ast
import inspect
from pathlib import Path

import ullage

PUBLIC = [
    "InputError",
    "Message",
    "Meter",
    "Reading",
    "ReasoningPolicy",
    "Request",
    "Spend",
    "Tool",
    "UllageError",
    "Usage",
]
"""By hand: adding one is a promise, removing one breaks somebody."""


def test_the_public_names_are_the_ones_listed_here() -> None:
    assert sorted(ullage.__all__) == PUBLIC


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in PUBLIC if not inspect.getdoc(getattr(ullage, name))] == []


def test_the_package_holds_its_public_names_and_nothing_else() -> None:
    source = Path(inspect.getfile(ullage)).read_text("utf-8")
    docstring, *statements = ast.parse(source).body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(each, ast.ImportFrom | ast.Assign) for each in statements)
    imported = {name.name for each in statements if isinstance(each, ast.ImportFrom) for name in each.names}
    assert imported == set(PUBLIC)
