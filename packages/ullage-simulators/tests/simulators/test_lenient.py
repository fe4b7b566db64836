"""A lenient run: rules that are only assumed warn, and the call continues."""

from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Maker, Talk
from tests.simulators.test_anthropic_rules import CASES as ANTHROPIC
from tests.simulators.test_gemini_rules import CASES as GEMINI
from tests.simulators.test_responses_rules import CASES as RESPONSES
from ullage_simulators import Scenario, running
from ullage_simulators.anthropic.rules import RULES as ANTHROPIC_RULES
from ullage_simulators.command import _print_exchange, main
from ullage_simulators.gemini.rules import RULES as GEMINI_RULES
from ullage_simulators.responses.rules import RULES as RESPONSES_RULES
from ullage_simulators.scenario import read
from ullage_simulators.server import Exchange

HI: Body = {"role": "user", "content": "hello"}


def responses(**more: Any) -> Ask:
    return Ask("/responses", {"model": "gpt-5", "input": [HI], **more})


def chat(**more: Any) -> Ask:
    return Ask("/chat/completions", {"model": "gpt-5", "messages": [HI], **more})


def gemini(**more: Any) -> Ask:
    path = "/v1beta/models/gemini-2.5-flash:generateContent"
    return Ask(path, {"contents": [{"parts": [{"text": "hello"}]}], **more})


ASSUMED = {
    "an unknown parameter of Responses": ("openai", responses(newer=1), "param_unknown"),
    "an item of an unknown kind": ("openai", responses(input=[HI, {"type": "newer", "text": "x"}]), "value_unknown"),
    "an unknown role of Responses": ("openai", responses(input=[{"role": "newer", "content": "x"}]), "value_unknown"),
    "a part of an unknown kind": ("openai", responses(input=[{"role": "user", "content": [{"type": "newer"}]}]),
        "value_unknown"),
    "a compaction that was altered": ("openai",
        responses(input=[HI, {"type": "compaction", "encrypted_content": "x"}]), "compaction_altered"),
    "an unknown parameter of Chat": ("openai", chat(newer=1), "param_unknown"),
    "an unknown role of Chat": ("openai", chat(messages=[{"role": "newer", "content": "x"}]), "value_unknown"),
    "an unknown field of Gemini": ("gemini", gemini(newer=1), "field_unknown"),
    "an unknown field in a part": ("gemini", gemini(contents=[{"parts": [{"text": "x", "newer": 1}]}]),
        "field_unknown"),
}  # fmt: skip


@pytest.mark.parametrize("case", ASSUMED)
def test_what_an_assumed_rule_refuses_is_accepted_with_a_warning(case: str) -> None:
    wire, ask, rule = ASSUMED[case]
    with running() as strict:
        assert Talk(strict).send(wire, ask).status_code == 400
        assert strict.exchanges[-1].rule == rule
    with running(lenient=True) as lenient:
        Talk(lenient).ok(wire, ask)
        accepted = lenient.exchanges[-1]
    assert (accepted.status, accepted.rule) == (200, "")
    assert [warning.name for warning in accepted.warnings] == [rule]
    assert accepted.bill is not None


UNREADABLE = {"malformed", "body_too_large"}
"""Assumed rules for requests that there is no way to continue with."""


def assumed_cases() -> list[tuple[str, str, Maker]]:
    """Wire, rule and violation of each rule that is only assumed."""
    tables = {
        "anthropic": (ANTHROPIC_RULES, ANTHROPIC),
        "openai": (RESPONSES_RULES, RESPONSES),
        "gemini": (GEMINI_RULES, GEMINI),
    }
    found: list[tuple[str, str, Maker]] = []
    for wire, (rules, cases) in tables.items():
        for name, rule in rules.items():
            if rule.confidence == "assumed" and name not in UNREADABLE:
                found.append((wire, name, cases[name]))
    return found


@pytest.mark.parametrize(("wire", "rule", "maker"), assumed_cases())
def test_each_assumed_rule_only_warns(wire: str, rule: str, maker: Maker) -> None:
    with running(lenient=True) as server:
        talk = Talk(server)
        talk.ok(wire, maker(talk).broken)
        warnings = server.exchanges[-1].warnings
    assert rule in [warning.name for warning in warnings]


def test_a_rule_with_a_source_refuses_a_lenient_request_and_keeps_its_warnings() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    with running(lenient=True) as server:
        refused = Talk(server).send("openai", responses(newer=1, input=[HI, call]))
        assert refused.status_code == 400
        exchange = server.exchanges[-1]
    assert exchange.rule == "call_without_result"
    assert [warning.name for warning in exchange.warnings] == ["param_unknown"]


def test_a_body_that_can_not_be_understood_is_refused_in_a_lenient_run_too() -> None:
    with running(lenient=True) as server:
        refused = Talk(server).send("openai", responses(input=[1]))
    assert refused.status_code == 400


def test_a_scenario_may_be_lenient() -> None:
    assert read({"server": {"lenient": True}}).lenient
    assert not Scenario().lenient


def test_the_command_prints_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[Exchange] = []
    with running(lenient=True) as server:
        Talk(server).ok("openai", responses(newer=1))
        shown += server.exchanges
    _print_exchange(shown[0])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("200  POST /openai/v1/responses")
    assert lines[1] == "     warning: param_unknown: Unknown parameter: 'newer'."


def test_the_command_takes_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--lenient" in capsys.readouterr().out
