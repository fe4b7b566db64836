from pathlib import Path

import pytest

from ullage.cli.installing.differences import differences
from ullage.cli.installing.files import ClientFile


def file_of(path: Path, before: str) -> ClientFile:
    path.write_text(before)
    return ClientFile(path)


def test_members_and_items_are_named_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    file = file_of(path, '{"env": {"KEY": "sk-secret", "A": "1"}, "b": [1, 2], "c": 3}')
    file.content["env"]["A"] = "2"
    file.content["env"]["B"] = {"deep": ["ü"]}
    file.content["b"] = [2, 3]
    del file.content["c"]
    assert list(differences(file)) == [
        f"Out of {path}:",
        '  "c"',
        f'Into "env" of {path}:',
        '  "B": {\n    "deep": [\n      "ü"\n    ]\n  },',
        f'Instead of what is set in "env" of {path}:',
        '  "A": "2"',
        f'Out of "b" of {path}:',
        "  1",
        f'Into "b" of {path}:',
        "  3,",
    ]


@pytest.mark.parametrize(
    ("before", "ends"), [("{}", "}"), ('{"a": 1}', "},"), ("{ // mine\n}", "}")]
)
def test_a_comma_stands_before_members(tmp_path: Path, before: str, ends: str) -> None:
    file = file_of(tmp_path / "a.json", before)
    file.content |= {"x": 1, "y": {"z": 2}}
    *_, lines = differences(file)
    assert lines == f'  "x": 1,\n  "y": {{\n    "z": 2\n  {ends}'


def test_lines_of_toml_are_toml(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    file = file_of(path, "[a.b]\nx = 1")
    file.content["url"] = "http://a"
    file.content["a"]["b"]["y"] = "http://b"
    assert list(differences(file)) == [
        f"Into {path}:",
        '  "url" = "http://a"',
        f'Into "a" > "b" of {path}:',
        '  "y" = "http://b"',
    ]
