"""Ullage's reading of a client's log beside the bills of the requests that the client made."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bench.clients.client import Client, Lane
from bench.clients.scenarios import SUBTASK
from ullage.errors import InputError
from ullage.events import CallEnded
from ullage.importers import FoundSession, ImportedSession, find_sessions, read
from ullage.meter.meter import Meter
from ullage_simulators.server import Exchange
from ullage_simulators.simulators import simulators

HIDDEN_KEYS = frozenset(
    {"signature", "encrypted_content", "thoughtSignature", "id", "call_id"}
) | {"type", "role", "cache_control"}
"""Fields of a message whose text is not text of the conversation."""


class BilledRequest(NamedTuple):
    """A request that the simulator answered. ``shown`` is whether its answer reached the client as a whole."""

    lane: Lane
    input: int
    shown: bool = True


def billed_requests(
    client: Client, exchanges: Sequence[Exchange], interrupted: set[int]
) -> list[BilledRequest]:
    """The answered requests in order, each with its lane."""
    found = []
    for exchange in exchanges:
        if exchange.bill is not None:
            shown = exchange.number not in interrupted
            lane = lane_of(client, exchange.body)
            found.append(BilledRequest(lane, exchange.bill.input, shown))
    return found


def lane_of(client: Client, body: Any) -> Lane:
    said = list(user_texts(body))
    last = said[-1] if said else ""
    system = "\n".join(texts_in(_prompt(body)))
    if client.summary_prompt in last:
        return "summary"
    aside = any(words in last or words in system for words in client.side_prompts)
    if aside or bool(body.get("tools")) != client.has_tools:
        return "other"
    if any(SUBTASK in text for text in said[:3]) and "go-agent" not in " ".join(said):
        return "child"
    return "main"


def items_of(body: Any) -> list[Any]:
    """The conversation of a request, whatever the wire."""
    for name in ("messages", "input", "contents"):
        items = body.get(name)
        if isinstance(items, list):
            return items
    return [{"role": "user", "content": body.get("input", "")}]


def _prompt(body: Any) -> list[Any]:
    """The system prompt. Where no field has it, it is the first item, if it has its role."""
    own = [body.get(name) for name in ("system", "instructions", "systemInstruction")]
    first = items_of(body)[:1]
    if any(own) or not first or not isinstance(first[0], dict):
        return own
    return first if first[0].get("role") in ("system", "developer") else []


def user_texts(body: Any) -> Iterator[str]:
    for item in items_of(body):
        if isinstance(item, dict) and item.get("role") == "user":
            yield "\n".join(texts_in(item.get("content", item.get("parts"))))


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a JSON value but ids, kinds and signatures."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in HIDDEN_KEYS:
                yield from texts_in(each)


LANES: tuple[Lane, ...] = ("main", "child", "summary", "other")
LANE_OF_PURPOSE: Mapping[str, Lane] = {"child": "child", "summary": "summary"}


class Refusal(Struct, frozen=True):
    """A rule that refused requests of the client, and how many."""

    rule: str
    source: str
    confidence: str
    said: str
    times: int
    rightly: str = ""
    """What shows that the real provider refuses the request as well; then it is no failure."""


class Estimate(Struct, frozen=True):
    """An estimate of a call's input, made before the call, and the bill. ``after`` is what happened before it."""

    tokens: int
    low: int
    high: int
    billed: int
    first: bool = False
    after: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """``first``, ``after compaction``, ``after model`` (a switch), or ``later``."""
        if self.first:
            return "first"
        named = [mark for mark in ("compaction", "model") if mark in self.after]
        return f"after {named[0]}" if named else "later"

    @property
    def error_percent(self) -> float:
        return 100 * (self.tokens - self.billed) / self.billed

    @property
    def is_inside(self) -> bool:
        return self.low <= self.billed <= self.high


class LaneResult(Struct, frozen=True):
    """The inputs of one lane. ``wrong``: read, but not billed in that order. ``unread``: billed, but not read."""

    lane: str
    billed: int
    equal: int
    wrong: tuple[int, ...]
    unread: tuple[int, ...]
    reason: str = ""
    """Why the client's log lacks what is unread; then it is no failure."""


class ScenarioResult(Struct, frozen=True):
    """What was found of one client in one scenario. ``skipped``: why it was not run; ``problem``: what went wrong."""

    client: str
    version: str
    scenario: str
    requests: int = 0
    refusals: tuple[Refusal, ...] = ()
    unserved: tuple[str, ...] = ()
    lanes: tuple[LaneResult, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    logs: int = 0
    unread_lines: int = 0
    skipped: str = ""
    problem: str = ""
    by_proxy: bool = False
    """Whether the proxy's ledger was read, which has every call, instead of the client's log."""
    ended_rightly: str = ""
    """Why the program failed, if the real provider refuses its last request as well; then ``problem`` is no failure."""

    @property
    def failures(self) -> list[str]:
        """What must not be: refused requests, a log that is not read, reported inputs that were not billed."""
        wrongly = [each for each in self.refusals if not each.rightly]
        found = [f"refused: {each.rule}: {each.said}" for each in wrongly]
        if self.problem and not self.ended_rightly:
            found.append(self.problem)
        if self.requests and not self.logs:
            found.append("the client's log was not found or not read")
        if self.by_proxy and self.unread_lines:
            found.append(f"{self.unread_lines} lines of the ledger were not read")
        for lane in self.lanes:
            may_lack = lane.lane == "other" and not self.by_proxy
            found += _lane_failures(lane, is_read=bool(self.logs), may_lack=may_lack)
        return found


class _Log(NamedTuple):
    """A session's log as it was read: estimates and reported inputs of its lanes."""

    imported: ImportedSession
    meter: Meter


def _lane_failures(lane: LaneResult, *, is_read: bool, may_lack: bool) -> list[str]:
    """What must not be in a lane. Titles and notes (``other``) may be missing in a log."""
    found = []
    if lane.wrong:
        found.append(f"{lane.lane}: read {list(lane.wrong)}, which was not billed")
    if lane.unread and is_read and not may_lack and not lane.reason:
        found.append(f"{lane.lane}: billed {list(lane.unread)}, which was not read")
    if lane.reason and lane.billed == lane.equal:
        found.append(f"{lane.lane}: all are read, so its reason is wrong: {lane.reason}")
    return found


def refusals(client: Client, exchanges: Iterable[Exchange]) -> tuple[Refusal, ...]:
    """The refused requests by rule, with the rule's source."""
    rules = {
        (wire.name, name): rule
        for wires in simulators().values()
        for wire in wires
        for name, rule in wire.rules.items()
    }
    counted: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        if exchange.rule:
            counted.setdefault(exchange.rule, []).append(exchange)
    found = []
    for name, refused in counted.items():
        rule = rules.get((refused[0].wire, name))
        source = rule.source if rule else ""
        confidence = rule.confidence if rule else ""
        said = refused[0].said.splitlines()[0][:200]
        rightly = client.refused_rightly.get(name, "")
        times = len(refused)
        found.append(Refusal(name, source, confidence, said, times, rightly))
    return tuple(found)


def lane_result(
    lane: Lane,
    billed: Sequence[BilledRequest],
    read: Sequence[int],
    beside: Sequence[BilledRequest] = (),
) -> LaneResult:
    """Reported inputs of a lane beside its bills, in order. An interrupted answer may be missing in the log.

    A client may log one sum for all requests of a summary, also with those ``beside`` the conversation, such as titles.
    """
    bills = [each.input for each in billed]
    more = sum(each.input for each in beside)
    if lane == "summary" and sum(read) - sum(bills) in (0, more):
        return LaneResult(lane, len(bills), len(bills), (), ())
    matcher = SequenceMatcher(None, bills, read, autojunk=False)
    matched_bills: set[int] = set()
    matched_read: set[int] = set()
    for block in matcher.get_matching_blocks():
        matched_bills.update(range(block.a, block.a + block.size))
        matched_read.update(range(block.b, block.b + block.size))
    unread = []
    spare = [each.input for each in billed if not each.shown]
    for place, each in enumerate(billed):
        if place in matched_bills or not each.shown:
            continue
        if each.input in spare:  # the same request again, after an answer that broke off
            spare.remove(each.input)
        else:
            unread.append(each.input)
    wrong = tuple(each for place, each in enumerate(read) if place not in matched_read)
    return LaneResult(lane, len(bills), len(matched_bills), wrong, tuple(unread))


def compared(
    home: Path,
    environment: dict[str, str],
    billed: Sequence[BilledRequest],
    unlogged: Mapping[Lane, str],
    *,
    in_order: bool = True,
    by_proxy: bool = False,
) -> ScenarioResult:
    """The logs below a home directory beside the bills; without the fields that name the client and its requests.

    ``unlogged`` says of a lane why the client's log lacks its calls. Of sessions that ran at once, calls are not
    ``in_order``. ``by_proxy``: it is the proxy's ledger, which knows each call's purpose.
    """
    logs, problems = _logs(home, environment)
    read_by_lane: dict[Lane, list[int]] = {lane: [] for lane in LANES}
    estimates: list[Estimate] = []
    for log in logs:
        for step in log.meter.steps:
            if step.actual is None:
                continue
            read_by_lane["main"].append(step.actual)
            estimates.append(
                Estimate(
                    step.estimated,
                    step.low,
                    step.high,
                    step.actual,
                    step.first,
                    step.marks,
                )
            )
        for event in log.imported.events:
            if not isinstance(event, CallEnded) or event.purpose == "main":
                continue
            if event.usage and event.usage.context is not None:
                lane = LANE_OF_PURPOSE.get(event.purpose, "other")
                read_by_lane[lane].append(event.usage.context)
    lanes = []
    for lane, reported in read_by_lane.items():
        mine = [each for each in billed if each.lane == lane]
        if not by_proxy:
            mine = [each for each in billed if _may_be_read(each, lane)]
        if mine or reported:
            if not in_order:
                mine.sort(key=_input_of)
                reported.sort()
            beside = [] if by_proxy else [each for each in billed if each.lane == "other"]
            found = lane_result(lane, mine, reported, beside)
            lanes.append(replace(found, reason=unlogged.get(lane, "")))
    return ScenarioResult(
        client="",
        version="",
        scenario="",
        lanes=tuple(lanes),
        estimates=tuple(estimates),
        logs=len(logs),
        unread_lines=sum(log.imported.skipped_lines for log in logs),
        problem="; ".join(problems),
    )


def _input_of(request: BilledRequest) -> int:
    return request.input


def _may_be_read(request: BilledRequest, lane: Lane) -> bool:
    """Whether the lane may hold the request. An interrupted one may only be in a sum: then its purpose is not known."""
    return request.lane == lane or (lane == "other" and not request.shown)


def _logs(home: Path, environment: dict[str, str]) -> tuple[list[_Log], list[str]]:
    """The sessions in the usual places, oldest first, and why some can't be read."""
    found = find_sessions({"HOME": str(home), **environment}, home)
    logs: list[_Log] = []
    problems: list[str] = []
    for place in sorted(found.places, key=_began):
        try:
            imported = read(place.path, session=place.session)
        except InputError as why:
            problems.append(str(why).splitlines()[0])
            continue
        logs.append(_metered(imported))
    return logs, problems


def _began(place: FoundSession) -> float:
    return place.modified


def _metered(imported: ImportedSession) -> _Log:
    meter = Meter()
    for event in imported.events:
        meter.apply(event)
    return _Log(imported, meter)


class ErrorFigures(NamedTuple):
    """Sizes of errors in percent."""

    median: float
    p95: float
    worst: float


def error_figures(estimates: Iterable[Estimate]) -> ErrorFigures | None:
    """The errors' sizes; ``None`` without estimates."""
    errors = sorted(abs(each.error_percent) for each in estimates)
    if not errors:
        return None
    place = min(len(errors) - 1, round(0.95 * (len(errors) - 1)))
    return ErrorFigures(statistics.median(errors), errors[place], errors[-1])
