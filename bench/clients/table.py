"""The bench's results as lines and as the tables of ``docs/clients.md``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from bench.clients.clients import CLIENTS
from bench.clients.comparison import Estimate, LaneResult, ScenarioResult, error_figures

BEGIN, END = "<!-- written by bench.clients -->", "<!-- end -->"


def line(result: ScenarioResult) -> str:
    """One scenario in one line, and a line for each thing that must not be."""
    title = f"{CLIENTS[result.client].title:<12} {result.scenario:<21}"
    if result.skipped:
        return f"{title} not run: {result.skipped}"
    refused = sum(each.times for each in result.refusals)
    lanes = ", ".join(_lane(lane) for lane in result.lanes)
    words = [f"{result.requests} requests, {refused} refused", lanes or "no log read"]
    later = [each for each in result.estimates if not each.first and not each.after]
    figures = error_figures(later)
    if figures:
        words.append(f"error {figures[0]:.2f} %, worst {figures[2]:.1f} %")
    words += [f"first {each.error_percent:+.1f} %" for each in result.estimates if each.first]
    words += [
        f"after {' and '.join(each.after)} {each.error_percent:+.1f} %"
        for each in result.estimates
        if each.after
    ]
    if result.unread_lines:
        words.append(f"{result.unread_lines} lines not read ({', '.join(result.reasons[:4])})")
    failures = [f"    {failure}" for failure in result.failures]
    return "\n".join([f"{title} {'; '.join(words)}", *failures])


def _lane(lane: LaneResult) -> str:
    return f"{lane.lane} {lane.equal}/{lane.billed}"


def summary(results: Sequence[ScenarioResult]) -> str:
    """How many scenarios ran, and which failed."""
    ran = [result for result in results if not result.skipped]
    failed = [result for result in ran if result.failures]
    names = ", ".join(f"{each.client} {each.scenario}" for each in failed)
    ending = f"; failed: {names}" if failed else ", none failed"
    return f"\n{len(ran)} scenarios ran, {len(results) - len(ran)} not run{ending}."


def written(page: str, results: Sequence[ScenarioResult]) -> str:
    """The page with new tables between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{after}"


def tables(results: Sequence[ScenarioResult]) -> str:
    return ""
