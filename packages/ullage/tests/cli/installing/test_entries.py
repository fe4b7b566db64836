import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.installing.entries import (
    AddressEntry,
    ClientEntry,
    HookEntry,
    PluginEntry,
    StatusLineEntry,
    command,
)
from ullage.cli.installing.files import CannotEdit, ClientFiles
from ullage_programs.pi.client import FOOTER

PATH = Path("/nowhere/settings.json")
LINE = Path("/nowhere/line.json")
OURS = command("claude_code.status")
OLDER = '"/old/python" -I -S "/old/ullage_programs/start.py" claude_code.status'
UPSTREAMS = {"anthropic": "https://api.anthropic.com", "lab": "https://llm.example/v1"}
KEYS = ["env", "ADDRESS"]

status_line = StatusLineEntry(PATH, ["statusLine"], OURS, LINE, {"padding": 0})
hook = HookEntry("", PATH, ["hooks", "Stop"], {"command": OURS}, {"matcher": "*"})
alone = StatusLineEntry(PATH, ["statusLine"], OURS)


def address(url: str = "http://127.0.0.1:4141/anthropic") -> AddressEntry:
    return AddressEntry(PATH, KEYS, url, ["anthropic"], {"SEARCH": "true"})


def put(entry: ClientEntry, content: dict[str, Any]) -> ClientFiles:
    files = ClientFiles()
    files[PATH].content = content
    entry.put(files)
    return files


def without(entry: ClientEntry, content: dict[str, Any]) -> dict[str, Any]:
    files = ClientFiles()
    files[PATH].content = content
    entry.take(files, UPSTREAMS)
    return content


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
groups = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=5)}))}
)
settings = st.dictionaries(st.text(max_size=4), scalars, max_size=3).flatmap(
    lambda others: st.fixed_dictionaries(
        {name: st.just(value) for name, value in others.items()},
        optional={
            "hooks": st.dictionaries(
                st.sampled_from(["Stop", "x"]), st.lists(groups, min_size=1), min_size=1
            ),
            "env": st.dictionaries(st.just("A"), scalars, min_size=1),
            "statusLine": st.just({"type": "command", "command": "mine", "padding": 3}),
        },
    )
)


@given(content=settings)
def test_what_was_put_there_alone_is_taken_out(content: dict[str, Any]) -> None:
    before = json.loads(json.dumps(content))
    files = ClientFiles()
    files[PATH].content = content
    entries: list[ClientEntry] = [status_line, hook, address()]
    for entry in [*entries, *entries]:
        entry.put(files)
    assert content["statusLine"]["command"] == OURS
    assert str(content["hooks"]["Stop"]).count("ullage_programs") == 1
    for entry in entries:
        entry.take(files, UPSTREAMS)
    assert content == before
    assert files[LINE].content == {}


@pytest.mark.parametrize(
    ("entry", "found"),
    [(alone, {"command": "mine"}), (status_line, {"type": "preset"}), (alone, 7)],
)
def test_another_status_line_stays(entry: StatusLineEntry, found: object) -> None:
    with pytest.raises(CannotEdit, match="another status line"):
        put(entry, {"statusLine": found})
    assert without(entry, {"statusLine": found}) == {"statusLine": found}


def test_a_command_of_an_earlier_place_is_replaced_and_recognised() -> None:
    content: dict[str, Any] = {
        "statusLine": {"command": OLDER, "padding": 2},
        "hooks": {"Stop": [{"hooks": [{"command": "mine"}, {"command": OLDER}]}]},
    }
    assert without(hook, dict(content))["hooks"] == {
        "Stop": [{"hooks": [{"command": "mine"}]}]
    }
    content["hooks"]["Stop"][0]["hooks"].append({"command": OLDER})
    put(alone, content)
    put(hook, content)
    assert content["statusLine"] == {"type": "command", "command": OURS, "padding": 2}
    handlers = content["hooks"]["Stop"][0]["hooks"]
    assert handlers == [{"command": "mine"}, {"command": OURS}]


@pytest.mark.parametrize("hooks", [None, 7, {"Stop": None}, {"Stop": {}}])
def test_values_of_other_types_are_not_replaced(hooks: object) -> None:
    with pytest.raises(CannotEdit, match="hooks"):
        put(hook, {"hooks": hooks})
    assert without(hook, {"hooks": hooks}) == {"hooks": hooks}


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ("http://127.0.0.1:4141/anthropic", None),
        ("http://127.0.0.1:4141/lab/x", "https://llm.example/v1/x"),
        ("https://gateway.example", "https://gateway.example"),
    ],
)
def test_the_address_behind_the_proxys_is_put_back(found: str, left: str | None) -> None:
    content = without(address(""), {"env": {"ADDRESS": found, "A": "1"}})
    assert content["env"].get("ADDRESS") == left
    assert content["env"]["A"] == "1"


def test_an_address_that_nobody_knows_goes_only_when_it_is_named() -> None:
    found = "http://127.0.0.1:4141/mine"
    with pytest.raises(CannotEdit, match="--remove --proxy http"):
        without(address(""), {"env": {"ADDRESS": found}})
    assert without(address(found), {"env": {"ADDRESS": found}}) == {}


def test_a_setting_beside_the_address_stays_the_users() -> None:
    content = {"env": {"SEARCH": "auto"}}
    put(address(), content)
    assert without(address(""), content) == {"env": {"SEARCH": "auto"}}


def test_a_plugin_of_ours_is_told_by_its_first_words(tmp_path: Path) -> None:
    path = tmp_path / "ullage.js"
    entry = PluginEntry("hooks", "", path, FOOTER)
    path.write_text("// Installed by `ullage install pi`; an older one\n")
    for is_put in (True, False):
        files = ClientFiles()
        entry.put(files) if is_put else entry.take(files, UPSTREAMS)
        [file] = files.changed()
        file.write()
        assert path.exists() is is_put
    path.write_text("// mine\n")
    files = ClientFiles()
    with pytest.raises(CannotEdit, match="there already"):
        entry.put(files)
    entry.take(files, UPSTREAMS)
    assert files.changed() == []
