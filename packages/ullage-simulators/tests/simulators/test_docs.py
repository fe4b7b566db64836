from pathlib import Path

from tests.simulators.rule_tables import markdown, models, tables
from ullage_simulators.faults import KINDS
from ullage_simulators.refusal import OWN, QUOTED

ROOT = Path(__file__).parents[4]
PACKAGE = ROOT / "packages" / "ullage-simulators"
README = (PACKAGE / "README.md").read_text("utf-8")
RULES = (PACKAGE / "RULES.md").read_text("utf-8")


def test_the_tables_of_the_package_are_the_rules_and_models_of_the_simulators() -> None:
    """Run: uv run python -m tests.simulators.rule_tables."""
    assert markdown() in RULES
    assert models() in RULES


def test_every_rule_names_where_its_words_were_read_and_how_sure_it_is() -> None:
    for rules in tables().values():
        for rule in rules.values():
            assert rule.source.startswith("https://") or rule.source in (OWN, QUOTED)
            assert f"**{rule.confidence}**" in RULES


def test_the_readme_of_the_package_names_every_fault() -> None:
    assert [kind for kind in KINDS if f"`{kind}`" not in README] == []
