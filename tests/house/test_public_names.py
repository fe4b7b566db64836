import ast
import inspect
import rlcompleter
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest

import ullage
from scripts.reference_pages import PAGE, index, listed_names, modules, page
from tests.house.public_types import hidden_types, public_names, undocumented
from ullage_agent.runtime.session_runtime import SessionRuntime

NAMES = """
Agent Compactor Hook McpServer MemoryStore Meter Provider Reading Refusal Result Session SqliteStore Store Telemetry
ToolContext
ToolError ToolRetry TurnContext UllageError Usage attach builtin_tools compaction detach encoding errors events
hooks http_server measure messages server sessions storage subagent testing tool tools
"""
OF_A_SESSION = """
accept active_agent approve ask cancel changed_files close compact context drop droppable edit events explain fork
grant grants hand_over history messages pending picture pin preview questions recall rename resume revoke rewind send
set stream uncompact wait withdraw
"""
PUBLIC = NAMES.split()
"""By hand: adding one is a promise, removing one breaks somebody."""


MOST = 40
"""More than these nobody keeps in mind; the rest is in the modules."""


def test_the_public_names_are_the_ones_listed_here_and_few() -> None:
    assert dir(ullage) == PUBLIC
    assert len(PUBLIC) <= MOST


def test_a_name_that_is_not_there_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'agent'. Did you mean 'Agent'\?"):  # fmt: skip
        ullage.agent  # type: ignore[attr-defined]  # noqa: B018


def test_each_type_in_a_public_signature_is_in_a_public_module() -> None:
    assert hidden_types(public_names().values()) == {}
    assert "Ledger (ullage_agent.runtime.ledger)" in hidden_types([SessionRuntime])


def test_each_parameter_of_a_public_function_is_described() -> None:
    assert undocumented() == {}


def test_a_module_gives_what_its_own_page_lists() -> None:
    inner = {"ullage.tools.Output", "ullage.messages.ImagePart", "ullage.errors.Overflow"}
    assert inner <= public_names().keys()


def test_a_star_gives_the_public_names_and_nothing_else() -> None:
    given: dict[str, object] = {}
    exec("from ullage import *", given)
    assert sorted(given.keys() - {"__builtins__"}) == PUBLIC


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
        for name in (
            "as_tool",
            "ask",
            "override",
            "run_sync",
            "serve_mcp",
            "session",
            "session_sync",
            "sessions",
            "sessions_sync",
            "stored_in",
            "stream",
            "stream_sync",
            "warnings",
        )
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
    assert [name for name in PUBLIC if not inspect.getdoc(getattr(ullage, name))] == []


def test_the_reference_lists_each_name_once_and_is_as_the_code_has_it() -> None:
    """Run: uv run python -m scripts.reference_pages."""
    assert sorted([*listed_names(), *modules()]) == PUBLIC
    assert PAGE.read_text("utf-8") == index()
    assert "::: ullage.Agent" in page("Agent")
    assert "[Window](measure/window.md)" in page("measure")
    assert "::: ullage.measure.Window" in page("measure.Window")
    assert "[Meter](meter.md)" in page("measure")


def test_what_type_checkers_read_is_what_is_loaded_when_it_is_first_used() -> None:
    tree = ast.parse(Path(inspect.getfile(ullage)).read_text("utf-8"))
    guarded, made = (each for each in tree.body if isinstance(each, ast.If))
    read = {
        name.asname: each.module
        for each in guarded.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
        if name.asname == name.name
    }
    assert read == {**dict.fromkeys(ullage._MODULES, "ullage"), **ullage._PLACES}
    for name, module in read.items():
        assert getattr(ullage, name) is getattr(import_module(module or ""), name)
    functions = [*tree.body, *made.body]
    named = [each.name for each in functions if isinstance(each, ast.FunctionDef)]
    assert named == ["__dir__", "__getattr__"]
