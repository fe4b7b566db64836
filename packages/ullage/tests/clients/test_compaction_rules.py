"""What other programs keep when they compact."""

from ullage_programs.advice import compaction_rule_of


def test_a_rule_is_found_by_the_name_of_the_program_whatever_its_version() -> None:
    rule = compaction_rule_of("pi 0.87.1")
    assert rule is not None
    assert rule.tokens == 20_000


def test_of_a_program_that_is_not_known_nothing_is_said() -> None:
    assert compaction_rule_of("nobody-knows-this") is None
    assert compaction_rule_of("qwen-code 0.24.4") is None
