"""Is the cause of a missed cache named right? Labelled changes of real requests, billed by a cache's documented rules.

    uv run python -m bench.clients --keep DIR         # requests of real clients
    uv run python -m bench.causes --kept DIR          # ten draws of each kind of change
    uv run python -m bench.causes --logs DIR          # logs in which Claude Code kept the provider's own verdicts

A draw is a real sequence of requests, each of which extends the one before; the last one is changed, and billed. Draws
that lose less than a cache's least size are drawn again: they broke nothing. What is recorded stays where it is.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from bench.cache_provider import LEAST, Billed, CachingProvider, blocks_of, wire_of
from bench.results import Table, show, write_tables
from ullage.advice.cause import Cause
from ullage.advice.causes import CauseFollower
from ullage.advice.history import history_of
from ullage.codec.bodies import read_body, read_body_items
from ullage.events import CallStarted, Event
from ullage.meter.meter import Meter
from ullage.meter.sent_items import sent_items

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench" / "RESULTS.md"
DRAWS, TRIES, LONGEST = 10, 80, 5
SEED = 20261129
STEP_S = 20.0
"""Seconds between two requests."""

Json = dict[str, Any]
Chain = Sequence[Json]
"""Bodies, each of which extends the one before."""


class Change(NamedTuple):
    """A kind of change. ``make`` changes the last body and gives a word that the cause's name has to hold.

    ``pause_s`` comes in front of the last request; ``drops``: the provider forgets what it had. ``unlogged`` is what a
    ledger without bodies does not hold.
    """

    kind: str
    title: str
    make: Callable[[Json, random.Random], str]
    wire: str = "messages"
    pause_s: float = STEP_S
    drops: bool = False
    betas: str = ""
    unlogged: bool = False


# -- the changes --


def _tool(body: Json, name: str) -> Json:
    if "input" in body:
        return {"type": "function", "name": name, "parameters": {"type": "object"}}
    return {"name": name, "description": "x", "input_schema": {"type": "object"}}


def _add_tool(body: Json, _: random.Random) -> str:
    body["tools"].append(_tool(body, "mobile_mcp"))
    return "mobile_mcp"


def _remove_tool(body: Json, draw: random.Random) -> str:
    place = draw.randrange(len(body["tools"]) - 1)
    return str(body["tools"].pop(place).get("name"))


def _swap_tools(body: Json, draw: random.Random) -> str:
    one, other = draw.sample(range(len(body["tools"])), 2)
    body["tools"][one], body["tools"][other] = body["tools"][other], body["tools"][one]
    return ""


def _shuffle_tools(body: Json, draw: random.Random) -> str:
    before = list(body["tools"])
    draw.shuffle(body["tools"])
    if body["tools"] == before:
        raise LookupError
    return ""


def _describe_tool(body: Json, draw: random.Random) -> str:
    tool = draw.choice([each for each in body["tools"] if each.get("description")])
    text = tool["description"]
    at = draw.randrange(len(text))
    tool["description"] = text[:at] + "!" + text[at:]
    return str(tool["name"])


def _reorder_schema(body: Json, draw: random.Random) -> str:
    tools = [each for each in body["tools"] if len(each.get("input_schema") or {}) > 1]
    tool = draw.choice(tools)
    tool["input_schema"] = dict(reversed(tool["input_schema"].items()))
    return str(tool["name"])


def _replace_tool(body: Json, draw: random.Random) -> str:
    place = draw.randrange(len(body["tools"]))
    name = body["tools"][place].get("name")
    body["tools"][place] = _tool(body, "other_tool")
    return str(name)


def _date(body: Json, _: random.Random) -> str:
    block = body["system"][-1]
    block["text"] = "Today: 2026-11-28 02:31. " + block["text"]
    return f"block {len(body['system']) - 1}"


def _rule(body: Json, _: random.Random) -> str:
    body["system"][-1]["text"] += "\nOne more rule."
    return f"block {len(body['system']) - 1}"


def _add_block(body: Json, _: random.Random) -> str:
    body["system"].insert(0, {"type": "text", "text": "Extra block of a plug-in."})
    return "block"


def _drop_block(body: Json, draw: random.Random) -> str:
    if len(body["system"]) < 2:
        raise LookupError
    del body["system"][draw.randrange(len(body["system"]))]
    return "block"


def _instructions(body: Json, _: random.Random) -> str:
    if body.get("instructions"):
        text = body["instructions"]
        body["instructions"] = text[:400] + " Now 12:05:17 " + text[400:]
        return "block 0"
    first = next(each for each in body["input"] if each.get("role") == "developer")
    block = first["content"][0]
    block["text"] = block["text"][:400] + " Now 12:05:17 " + block["text"][400:]
    return "block 0"


def _history(body: Json) -> list[Json]:
    found: list[Json] = body.get("messages") or body["input"]
    return found


def _texts(body: Json, least: int = 1) -> list[tuple[int, Json]]:
    """The text blocks of messages with their places, without the last messages."""
    found: list[tuple[int, Json]] = []
    for place, message in enumerate(_history(body)[:-2]):
        if isinstance(message.get("content"), str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in message.get("content") or ():
            if isinstance(block.get("text"), str) and len(block["text"]) >= least:
                found.append((place, block))
    return found


def _edit(body: Json, draw: random.Random) -> str:
    place, block = draw.choice(_texts(body))
    block["text"] = "Changed. " + block["text"]
    return f"message {place + 1} "


def _space(body: Json, draw: random.Random) -> str:
    place, block = draw.choice(_texts(body))
    block["text"] += draw.choice(["\n", " "])
    return f"message {place + 1} "


def _remove(body: Json, draw: random.Random) -> str:
    history = _history(body)
    if len(history) < 7:
        raise LookupError
    place = draw.randrange(1, len(history) - 4, 2)
    del history[place : place + 2]
    return f"message {place + 1} "


def _insert(body: Json, draw: random.Random) -> str:
    history = _history(body)
    place = draw.randrange(1, len(history) - 2)
    kind = "text" if "messages" in body else "input_text"
    text = "A reminder that a hook put in, long enough to be seen."
    content = [{"type": kind, "text": text}]
    history.insert(place, {"role": "user", "content": content})
    return f"message {place + 1} "


def _clear(body: Json, draw: random.Random) -> str:
    found: list[tuple[int, Json]] = []
    for place, message in enumerate(_history(body)[:-2]):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                found.append((place, block))
    place, block = draw.choice(found)
    block["content"] = "[Old tool result content cleared]"
    return f"message {place + 1} "


def _compact(body: Json, draw: random.Random) -> str:
    history = _history(body)
    if len(history) < 8:
        raise LookupError
    keep = draw.randrange(2, len(history) // 2)
    text = "Summary: the files were read, and nothing is open."
    summary = {"role": "user", "content": [{"type": "text", "text": text}]}
    body["messages"] = [summary, *history[-keep:]]
    return "message 1 "


def _strip(body: Json, draw: random.Random) -> str:
    found: list[int] = []
    for place, message in enumerate(_history(body)[:-2]):
        content = message["content"]
        is_long = isinstance(content, list) and len(content) > 1
        if is_long and content[0].get("type") in ("thinking", "redacted_thinking"):
            found.append(place)
    place = draw.choice(found)
    del _history(body)[place]["content"][0]
    return f"message {place + 1} "


def _rename_call(body: Json, draw: random.Random) -> str:
    found: list[tuple[int, Json]] = []
    for place, message in enumerate(_history(body)[:-2]):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_use":
                found.append((place, block))
    place, block = draw.choice(found)
    block["id"] = "toolu_changed"
    return f"message {place + 1} "


def _model(body: Json, _: random.Random) -> str:
    body["model"] = "claude-sonnet-4-5" if "opus" in body["model"] else "claude-opus-4-8"
    return str(body["model"])


def _think(body: Json, _: random.Random) -> str:
    body["thinking"] = {"type": "enabled", "budget_tokens": 7_777}
    return "thinking"


def _choose(body: Json, _: random.Random) -> str:
    body["tool_choice"] = {"type": "any"}
    return "tool_choice"


def _effort(body: Json, _: random.Random) -> str:
    body["reasoning"] = {**(body.get("reasoning") or {}), "effort": "minimal"}
    return "reasoning"


def _key(body: Json, _: random.Random) -> str:
    body["prompt_cache_key"] = "another"
    return "prompt_cache_key"


def _each_mark(value: Any, change: Callable[[Json], None]) -> None:
    if isinstance(value, dict):
        if "cache_control" in value:
            change(value)
        for each in list(value.values()):
            _each_mark(each, change)
    elif isinstance(value, list):
        for each in value:
            _each_mark(each, change)


def _unmark(body: Json, _: random.Random) -> str:
    _each_mark(body, lambda block: block.pop("cache_control"))
    return ""


def _other_life(body: Json, _: random.Random) -> str:
    def change(block: Json) -> None:
        is_hour = block["cache_control"].get("ttl") == "1h"
        life = {} if is_hour else {"ttl": "1h"}
        block["cache_control"] = {"type": "ephemeral", **life}

    _each_mark(body, change)
    return ""


def _move_mark(body: Json, _: random.Random) -> str:
    _unmark(body, _)
    body["tools"][0]["cache_control"] = {"type": "ephemeral"}
    return ""


def _far_mark(body: Json, _: random.Random) -> str:
    """Thirty blocks come behind the last mark at once."""
    last = _history(body)[-1]
    mark: list[Json] = []
    _each_mark(last, mark.append)
    if not mark:
        raise LookupError
    _each_mark(last, lambda block: block.pop("cache_control"))
    for number in range(30):
        block = {"type": "text", "text": f"line {number} of what a tool has printed"}
        last["content"].append(block)
    last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return ""


def _nothing(_: Json, __: random.Random) -> str:
    return ""


CHANGES: Final = (
    Change("tool_added", "tool added", _add_tool),
    Change("tool_removed", "tool removed", _remove_tool),
    Change("tools_reordered", "two tools swapped", _swap_tools),
    Change("tools_reordered", "tools shuffled", _shuffle_tools),
    Change("tool_changed", "a byte of a tool's description", _describe_tool),
    Change("tool_changed", "order of keys in a tool's schema", _reorder_schema),
    Change("tools_replaced", "tool replaced", _replace_tool),
    Change("system", "date in the system prompt", _date),
    Change("system", "system prompt longer", _rule),
    Change("system", "system block added", _add_block),
    Change("system", "system block removed", _drop_block),
    Change("message_edited", "message edited", _edit),
    Change("message_edited", "a byte of white space in a message", _space),
    Change("message_edited", "tool result cleared", _clear),
    Change("message_edited", "id of a tool call changed", _rename_call),
    Change("messages_removed", "messages removed", _remove),
    Change("messages_removed", "thinking stripped", _strip),
    Change("message_inserted", "message inserted", _insert),
    Change("compaction", "compacted", _compact),
    Change("model", "model changed", _model),
    Change("setting", "thinking budget changed", _think),
    Change("setting", "tool choice changed", _choose),
    Change("marks", "cache marks gone", _unmark, unlogged=True),
    Change("marks", "cache marks moved", _move_mark, unlogged=True),
    Change("lookback", "mark 30 blocks on", _far_mark, unlogged=True),
    Change("pause", "pause of seven minutes", _nothing, pause_s=420),
    Change("provider", "the provider's own miss", _nothing, drops=True),
    Change("tool_added", "tool added", _add_tool, "responses"),
    Change("system", "time in the instructions", _instructions, "responses"),
    Change("setting", "effort changed", _effort, "responses"),
    Change("messages_removed", "items removed", _remove, "responses"),
    Change("provider", "the provider's own miss", _nothing, "responses", drops=True),
)
"""The 32 kinds."""

MORE: Final = (
    Change(
        "beta",
        "beta header added",
        _nothing,
        betas="context-1m-2025-08-07",
        unlogged=True,
    ),
    Change("cache_key", "cache key changed", _key, "responses"),
    Change("pause", "pause of 40 minutes", _nothing, "responses", pause_s=2_400),
)
"""Kinds beyond these."""


# -- sequences --


def kept_bodies(directory: Path) -> Iterator[list[Json]]:
    """The requests of each run that ``bench.clients --keep`` left, in order."""
    for path in sorted(directory.glob("*/*/exchanges.jsonl")):
        bodies: list[Json] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            body = row.get("body")
            if row.get("bill") and isinstance(body, dict) and "contents" not in body:
                bodies.append(body)
        yield bodies


def chains_of(bodies: Sequence[Json]) -> list[Chain]:
    """The longest sequences of requests each of which extends the one before."""
    chains: list[list[Json]] = []
    blocks: list[list[str]] = []
    for body in bodies:
        texts = [block.text for block in blocks_of(body, {})]
        for place in reversed(range(len(chains))):
            known = blocks[place]
            if known != texts and texts[: len(known)] == known:
                chains[place].append(body)
                blocks[place] = texts
                break
        else:
            chains.append([body])
            blocks.append(texts)
    return [chain for chain in chains if len(chain) > 2]


# -- one draw --


class Played(NamedTuple):
    """A sequence as it was metered and billed: its events, and the bill of the last request."""

    events: list[Event]
    bill: Billed


def play(chain: Chain, change: Change | None = None) -> Played:
    """Meter a sequence of requests as a proxy does, and bill it. ``change`` says how the last one is sent."""
    events: list[Event] = []
    at = 1_000.0
    first = chain[0]
    wire = wire_of(first)
    maker = "anthropic" if wire == "messages" else "openai"
    meter = Meter(
        provider=maker,
        model=first["model"],
        on_event=lambda event: events.append(replace(event, at=at)),
    )
    provider = CachingProvider()
    bill = Billed(0, 0, None)
    for place, body in enumerate(chain):
        at += STEP_S
        headers = {"anthropic-beta": "interleaved-thinking-2025-05-14"}
        if change is not None and place == len(chain) - 1:
            at += change.pause_s - STEP_S
            provider.drops = change.drops
            headers["anthropic-beta"] += "," + change.betas if change.betas else ""
        request = meter._as_request(body)
        meter._follow(request)
        call = meter.start_call(request, sent=sent_items(request, headers)).call
        bill = provider.bill(body, at, headers)
        meter.after(call, bill.usage(wire))
    return Played(events, bill)


def without_bodies(events: Sequence[Event]) -> list[Event]:
    """The same as a log has them that knows no bodies."""
    found: list[Event] = []
    for event in events:
        found.append(
            replace(event, sent=None) if isinstance(event, CallStarted) else event
        )
    return found


def causes_of(events: Sequence[Event]) -> list[Cause]:
    """The causes of all calls."""
    return [row.cause for row in history_of(events).calls if row.cause is not None]


class Draw(NamedTuple):
    """What was named of a change, from bodies and from the log; ``lost`` are the tokens that the bill lost by it."""

    change: Change
    names: tuple[str, ...]
    bodies: Cause | None
    log: Cause | None
    lost: int

    def is_right(self, cause: Cause | None) -> bool:
        """Whether the cause is of this kind, and names it."""
        if cause is None or cause.kind != self.change.kind:
            return False
        said = f"{cause.name} {cause.words}"
        return any(name in said for name in self.names)

    @property
    def error(self) -> float:
        """Of the tokens, as a share of those lost."""
        return abs((self.bodies.tokens if self.bodies else 0) - self.lost) / self.lost


def drawn(change: Change, chains: Sequence[Chain], draw: random.Random) -> Draw | None:
    """A change of a real sequence, as it was named; ``None`` where none of the sequences can be changed so."""
    fitting = [chain for chain in chains if wire_of(chain[0]) == change.wire]
    for _ in range(TRIES):
        if not fitting:
            return None
        whole = draw.choice(fitting)
        end = draw.randrange(3, len(whole) + 1)
        chain = list(whole[max(0, end - LONGEST) : end])
        last = copy.deepcopy(chain[-1])
        try:
            name = change.make(last, draw)
        except (LookupError, KeyError, TypeError, ValueError):
            continue
        broken = play([*chain[:-1], last], change)
        whole_bill = play(chain).bill
        smaller = max(0, whole_bill.input - broken.bill.input)
        lost = whole_bill.read - smaller - broken.bill.read
        held = play(chain[:-1]).bill
        if lost < LEAST or held.held - whole_bill.read >= LEAST:
            continue
        found = causes_of(broken.events)
        logged = causes_of(without_bodies(broken.events))
        names = {*_counted(name, chain[-1]), *_counted(name, last)}
        return Draw(change, tuple(names), _last(found), _last(logged), lost)
    return None


def _counted(name: str, body: Json) -> Iterator[str]:
    """The name of a body's message as it is counted once it was read: results of tools are one by themselves."""
    if not name.startswith("message "):
        yield name
        return
    wanted = int(name.split()[1]) - 1
    for number, places in enumerate(read_body_items(body).items, 1):
        if wanted in places:
            yield f"message {number} "


def _last(causes: list[Cause]) -> Cause | None:
    return causes[-1] if causes else None


# -- the tables --


def tried(chains: Sequence[Chain], changes: Sequence[Change], draws: int) -> list[Draw]:
    """So many draws of each change, in its order."""
    found: list[Draw] = []
    for number, change in enumerate(changes):
        draw = random.Random(f"{SEED}.{number}")
        for _ in range(draws):
            one = drawn(change, chains, draw)
            if one is not None:
                found.append(one)
    return found


def table(draws: Sequence[Draw], title: str) -> Table:
    """A row for each kind of change."""
    rows: list[tuple[str, ...]] = []
    by_change: dict[Change, list[Draw]] = {}
    for one in draws:
        by_change.setdefault(one.change, []).append(one)
    for change, those in by_change.items():
        rows.append((f"{change.title} ({change.wire})", *_figures(those)))
    rows.append(("all", *_figures(draws)))
    columns = (
        "change",
        "draws",
        "named from bodies",
        "from the log",
        "unknown",
        "price off by, median / most",
    )
    return Table(title, columns, tuple(rows))


def _figures(draws: Sequence[Draw]) -> tuple[str, ...]:
    bodies = sum(one.is_right(one.bodies) for one in draws)
    logs = sum(one.is_right(one.log) for one in draws)
    unknown = sum(one.bodies is None or one.bodies.kind == "unknown" for one in draws)
    errors = sorted(one.error for one in draws)
    price = f"{100 * statistics.median(errors):.1f} / {100 * errors[-1]:.1f} %"
    return (str(len(draws)), str(bodies), str(logs), str(unknown), price)


def false_alarms(chains: Sequence[Chain]) -> tuple[int, int]:
    """Requests that only extend the one before, and how many of them were given a cause, by bodies or by the log."""
    pairs = alarms = 0
    for chain in chains:
        events = play(chain).events
        rows = history_of(events).main_calls
        logged = history_of(without_bodies(events)).main_calls
        for (before, now), other in zip(pairwise(rows), logged[1:], strict=True):
            held = (before.cached or 0) + (before.written or 0)
            if before.written and held - (now.cached or 0) >= LEAST:
                continue  # the client has left a mark out: the bill says so
            pairs += 1
            alarms += (now.cause is not None) + (other.cause is not None)
    return pairs, alarms


def times(chains: Sequence[Chain]) -> tuple[float, float]:
    """Median seconds to read the items of a body, and to name the cause in a history of its sequence."""
    reading: list[float] = []
    naming: list[float] = []
    for chain in chains:
        for body in chain:
            request = read_body(body)
            before = time.perf_counter()
            sent_items(request)
            reading.append(time.perf_counter() - before)
        last = copy.deepcopy(chain[-1])
        last["model"] = "another-model"
        causes, meter = CauseFollower(), Meter()
        for event in play([*chain[:-1], last]).events:
            meter.apply(event)
            before = time.perf_counter()
            causes.follow(event, meter._fold)
        naming.append(time.perf_counter() - before)
    return statistics.median(reading), statistics.median(naming)


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0, or 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="bench.causes", description=__doc__)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--wrong", action="store_true", help="print what was named wrong")
    parser.add_argument("--write", action="store_true", help="write the tables")
    options = parser.parse_args(arguments)
    chains: list[Chain] = []
    for bodies in kept_bodies(options.kept):
        chains += chains_of(bodies)
    draws = tried(chains, CHANGES, options.draws)
    tables = [table(draws, "Causes of missed caches, 32 kinds of change")]
    more = tried(chains, MORE, options.draws)
    tables.append(table(more, "Causes beyond these"))
    pairs, alarms = false_alarms(chains)
    reading, naming = times(chains)
    notes = [
        f"{len(chains)} sequences, {pairs} requests that extend the one before: {alarms} false alarms.",
        f"The price is within 2 % in {sum(one.error < 0.02 for one in draws)} of {len(draws)} draws.",
        f"Median {reading * 1e3:.2f} ms to read a body's items, {naming * 1e3:.2f} ms to name a cause.",
    ]
    if options.wrong:
        notes += [_told(one) for one in [*draws, *more]]
    show(*tables, notes=filter(None, notes))
    if options.write:
        write_tables(PAGE, tables)
    right = sum(one.is_right(one.bodies) for one in draws)
    return 1 if alarms or right < 0.98 * len(draws) else 0


def _told(one: Draw) -> str:
    if (
        one.is_right(one.bodies)
        and (one.is_right(one.log) or one.change.unlogged)
        and one.error < 0.02
    ):
        return ""
    return f"{one.change.title} ({', '.join(one.names)}, lost {one.lost}):\n  {one.bodies}\n  {one.log}"


if __name__ == "__main__":
    raise SystemExit(main())
