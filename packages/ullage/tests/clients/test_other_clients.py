from collections.abc import Mapping

import pytest

from ullage_programs.copilot_cli import facts as copilot_cli
from ullage_programs.facts import Circumstances, ClientSetting, ProgramFacts
from ullage_programs.gemini_cli import facts as gemini_cli
from ullage_programs.opencode import facts as opencode
from ullage_programs.pi import facts as pi
from ullage_programs.qwen_code import facts as qwen_code


def compacts_at(
    facts: ProgramFacts,
    window: int,
    *,
    settings: Mapping[str, object] | None = None,
    known: Circumstances | None = None,
) -> int | None:
    found = {name: ClientSetting(value, name) for name, value in (settings or {}).items()}
    known = (known or Circumstances())._replace(settings=found)
    threshold = facts.threshold(known, window)
    assert threshold is not None
    return threshold.tokens


def test_gemini_cli_compacts_at_half_of_its_window_or_at_the_share_that_is_set() -> None:
    window = gemini_cli.FACTS.window(Circumstances(model="gemini-2.5-pro"))
    assert window is not None and window.tokens == 1_048_576
    assert compacts_at(gemini_cli.FACTS, 1_048_576) == 524_288
    for name in (
        "model.compressionThreshold",
        "chatCompression.contextPercentageThreshold",
    ):
        assert compacts_at(gemini_cli.FACTS, 1_000_000, settings={name: 0.2}) == 200_000
        assert compacts_at(gemini_cli.FACTS, 1_000_000, settings={name: 7}) == 500_000


def test_opencode_leaves_room_for_an_answer_of_32000_tokens() -> None:
    assert (
        compacts_at(opencode.FACTS, 200_000, known=Circumstances(max_output=64_000))
        == 168_000
    )
    assert (
        compacts_at(opencode.FACTS, 200_000, known=Circumstances(max_output=8_000))
        == 192_000
    )


def test_opencode_keeps_a_buffer_below_the_input_limit_of_a_model_that_has_one() -> None:
    cap = Circumstances(input_cap=272_000, max_output=128_000)
    assert compacts_at(opencode.FACTS, 400_000, known=cap) == 252_000
    reserved = {"compaction.reserved": 50_000}
    assert compacts_at(opencode.FACTS, 400_000, settings=reserved, known=cap) == 222_000


def test_opencode_takes_the_limits_with_which_a_model_is_declared() -> None:
    limits: dict[str, object] = {
        "provider.lab.models.qwen3.limit.context": 40_000,
        "provider.lab.models.qwen3.limit.output": 4_000,
    }
    found = {name: ClientSetting(value, name) for name, value in limits.items()}
    known = Circumstances(provider="lab", model="qwen3", settings=found)
    window = opencode.FACTS.window(known)
    assert window is not None
    assert (window.tokens, window.source) == (40_000, "settings")
    threshold = opencode.FACTS.threshold(known, 40_000)
    assert threshold is not None and threshold.tokens == 36_000


def test_pi_keeps_a_reserve_by_default_for_all_models_or_for_one() -> None:
    one = "compaction.modelOverrides.anthropic/claude-opus-5-5.reserveTokens"
    model = Circumstances(provider="anthropic", model="claude-opus-5-5")
    settings: dict[str, object] = {"compaction.reserveTokens": 30_000}
    assert compacts_at(pi.FACTS, 200_000, known=model) == 183_616
    assert compacts_at(pi.FACTS, 200_000, settings=settings, known=model) == 170_000
    settings[one] = 60_000
    assert compacts_at(pi.FACTS, 200_000, settings=settings, known=model) == 140_000


def test_qwen_code_compacts_at_85_percent_or_33000_below_a_smaller_window() -> None:
    new = Circumstances(version=(0, 24, 4))
    assert compacts_at(qwen_code.FACTS, 1_000_000, known=new) == 850_000
    assert compacts_at(qwen_code.FACTS, 131_072, known=new) == 98_072
    assert compacts_at(qwen_code.FACTS, 20_000, known=new) == 17_000
    share: dict[str, object] = {"context.autoCompactThreshold": 0.5}
    assert compacts_at(qwen_code.FACTS, 1_000_000, settings=share, known=new) == 500_000


def test_copilot_cli_compacts_at_80_percent_or_at_the_share_that_is_set() -> None:
    name = "COPILOT_BACKGROUND_COMPACTION_THRESHOLD"
    assert compacts_at(copilot_cli.FACTS, 40_000) == 32_000
    assert compacts_at(copilot_cli.FACTS, 40_000, settings={name: "0.5"}) == 20_000
    assert compacts_at(copilot_cli.FACTS, 40_000, settings={name: "80"}) == 32_000


def test_the_rule_of_older_versions_of_qwen_code_is_unknown() -> None:
    assert qwen_code.FACTS.threshold(Circumstances(version=(0, 15, 10)), 100_000) is None


@pytest.mark.parametrize(
    ("facts", "settings"),
    [
        (opencode.FACTS, {"compaction.auto": False}),
        (opencode.FACTS, {"OPENCODE_DISABLE_AUTOCOMPACT": "true"}),
        (pi.FACTS, {"compaction.enabled": False}),
    ],
)
def test_a_program_whose_compaction_is_turned_off_has_no_threshold(
    facts: ProgramFacts, settings: Mapping[str, object]
) -> None:
    assert compacts_at(facts, 200_000, settings=settings) is None
