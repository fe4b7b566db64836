"""What OpenCode sends of a session: reminders, cleared results, summaries, and what plugins have taken out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ullage.cli.session import metered
from ullage.events import CallEnded, CompactionCommitted
from ullage.importers import ImportedSession, read
from ullage.meter.meter import Meter
from ullage.meter.track import Step

MODEL = {"providerID": "openai", "modelID": "gpt-5.6-luna"}
WORDS = "one word after the other " * 200
CLEARED_AT = 5_500
EXACT = 15


def _times() -> Iterator[int]:
    return iter(range(1_000, 1_000_000, 1_000))


class Log:
    """An export under construction; a message a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.times = _times()
        self.messages: list[dict[str, Any]] = []

    def user(
        self, *parts: dict[str, Any], agent: str = "build", text: str = "Go on."
    ) -> None:
        name = f"u{len(self.messages)}"
        info = {"id": name, "role": "user", "agent": agent}
        self._add(info, parts or ({"type": "text", "text": text},))

    def answer(self, tokens: int, *parts: dict[str, Any], **info: Any) -> None:
        """One call with this input and 10 tokens of output."""
        spent = {"input": tokens, "output": 10, "reasoning": info.pop("reasoning", 0)}
        spent["cache"] = {"read": 0, "write": 0}
        name, asked = f"a{len(self.messages)}", self.messages[-1]["info"]["id"]
        own = {
            "id": name,
            "role": "assistant",
            "tokens": spent,
            "parentID": asked,
            **MODEL,
        }
        end = {"type": "step-finish", "reason": "stop", "tokens": spent}
        self._add({**own, **info}, (*parts, end))

    def read(self) -> ImportedSession:
        info = {"id": "s", "version": "1.18.9", "directory": "/p"}
        self.path.write_text(json.dumps({"info": info, "messages": self.messages}))
        return read(self.path)

    def steps(self) -> tuple[Step, ...]:
        meter = Meter()
        metered(self.read(), meter)
        return tuple(meter.steps)

    def _add(self, info: dict[str, Any], parts: tuple[dict[str, Any], ...]) -> None:
        info["time"] = {"created": next(self.times)}
        self.messages.append({"info": info, "parts": [*parts]})


def _result(call: str, **time: int) -> dict[str, Any]:
    state = {"status": "completed", "input": {}, "output": WORDS, "time": time}
    return {"type": "tool", "callID": call, "tool": "read", "state": state}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_what_changed_on_disk_is_no_call(tmp_path: Path) -> None:
    log = Log(tmp_path / "export.json")
    log.user()
    log.answer(9_000, _text("Done."))
    log.messages[-1]["parts"].append({"type": "patch", "hash": "h", "files": ["a"]})
    ended = [each for each in log.read().events if isinstance(each, CallEnded)]
    assert [each.usage.input for each in ended if each.usage] == [9_000]
    assert len(ended) == 1


def test_results_of_calls_with_one_name_are_all_cleared(tmp_path: Path) -> None:
    log = Log(tmp_path / "export.json")
    log.user()
    log.answer(9_000, *(_result("same", compacted=CLEARED_AT) for _ in range(3)))
    log.answer(12_050, _text("Done."))
    log.user()
    log.answer(12_074, _text("Done."))
    log.user()
    log.answer(9_100, _text("Done."))
    last = log.steps()[-1]
    assert last.marks == ("prune",)
    assert abs(last.estimated - 9_130) < 50


def test_what_a_plugin_took_out_does_not_leave_again(tmp_path: Path) -> None:
    log = Log(tmp_path / "export.json")
    log.user()
    log.answer(9_000, *(_result(name, compacted=CLEARED_AT) for name in "abc"))
    log.answer(12_050, _text("Done."))
    log.user()
    log.answer(9_100, _text("Done."))
    log.user()
    log.answer(9_124, _text("Done."))
    last = log.steps()[-1]
    assert last.marks == ("prune",)
    assert abs(last.estimated - 9_124) < 100
    assert last.is_inside


def test_a_summary_is_sent_with_its_reasoning(tmp_path: Path) -> None:
    log = Log(tmp_path / "export.json")
    log.user(text=WORDS)
    log.answer(10_000, _text("Done."))
    log.user({"type": "compaction", "auto": True})
    thought = {
        "type": "reasoning",
        "text": "I sum up",
        "metadata": {"openai": {"id": "r"}},
    }
    spent = {"summary": True, "finish": "stop", "reasoning": 1_000}
    log.answer(9_000, thought, _text("All is done, as it was asked for."), **spent)
    log.user()
    log.answer(10_030, _text("Done."))
    last = log.steps()[-1]
    assert last.situation == "after a compaction"
    assert last.is_inside
    assert last.estimated > 9_900


def test_a_summary_that_was_broken_off_or_not_asked_for_replaces_nothing(
    tmp_path: Path,
) -> None:
    log = Log(tmp_path / "export.json")
    log.user(text=WORDS)
    log.answer(10_000, _text("Done."))
    log.user({"type": "compaction", "auto": True})
    log.answer(0, _text("All"), summary=True)
    log.messages[-1]["parts"].pop()
    log.user()
    log.answer(9_000, _text("All is done."), summary=True, finish="stop")
    events = log.read().events
    assert not any(isinstance(each, CompactionCommitted) for each in events)


def test_plan_mode_is_reminded_of_until_it_is_left(tmp_path: Path) -> None:
    log = Log(tmp_path / "export.json")
    log.user()
    log.answer(9_000, _text("Done."))
    for agent, tokens in (("plan", 9_300), ("plan", 9_323), ("build", 9_127)):
        log.user(agent=agent)
        log.answer(tokens, _text("Done."))
    steps = log.steps()[1:]
    assert all(abs(each.error or 0) <= EXACT for each in steps)
    assert [each.situation for each in steps][1] == "user turn"
