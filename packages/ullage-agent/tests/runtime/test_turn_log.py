"""The line of a turn that failed or waits for a person."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.agents import haiku
from ullage.errors import ProviderError
from ullage.loop_thread import run_to_end
from ullage_agent.runtime.hosting import Host
from ullage_agent.tools.functions import tool
from ullage_simulators import running
from ullage_simulators.scenario import read

NOWHERE = "http://127.0.0.1:9"


@tool(needs_approval=True)
async def press(what: str) -> str:
    """Press something.

    Args:
        what: what to press
    """
    return what


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Level and text of what was logged of turns."""
    records = [each for each in caplog.records if hasattr(each, "session")]
    return [(each.levelname, each.getMessage()) for each in records]


def test_a_failed_turn_is_one_line_and_a_look_from_another_process_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = haiku(tmp_path / "s.db", base_url=NOWHERE, tries=1)
    with caplog.at_level(logging.INFO, "ullage"):
        with pytest.raises(ProviderError):
            agent.run_sync("Hello.", session="s")
        ((level, line),) = lines(caplog)
        assert level == "WARNING"
        told = "The session s of the tenant default, with anthropic:claude-haiku-4-5"
        assert line.startswith(f"{told}: failed: Unreachable: ")
        assert "\n" not in line
        caplog.clear()

        async def look() -> None:
            async with Host(haiku(tmp_path / "s.db", base_url=NOWHERE)) as host:
                assert await (await host.look("s")).history()

        run_to_end(look())
        assert lines(caplog) == []


def test_a_turn_that_waits_for_approval_is_one_line_of_information(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call = {"name": "press", "arguments": {"what": "grapes"}}
    with running(read({"answers": [{"calls": [call, call]}]})) as simulator:
        url = simulator.url("anthropic")
        agent = haiku(tmp_path / "s.db", base_url=url, tools=[press])
        with caplog.at_level(logging.INFO, "ullage"):
            agent.run_sync("Press.", session="s")
    ((level, line),) = lines(caplog)
    assert level == "INFO"
    assert line.endswith(": needs approval: press")


def test_a_program_without_logging_sees_the_exception_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    agent = haiku(tmp_path / "s.db", base_url=NOWHERE, tries=1)
    handlers, logging.root.handlers = logging.root.handlers, []
    try:
        with pytest.raises(ProviderError):
            agent.run_sync("Hello.", session="s")
    finally:
        logging.root.handlers = handlers
    assert capfd.readouterr().err == ""
