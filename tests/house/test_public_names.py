import ast
import inspect
from pathlib import Path

import ullage

PUBLIC = [
    "Agent",
    "Hook",
    "InputError",
    "Message",
    "Meter",
    "Reading",
    "ReasoningPolicy",
    "Request",
    "Session",
    "Spend",
    "Tool",
    "UllageError",
    "Usage",
    "subagent",
    "tool",
]
"""By hand: adding one is a promise, removing one breaks somebody."""


def test_the_public_names_are_the_ones_listed_here() -> None:
    assert sorted(ullage.__all__) == PUBLIC


def test_every_public_name_is_completed_at_a_prompt() -> None:
    assert set(PUBLIC) <= set(dir(ullage))


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in PUBLIC if not inspect.getdoc(getattr(ullage, name))] == []


def test_the_package_holds_its_public_names_and_nothing_else() -> None:
    source = Path(inspect.getfile(ullage)).read_text("utf-8")
    docstring, *statements = ast.parse(source).body
    assert isinstance(docstring, ast.Expr)
    imports = [each for each in ast.walk(ast.Module(statements, [])) if isinstance(each, ast.ImportFrom)]
    imported = {name.name for each in imports for name in each.names}
    assert imported - {"TYPE_CHECKING", "import_module"} == set(PUBLIC)
    made = [each for each in statements if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    assert [each.name for each in made] == ["__getattr__", "__dir__"]


def test_the_names_that_are_imported_later_are_those_of_the_runtime() -> None:
    for name in ("Agent", "Hook", "Session", "subagent", "tool"):
        assert inspect.getmodule(getattr(ullage, name)) is not ullage
