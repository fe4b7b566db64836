"""The application as a whole."""

from pathlib import Path

from tests.server.served import script, serving
from ullage_simulators import running


def test_work_that_was_left_is_resumed_without_being_asked_for(tmp_path: Path) -> None:
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
