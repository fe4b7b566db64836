import ast
import inspect
import rlcompleter
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from types import UnionType

import ullage

NAMES = """
Agent AgentTool Compactor FilePart Fitted Hook ImagePart InputError McpServer Message Meter Output
Part ProviderItem Reading ReasoningPart ReasoningPolicy Receipt Request Result Sandbox Session Spend
SqliteStore Store Strategy SystemBlock Telemetry TextPart TextStream Tool ToolCallPart ToolContext
ToolError ToolResultPart ToolRetry TurnContext UllageError UnknownPart Usage attach builtin_tools
compaction detach encoding errors events http_server subagent tool user_endpoints
"""
OF_A_SESSION = """
active_agent approve ask cancel close compact context edit events explain fork grant grants hand_over history messages
pending pin questions rename resume revoke rewind send set stream uncompact wait withdraw
"""
PUBLIC = NAMES.split()
"""By hand: adding one is a promise, removing one breaks somebody."""


def test_the_public_names_are_the_ones_listed_here() -> None:
    assert sorted(ullage.__all__) == PUBLIC


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(ullage) == PUBLIC


def test_a_prompt_completes_every_public_name() -> None:
    completer = rlcompleter.Completer({"ullage": ullage})
    assert {
        match.removeprefix("ullage.") for match in all_matches(completer, "ullage.")
    } == set(PUBLIC)


def test_a_prompt_completes_what_an_agent_and_a_session_do_and_no_plumbing() -> None:
    completer = rlcompleter.Completer({"ullage": ullage})
    agent = set(all_matches(completer, "ullage.Agent.")) - {"ullage.Agent.mro"}
    assert agent == {
        f"ullage.Agent.{name}"
        for name in ("ask", "run_sync", "session", "sessions", "stream", "warnings")
    }
    session = set(all_matches(completer, "ullage.Session.")) - {"ullage.Session.mro"}
    assert session == {f"ullage.Session.{name}" for name in OF_A_SESSION.split()}


def all_matches(completer: rlcompleter.Completer, text: str) -> Iterator[str]:
    """What the prompt offers behind this text."""
    for number in count():
        match = completer.complete(text, number)
        if not match:
            return
        yield match.rstrip("()")


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert [
        name
        for name in PUBLIC
        if name != "Part" and not inspect.getdoc(getattr(ullage, name))
    ] == []


def test_the_package_holds_its_public_names_and_nothing_else() -> None:
    source = Path(inspect.getfile(ullage)).read_text("utf-8")
    docstring, *statements = ast.parse(source).body
    assert isinstance(docstring, ast.Expr)
    imports = [
        each
        for each in ast.walk(ast.Module(statements, []))
        if isinstance(each, ast.ImportFrom)
    ]
    imported = {name.name for each in imports for name in each.names}
    assert imported - {"TYPE_CHECKING", "part"} == set(PUBLIC)
    made = [
        each for each in statements if isinstance(each, ast.FunctionDef | ast.ClassDef)
    ]
    assert [each.name for each in made] == ["__getattr__", "__dir__"]


def test_the_names_that_are_imported_later_are_those_that_only_type_checkers_import_at_once() -> (
    None
):
    tree = ast.parse(Path(inspect.getfile(ullage)).read_text("utf-8"))
    (guarded,) = (each for each in tree.body if isinstance(each, ast.If))
    later = {
        name.name
        for each in guarded.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    }
    assert later == ullage._PLACES.keys()
    for name in later:
        value = getattr(ullage, name)
        module = import_module(ullage._PLACES[name])
        if inspect.ismodule(value):
            assert value is module
        elif isinstance(value, UnionType):
            assert value is getattr(module, name)
        else:
            assert value.__module__ == module.__name__
