import json
from typing import Any

from tests.importers.folding import Folded
from ullage.events import CallEnded, Event
from ullage_programs.claude_code.log import ClaudeCodeReader

MODEL = "claude-opus-4-6"
OTHER_MODEL = "claude-haiku-5-5"


class CostLog:
    """Writes the lines of a session; ``lines`` is the log."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def line(self, kind: str, **fields: Any) -> None:
        """A line of the conversation, behind the one before."""
        number = len(self.lines)
        about: dict[str, Any] = {"type": kind, "uuid": f"line-{number}"}
        about["sessionId"] = "s-1"
        about["parentUuid"] = f"line-{number - 1}" if number else None
        self.lines.append({**about, "version": "2.1.330", **fields})

    def user(self, content: object, **more: Any) -> None:
        self.line("user", message={"role": "user", "content": content}, **more)

    def answer(self, text: str, tokens: int = 500, **more: Any) -> None:
        usage = {"input_tokens": tokens, "output_tokens": 9}
        name = f"msg-{len(self.lines)}"
        message: dict[str, Any] = {"id": name, "model": MODEL, "usage": usage}
        message["content"] = [{"type": "text", "text": text}]
        self.line("assistant", message=message, **more)

    def bytes(self) -> list[bytes]:
        return [json.dumps(line).encode() for line in self.lines]


def total(log: CostLog, tokens: int, output: int, model: str = MODEL) -> None:
    """The program's total at the end of a turn."""
    used = {"inputTokens": tokens, "outputTokens": output, "cacheReadInputTokens": 0}
    usage = {model: used}
    log.lines.append({"type": "cost-state", "sessionId": "s-1", "modelUsage": usage})


def answered() -> CostLog:
    """A turn with one call of 500 tokens, which answers with 9."""
    log = CostLog()
    log.user("Count the bottles.")
    log.answer("Twelve.")
    return log


def compacted() -> CostLog:
    log = answered()
    total(log, 500, 9)
    log.line("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"})
    log.user("There are twelve.", isCompactSummary=True)
    return log


def read_log(log: CostLog) -> list[Event]:
    reader = ClaudeCodeReader()
    events = [*reader.feed(log.bytes()), *reader.settle()]
    assert reader.skips.reasons == {}
    return events


def spent(events: list[Event]) -> list[tuple[str, str, int | None, int | None]]:
    """The calls that are not those of the conversation."""
    found: list[tuple[str, str, int | None, int | None]] = []
    for event in events:
        if isinstance(event, CallEnded) and event.purpose != "main":
            usage = event.usage
            assert usage is not None
            found.append((event.purpose, event.model, usage.input, usage.output))
    return found


def test_totals_that_are_those_of_the_logged_calls_add_nothing() -> None:
    log = answered()
    total(log, 500, 9)
    assert spent(read_log(log)) == []


def test_what_a_compaction_adds_to_the_totals_is_the_call_for_its_summary() -> None:
    log = compacted()
    total(log, 1_300, 49)
    assert spent(read_log(log)) == [("summary", MODEL, 800, 40)]


def test_what_a_turn_without_a_compaction_adds_is_a_call_of_the_programs_own() -> None:
    log = answered()
    total(log, 500, 9)
    total(log, 70, 5, OTHER_MODEL)
    assert spent(read_log(log)) == [("other", OTHER_MODEL, 70, 5)]


def test_calls_of_subagents_in_the_totals_are_counted_once() -> None:
    log = compacted()
    total(log, 1_300, 49)
    reader = ClaudeCodeReader()
    events = reader.feed(log.bytes())
    child = CostLog()
    child.answer("Cool.", tokens=300, isSidechain=True, agentId="a-1")
    reader.feed_subagent(child.bytes())
    events += reader.settle()
    assert spent(events) == [
        ("child", MODEL, 300, 9),
        ("summary", MODEL, 500, 31),
    ]


def test_totals_behind_a_cleared_conversation_may_hold_its_calls() -> None:
    log = CostLog()
    log.user("<command-name>/clear</command-name>")
    log.user("Count the bottles.")
    log.answer("Twelve.")
    total(log, 90_500, 4_009)
    assert spent(read_log(log)) == []
    total(log, 90_600, 4_010)
    assert spent(read_log(log)) == [("other", MODEL, 100, 1)]


def test_totals_that_began_anew_are_compared_with_the_calls_since() -> None:
    log = answered()
    total(log, 500, 9)
    log.answer("Thirteen.", tokens=400)
    total(log, 460, 9)
    assert spent(read_log(log)) == [("other", MODEL, 60, 0)]


def test_an_output_alone_is_no_call() -> None:
    log = answered()
    total(log, 500, 900)
    assert spent(read_log(log)) == []


def test_wrong_types_in_totals_are_passed_over() -> None:
    log = answered()
    usages: list[object] = [
        7,
        [],
        {MODEL: 7},
        {MODEL: {"inputTokens": "9", "outputTokens": -1}},
        {MODEL: {"inputTokens": True, "cacheReadInputTokens": 1e300}},
    ]
    for usage in usages:
        log.lines.append({"type": "cost-state", "modelUsage": usage})
    assert spent(read_log(log)) == []


def test_totals_change_nothing_of_the_conversation() -> None:
    with_totals = compacted()
    total(with_totals, 1_300, 49)
    without = compacted()
    without.lines = [line for line in without.lines if line["type"] != "cost-state"]
    assert Folded(read_log(with_totals)).said() == Folded(read_log(without)).said()
