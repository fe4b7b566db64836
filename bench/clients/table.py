"""The bench's results as lines, and as the tables of ``docs/clients.md``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench.clients.clients import CLIENTS
from bench.clients.comparison import (
    LANES,
    Estimate,
    LaneResult,
    ScenarioResult,
    error_figures,
)
from bench.results import Table, named, table_of

NOTHING = "none"


def line(result: ScenarioResult) -> str:
    """One scenario in one line, and a line for each thing that must not be."""
    title = f"{CLIENTS[result.client].title:<12} {result.scenario:<21}"
    if result.skipped:
        return f"{title} not run: {result.skipped}"
    refused = sum(each.times for each in result.refusals)
    lanes = ", ".join(_lane(lane) for lane in result.lanes)
    words = [f"{result.requests} requests, {refused} refused", lanes or "no log read"]
    figures = error_figures(each for each in result.estimates if each.kind == "later")
    if figures:
        words.append(f"error {figures.median:.2f} %, worst {figures.worst:.1f} %")
    words += [
        f"{each.kind} {each.error_percent:+.1f} %"
        for each in result.estimates
        if each.kind != "later"
    ]
    if result.unread_lines:
        words.append(f"{result.unread_lines} lines not read")
    if result.unserved:
        words.append(f"not served: {', '.join(result.unserved)}")
    if result.ended_rightly:
        words.append(f"ended early: {result.ended_rightly}")
    failures = [f"    {failure}" for failure in result.failures]
    return "\n".join([f"{title} {'; '.join(words)}", *failures])


def summary(results: Sequence[ScenarioResult]) -> str:
    """How many scenarios ran, and which failed."""
    ran = [result for result in results if not result.skipped]
    failed = [f"{each.client} {each.scenario}" for each in ran if each.failures]
    ending = f"failed: {', '.join(failed)}" if failed else "none failed"
    return f"\n{len(ran)} scenarios ran, {len(results) - len(ran)} not run; {ending}."


def accuracy_table(results: Sequence[ScenarioResult]) -> Table:
    """A row for each client: which calls are read as they were billed, and how close the estimates before them were."""
    rows: list[tuple[str, ...]] = []
    for name, client in CLIENTS.items():
        mine = [each for each in results if each.client == name and not each.skipped]
        if not mine:
            continue
        estimates = [each for result in mine for each in result.estimates]
        rows.append(
            (
                f"{client.title} {mine[0].version}",
                _inputs(mine),
                _sizes(estimates, "later"),
                _signed(estimates, "first"),
                _signed(estimates, "after compaction"),
                _signed(estimates, "after model"),
                _inside(estimates, mine),
            )
        )
    columns = named(
        "client | inputs read = billed | error: median / p95 / worst | first call | after compaction | "
        "after a model switch | inside interval"
    )
    return Table("Each client", columns, tuple(rows))


def proxy_table(results: Sequence[ScenarioResult]) -> Table:
    """What the proxy's ledger has of each client's calls, and how close its estimates were."""
    rows: list[tuple[str, ...]] = []
    for name, client in CLIENTS.items():
        mine = [each for each in results if each.client == name and not each.skipped]
        if not mine:
            continue
        estimates = [each for result in mine for each in result.estimates]
        rows.append(
            (
                f"{client.title} {mine[0].version}",
                *(_lane_sum(mine, lane) for lane in LANES),
                _signed(estimates, "first"),
                _sizes(estimates, "later"),
                _inside(estimates, mine),
            )
        )
    columns = ("client", *LANES, "first call", "later: median / p95 / worst")
    return Table(
        "Clients through the proxy", (*columns, "inside the interval"), tuple(rows)
    )


def _lane_sum(results: Sequence[ScenarioResult], name: str) -> str:
    """How many bills of a lane are in the ledger, with exactly their input."""
    lanes = [lane for each in results for lane in each.lanes if lane.lane == name]
    billed = sum(lane.billed for lane in lanes)
    if not billed:
        return "–"
    return f"{sum(lane.equal for lane in lanes)} of {billed}"


def with_page(table: Table, page: str) -> Table:
    """The table with the page's rows of clients that were not run."""
    published, made = _by_client(table_of(page, table.title)), _by_client(table.rows)
    rows = {**published, **made}
    order = [name for name in CLIENTS if name in rows]
    return replace(table, rows=tuple(rows[name] for name in order))


def beside_page(table: Table, page: str) -> Table:
    """Each row below what the page says of its client, in the version that was run then."""
    published = _by_client(table_of(page, table.title))
    rows: list[tuple[str, ...]] = []
    for name, row in _by_client(table.rows).items():
        if name in published:
            first, *others = published[name]
            rows.append((f"{first} (page)", *others))
        rows.append(row)
    return replace(table, rows=tuple(rows))


def _by_client(rows: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Rows by the names of their clients; each begins with the title and the version."""
    names = {client.title: name for name, client in CLIENTS.items()}
    titled = [(row[0].rpartition(" ")[0], row) for row in rows]
    return {names[title]: row for title, row in titled if title in names}


def refusal_table(results: Sequence[ScenarioResult]) -> Table:
    """Each rule that refused a request of a client."""
    times: dict[tuple[str, ...], int] = {}
    for result in results:
        title = CLIENTS[result.client].title
        for each in result.refusals:
            key = (
                title,
                each.rule,
                each.confidence,
                each.rightly or "**to be put right**",
            )
            times[key] = times.get(key, 0) + each.times
    rows = [
        (f"{client}: `{rule}`", str(count), confidence, why)
        for (client, rule, confidence, why), count in times.items()
    ]
    columns = ("client and rule", "times", "confidence", "why")
    empty = (NOTHING, "0", "", "")
    return Table("Refused requests", columns, tuple(rows) or (empty,))


def _lane(lane: LaneResult) -> str:
    return f"{lane.lane} {lane.equal}/{lane.billed}"


def _inputs(results: Sequence[ScenarioResult]) -> str:
    if not any(result.logs for result in results):
        return "log not read"
    parts = []
    for name in ("main", "child", "summary"):
        lanes = [lane for each in results for lane in each.lanes if lane.lane == name]
        billed = sum(lane.billed for lane in lanes)
        if not billed:
            continue
        equal = sum(lane.equal for lane in lanes)
        parts.append(
            f"{equal} of {billed}" if name == "main" else f"{name} {equal} of {billed}"
        )
    return ", ".join(parts)


def _sizes(estimates: Iterable[Estimate], kind: str) -> str:
    figures = error_figures(each for each in estimates if each.kind == kind)
    if figures is None:
        return NOTHING
    return f"{figures.median:.2f} / {figures.p95:.1f} / {figures.worst:.1f} %"


def _signed(estimates: Iterable[Estimate], kind: str) -> str:
    errors = sorted(each.error_percent for each in estimates if each.kind == kind)
    if not errors:
        return NOTHING
    low, high = f"{errors[0]:+.1f}", f"{errors[-1]:+.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _inside(estimates: Sequence[Estimate], results: Sequence[ScenarioResult]) -> str:
    """How many bills are inside the intervals, and how many scenarios failed, so that the row is not whole."""
    inside = sum(each.is_inside for each in estimates)
    told = f"{inside} of {len(estimates)}" if estimates else NOTHING
    failed = sum(bool(each.failures) for each in results)
    return f"{told}; **{failed} of {len(results)} runs failed**" if failed else told
