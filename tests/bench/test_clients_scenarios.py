from pathlib import Path

import pytest

from bench.clients.client import Client, Place
from bench.clients.clients import CLIENTS
from bench.clients.scenarios import (
    BOTH,
    LIST,
    SCENARIOS,
    SUBTASK,
    reason_against,
    script,
)
from ullage_simulators.prompt import ScriptContext

EACH = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)


@EACH
def test_a_client_does_each_scenario_or_says_why_not(client: Client) -> None:
    names = {scenario.name for scenario in SCENARIOS}
    assert set(client.lacks) <= names
    for scenario in SCENARIOS:
        if scenario.name == "custom tool":
            changes = bool(client.patch() or client.edit)
            assert changes != bool(reason_against(scenario, client))
        if scenario.name == "subagent":
            assert bool(client.subagent(SUBTASK)) != bool(
                reason_against(scenario, client)
            )


@EACH
def test_the_model_calls_the_clients_own_tools(client: Client, tmp_path: Path) -> None:
    played = script(client, tmp_path)
    listing = played.answer(ScriptContext(1, LIST), "any", {})
    both = played.answer(ScriptContext(1, BOTH), "any", {})
    own = [client.shell("ls").name] if client.has_tools else []
    assert [call.name for call in listing.calls] == own
    assert len(both.calls) == 2 * len(own)
    after = played.answer(ScriptContext(2, LIST, results=(("id", "done"),)), "any", {})
    assert [client.last_command in call.arguments for call in after.calls] == (
        [True] if client.last_command else []
    )


def test_a_client_whose_log_is_refused_is_run_behind_the_proxy_alone() -> None:
    aider = CLIENTS["aider"]
    assert reason_against(SCENARIOS[0], aider, by_proxy=False) == aider.no_log
    assert not reason_against(SCENARIOS[0], aider, by_proxy=True)


@EACH
def test_a_request_for_a_summary_gets_one_though_it_repeats_a_prompt(
    client: Client, tmp_path: Path
) -> None:
    asked = ScriptContext(3, f"{client.summary_prompt} of: {LIST}")
    assert "<summary>" in script(client, tmp_path).answer(asked, "any", {}).text


@EACH
def test_a_client_is_configured_in_its_own_home_for_the_simulator_alone(
    client: Client, tmp_path: Path
) -> None:
    place = Place(tmp_path, "http://127.0.0.1:5", small_window=True)
    variables = client.prepare(place)
    files = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    configured = " ".join([*variables.values(), *files])
    assert "http://127.0.0.1:5" in configured
    assert configured.count("http") == configured.count("http://127.0.0.1:5")
