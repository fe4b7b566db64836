from pathlib import Path

from ullage_simulators.faults import KINDS
from ullage_simulators.models import MODELS
from ullage_simulators.refusal import OWN, QUOTED

from tests.simulators.rule_tables import markdown, tables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulators.md").read_text("utf-8")
RULES = (ROOT / "packages" / "ullage-simulators" / "RULES.md").read_text("utf-8")


def test_the_tables_of_the_package_are_the_rules_of_the_simulators() -> None:
    assert markdown() in RULES  # uv run python -m tests.simulators.rule_tables


def test_every_rule_names_where_its_words_were_read_and_how_sure_it_is() -> None:
    for rules in tables().values():
        for rule in rules.values():
            assert rule.source.startswith("https://") or rule.source in (OWN, QUOTED)
            assert f"**{rule.confidence}**" in RULES


def test_the_page_names_every_fault_and_every_model() -> None:
    assert [kind for kind in KINDS if f"`{kind}`" not in PAGE] == []
    assert [model.name for model in MODELS if f"`{model.name}`" not in PAGE] == []
