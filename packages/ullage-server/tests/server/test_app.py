"""The application as a whole."""

import asyncio
from pathlib import Path

from tests.agents import haiku
from tests.server.served import script, serving
from ullage_server.app import HANDLERS, application
from ullage_simulators import running


def test_every_handler_is_there_once() -> None:
    assert len({handler.fn for handler in HANDLERS}) == len(HANDLERS)


def test_several_applications_do_not_share_anything(tmp_path: Path) -> None:
    agent = haiku(tmp_path / "s.db", environment={})

    async def make() -> None:
        first, second = application(agent), application(agent)
        assert first.metrics.registry is not second.metrics.registry
        assert first.closing is not second.closing

    asyncio.run(make())


def test_work_that_was_left_is_gone_on_with_without_being_asked_for(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    with running(script({"text": "Word after word. " * 40}, delay_s=0.02)) as simulator:
        with serving(simulator.url("anthropic"), store) as first:
            session = first.api.session("s")
            first.api.say(session, "hello")
            first.api.until_event(session, "draft")
        with serving(simulator.url("anthropic"), store) as second:
            ended = next(
                frame
                for frame in second.api.events(session, params={"after": "0"})
                if frame.event == "turn_ended"
            )
            assert ended.data.get("reason", "finished") == "finished"
