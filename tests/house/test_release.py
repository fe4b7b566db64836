import re
from pathlib import Path

from scripts.release import CITATION, notes_of, on_a_page, problems, versions
from scripts.repository import ROOT

CHANGELOG = """# Changelog

## Unreleased

- next

## 0.2.0 (2026-12-01)

- a
- b

## 0.1.0 (2026-11-01)

- first
"""


def test_all_files_name_one_version() -> None:
    assert len(set(versions().values())) == 1


def test_what_a_distribution_needs_of_the_others_is_of_its_own_version(
    tmp_path: Path,
) -> None:
    for file in (*ROOT.glob("packages/*/pyproject.toml"), ROOT / CITATION):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"chat\]==[\d.]+", "chat]==99.0.0", file.read_text()))
    found = versions(tmp_path)["packages/ullage/pyproject.toml"]
    assert found.endswith(" and 99.0.0")


def test_every_distribution_is_published_and_the_one_with_the_extras_last() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    (listed,) = re.findall(r"distribution: \[(.+)\]", text)
    folders = {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")}
    assert set(listed.split(", ")) == folders
    assert listed.endswith(", ullage")


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    used = []
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used += re.findall(r"uses: (.+)", path.read_text("utf-8"))
    assert used
    for each in used:
        assert re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b.*", each), each


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes_of("0.2.0", CHANGELOG) == "- a\n- b"
    assert notes_of("0.1.0", CHANGELOG) == "- first"
    assert notes_of("0.3.0", CHANGELOG) == ""


def test_notes_on_a_page_have_whole_lines_and_links_that_lead_somewhere() -> None:
    notes = "- a\n  b ([c](docs/c.md), [d](https://d/e.md))\n- f"
    there = "- a b ([c](https://h/v1/docs/c.md), [d](https://d/e.md))\n- f"
    assert on_a_page(notes, "https://h/v1") == there


def test_a_release_needs_its_versions_and_its_section() -> None:
    assert problems("v0.2.0", {"a": "0.2.0"}, CHANGELOG) == []
    assert problems("v0.2.0", {"a": "0.1.0"}, CHANGELOG) == [
        "a has the version 0.1.0, and the tag is v0.2.0."
    ]
    assert "no lines under" in problems("v0.3.0", {"a": "0.3.0"}, CHANGELOG)[0]
    assert "is no version" in problems("0.2", {"a": "0.2.0"}, CHANGELOG)[0]
