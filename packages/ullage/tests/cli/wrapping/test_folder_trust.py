import json
from pathlib import Path

import pytest

from tests.cli.wrapping.starts import write
from ullage.cli.wrapping.folder_trust import accepted_dialog, trusted_folders

YES, PARENT, NO = "TRUST_FOLDER", "TRUST_PARENT", "DO_NOT_TRUST"


@pytest.mark.parametrize(
    ("rules", "answer"),
    [
        ({}, None),
        ({"a/b": YES}, True),
        ({"a": YES}, True),
        ({"a/b": NO}, False),
        ({"a": YES, "a/b": NO}, False),
        ({"a": NO, "a/b": YES}, True),
        ({"a/other": PARENT}, True),
        ({"a/other": PARENT, "a": NO}, False),
        ({"a/other": YES}, None),
        ({"a/b/below": YES}, None),
        ({"a/b": "ANYTHING"}, None),
        ({"a/bc": YES}, None),
    ],
)
def test_the_rule_of_the_deepest_directory_counts_and_of_two_the_no(
    tmp_path: Path, rules: dict[str, str], answer: bool | None
) -> None:
    named = {str(tmp_path / name): level for name, level in rules.items()}
    assert trusted_folders(named, tmp_path / "a" / "b") is answer


@pytest.mark.parametrize("rules", [None, [], "text", {"/": 3}])
def test_rules_of_other_types_are_no_answer(tmp_path: Path, rules: object) -> None:
    assert trusted_folders(rules, tmp_path) is None


def test_a_link_is_the_directory_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    rules = {str(tmp_path / "real"): YES}
    assert trusted_folders(rules, tmp_path / "link") is True


def test_an_accepted_dialog_counts_up_to_the_repository(tmp_path: Path) -> None:
    state = tmp_path / ".claude.json"
    write(state, {"projects": {str(tmp_path): {"hasTrustDialogAccepted": True}}})
    below = tmp_path / "clone" / "src"
    below.mkdir(parents=True)
    assert accepted_dialog(state, below) is True
    (tmp_path / "clone" / ".git").mkdir()
    assert accepted_dialog(state, below) is None
    write(state, {"projects": {str(below.parent): {"hasTrustDialogAccepted": True}}})
    assert accepted_dialog(state, below) is True


@pytest.mark.parametrize(
    "state", ["", "{", "[]", {"projects": []}, {"projects": {"DIR": 3}}, None]
)
def test_a_state_without_a_yes_is_no_answer(tmp_path: Path, state: object) -> None:
    if state is not None:
        text = state if isinstance(state, str) else json.dumps(state)
        (tmp_path / ".claude.json").write_text(text.replace("DIR", str(tmp_path)))
    assert accepted_dialog(tmp_path / ".claude.json", tmp_path) is None
