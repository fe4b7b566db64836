"""Each rule finds what is planted, and is among those that ``python -m scripts.house`` runs."""

import pytest

from scripts.house import (
    __main__,
    documents,
    first_use,
    messages,
    private_files,
    provider_names,
    recipes,
    tasks,
    user_documents,
    wire_names,
    words,
)
from scripts.house.messages import Message
from scripts.house.pages import ROOT
from scripts.house.source import of_all_packages, of_ullage, parsed


def test_every_rule_is_run() -> None:
    rules = {
        path.stem
        for path in (ROOT / "scripts" / "house").glob("*.py")
        if "\ndef faults(" in path.read_text("utf-8") and path.stem != "__main__"
    }
    run = (
        *__main__.OF_IMPORTS,
        *__main__.OF_SOURCES,
        private_files,
        *__main__.OF_DOCUMENTS,
    )
    assert {rule.__name__.rpartition(".")[2] for rule in run} == rules


def test_a_fault_is_printed_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.report(["ullage/meter/fold.py:1: calls open()"]) == 1
    assert "ullage/meter/fold.py:1: calls open()" in capsys.readouterr().out
    assert __main__.report([]) == 0


def test_the_rules_are_given_the_files_of_the_packages() -> None:
    names = {source.name for source in of_all_packages()}
    assert {"ullage/messages.py", "ullage_programs/facts.py"} < names
    assert {source.name for source in of_ullage()} < names


@pytest.mark.parametrize(
    "planted",
    [
        "return msgspec.json.decode(row, type=_Header)",
        "return msgspec.msgpack.Decoder(_Header).decode(row)",
        "return msgspec.convert(row, _Header)",
    ],
)
def test_a_function_that_is_the_first_to_ask_for_a_class_is_found(planted: str) -> None:
    source = parsed("ullage/store/rows.py", f"def read(row):\n    {planted}\n")
    assert len(list(first_use.faults([source]))) == 1


def test_a_decoder_made_where_the_module_is_imported_is_none() -> None:
    source = parsed("ullage/store/rows.py", "DECODER = msgspec.json.Decoder(_Header)\n")
    assert list(first_use.faults([source])) == []


def test_a_providers_name_is_found_outside_the_table_alone() -> None:
    tables = [parsed(name, "x = 'anthropic'") for name in provider_names.EXCEPTIONS]
    assert list(provider_names.faults(tables)) == []
    planted = parsed(
        "ullage_agent/runtime/agent.py", "\nif provider == 'anthropic':\n    pass"
    )
    (found,) = provider_names.faults([*tables, planted])
    assert found.startswith("ullage_agent/runtime/agent.py:2: 'anthropic'")


def test_an_exception_that_no_file_needs_is_found() -> None:
    first, *others = provider_names.EXCEPTIONS
    (found,) = provider_names.faults([parsed(name, "x = 'openai'") for name in others])
    assert found.startswith(f"{first}: needs no exception")


def test_a_comparison_with_a_wires_name_is_found() -> None:
    text = "is_chat = model.wire == 'chat'"
    exceptions = [parsed(name, text) for name in wire_names.EXCEPTIONS]
    assert list(wire_names.faults(exceptions)) == []
    planted = parsed("ullage_agent/runtime/agent.py", text)
    assert len(list(wire_names.faults([*exceptions, planted]))) == 1
    assert len(list(wire_names.faults(exceptions[1:]))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "task = asyncio.create_task(work())",
        "task = asyncio.ensure_future(work())",
        "task = loop.create_task(work())",
        "from asyncio import create_task",
    ],
)
def test_a_raw_task_is_found(line: str) -> None:
    (found,) = tasks.faults([parsed("ullage_agent/runtime/agent.py", line)])
    assert found.startswith("ullage_agent/runtime/agent.py:1:")
    assert list(tasks.faults([parsed("ullage/tasks.py", line)])) == []


def test_a_task_of_a_group_is_none() -> None:
    source = "async def run():\n    async with asyncio.TaskGroup() as group:\n        group.create_task(work())\n"
    assert list(tasks.faults([parsed("ullage_agent/runtime/agent.py", source)])) == []


@pytest.mark.parametrize(
    "planted",
    ["open(path, 'w')", "path.write_text('x')", "to_thread(path.write_bytes, b'')"],
)
def test_a_file_that_others_can_read_is_found(planted: str) -> None:
    exceptions = [parsed(name, planted) for name in private_files.ELSEWHERE]
    assert list(private_files.faults(exceptions)) == []
    added = parsed("ullage_programs/facts.py", planted)
    (found,) = private_files.faults([*exceptions, added])
    assert found.startswith("ullage_programs/facts.py:1:")
    assert len(list(private_files.faults(exceptions[1:]))) == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("The file \N{REPLACEMENT CHARACTER} is gone. Name another one.", ""),
        ("keep=\N{REPLACEMENT CHARACTER} is negative: give 0 or more.", ""),
        ("no such tool: use another one.", "begins in the middle of a sentence"),
        ("The file is gone; name another one", "has no end"),
        ("The file goes on. Name another one.", "is not plain English"),
        ("The file is gone.", "does not say what to do next"),
    ],
)
def test_a_message_that_breaks_the_rule_is_found(text: str, fault: str) -> None:
    made = Message("a.py:1", "InputError", text)
    assert messages.faults_of(made) == [fault] * bool(fault)


def test_messages_of_errors_are_found_in_the_source() -> None:
    error = parsed(
        "errors.py", "class Gone(UllageError): ...\nclass Other(ValueError): ..."
    )
    planted = parsed("a.py", "raise Gone(f'the file {name} is gone.')\nOther('the')")
    (first, second) = messages.faults([error, planted])
    assert first.startswith("a.py:1 begins in the middle of a sentence: the file ")
    assert second.startswith("a.py:1 does not say what to do next: the file ")
    assert len(list(messages.messages(of_ullage()))) > 300


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("[there](gone.md)", "docs/tools.md: there is no gone.md"),
        ("```\nx\n```\n", "docs/tools.md:2: a block in no language"),
        ("```rust\nx\n```\n", "docs/tools.md:2: a block in rust"),
        ("[here](index.md#part) and `[no](gone.md)`\n```python\nx\n```\n", ""),
    ],
)
def test_what_a_page_may_not_have_is_found(planted: str, found: str) -> None:
    faults = list(documents.faults_of(ROOT / "docs" / "tools.md", planted))
    assert len(faults) == bool(found)
    assert "".join(faults).startswith(found)


def test_a_link_that_is_none_on_the_site_is_found() -> None:
    assert list(documents.lost_on_the_site("tools.md", "[a](index.md)")) == []
    planted = "[a](../packages/ullage/src/ullage/messages.py)"
    assert len(list(documents.lost_on_the_site("tools.md", planted))) == 1


def test_a_word_that_readers_stumble_over_is_found() -> None:
    (fault,) = words.found("docs/tools.md", "Begin.\nIt is drawn anew.")
    assert fault.startswith("docs/tools.md:2: 'anew'")
    source = parsed("a.py", '"""Drawn anew."""\nraise E(f"{x} is drawn anew.")')
    assert list(words.faults_of(source)) == ["a.py:2: 'anew' is not plain English"]


def test_a_guide_that_begins_with_prose_is_found() -> None:
    page = ROOT / "docs" / "tools.md"
    assert page in documents.guides()
    assert len(list(documents.late(page, "# Tools\n" + "prose\n" * 15 + "```sh\n"))) == 1
    assert list(documents.late(page, "# Tools\n\nRun `ullage demo`.\n")) == []


def test_a_picture_that_no_page_shows_is_found() -> None:
    assert documents.without_a_page("gone.svg")
    assert not documents.without_a_page("page-dark.png")


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("`codec/gone.py`", ["RECIPES.md: there is no codec/gone.py"]),
        ("`meter/`, `events.py`, `WIRES` of `codec/wires/__init__.py`", []),
        (
            "`GONE` of `codec/wires/__init__.py`",
            ["RECIPES.md: codec/wires/__init__.py has no GONE"],
        ),
    ],
)
def test_what_a_recipe_names_in_vain_is_found(planted: str, found: list[str]) -> None:
    assert list(recipes.faults_of(planted)) == found


@pytest.mark.parametrize(
    "planted",
    [
        "from ullage.usage import Usage",
        "import ullage.store.sqlite",
        "from ullage_agent.tools import builtin",
        "from ullage import codec",
        "from ullage_simulators.server import running",
        "def f():\n    from ullage.meter.fold import Fold",
    ],
)
def test_an_inner_import_that_users_are_shown_is_found(planted: str) -> None:
    page, example = ROOT / "docs" / "tools.md", ROOT / "examples" / "loop.py"
    shown = f"```python\n{planted}\n```\n"
    assert len(list(user_documents.faults_of(page, shown))) == 1
    assert len(list(user_documents.faults_of(example, planted))) == 1


def test_public_imports_pass() -> None:
    shown = "import ullage\nfrom ullage import Agent, events\nfrom ullage.errors import SettingError\nimport json"
    names = user_documents.inner_imports(
        shown + "\nfrom ullage_simulators import running"
    )
    assert list(names) == []


def test_the_public_modules_are_these() -> None:
    assert sorted(user_documents.MODULES) == [
        "ullage",
        "ullage.compaction",
        "ullage.encoding",
        "ullage.errors",
        "ullage.events",
        "ullage.hooks",
        "ullage.measure",
        "ullage.messages",
        "ullage.server",
        "ullage.sessions",
        "ullage.storage",
        "ullage.testing",
        "ullage.tools",
    ]
