from pathlib import Path

from ullage_simulators.faults import KINDS
from ullage_simulators.models import MODELS
from ullage_simulators.refusal import OWN, QUOTED

from tests.simulators.rule_tables import markdown, tables

PAGE = (Path(__file__).parents[2] / "docs" / "simulators.md").read_text("utf-8")


def test_the_tables_of_the_page_are_the_rules_of_the_doubles() -> None:
    assert markdown() in PAGE  # uv run python -m tests.simulators.rule_tables


def test_every_rule_names_where_its_words_were_read_and_how_sure_it_is() -> None:
    for rules in tables().values():
        for rule in rules.values():
            assert rule.source.startswith("https://") or rule.source in (OWN, QUOTED)
            assert f"**{rule.confidence}**" in PAGE


def test_the_page_names_every_fault_and_every_model() -> None:
    assert [kind for kind in KINDS if f"`{kind}`" not in PAGE] == []
    assert [model.name for model in MODELS if f"`{model.name}`" not in PAGE] == []
