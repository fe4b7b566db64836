"""How many reported inputs of recordings are not used, although they are true.

    uv run python -m bench.reports PAIRS.jsonl.gz REQUESTS.jsonl.gz SESSION.jsonl ...

Replays pairs of recorded calls, whole requests, each as a first call, and logs of agents' sessions, through the Meter.
Each reported input is held against the ledger as in a session (``ullage.meter.plausible``). The reports of a
conversation come in order, each call's once. The recordings are not part of this repository.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ullage.cli.evaluate import SAMPLE_ROWS, Replay, rows_of
from ullage.cli.recorded import (
    Pair,
    is_call,
    is_pair,
    pair_of,
    request_of,
    truth_of,
)
from ullage.cli.session import read_session
from ullage.events import CallEnded
from ullage.meter.meter import Meter
from ullage.usage import Usage

USED: Final = "used as it is"
RULE: Final = "used by a rule"
SURPRISING: Final = "used, with a wider interval"
REFUSED: Final = "not used"

Outcomes = Counter[tuple[str, str]]
"""Reports by what was recorded and what became of them."""


def outcome(meter: Meter, usage: Usage | None) -> str:
    """What became of the report of the call that ended last; empty where there was none."""
    if usage is None or usage.input is None:
        return ""
    actual = meter.steps[-1].actual
    if actual is None:
        return REFUSED
    if actual != usage.input:
        return RULE
    notes = meter.reading().notes
    return SURPRISING if any("were expected" in note for note in notes) else USED


class ReportReplay(Replay):
    """A replay that tells each call's usage, the last one's of a conversation as well, and counts the outcomes."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: Outcomes = Counter()
        self.refused: list[str] = []

    def add(self, pair: Pair) -> None:
        """Replay one pair; its first call is the last call of the pair before, where they are one."""
        self.pair(pair)
        meter = self._last[pair.conversation].meter
        self._count(pair.conversation, meter, pair.usage)

    def finish(self) -> None:
        """Tell the usage of each conversation's last call."""
        for conversation, last in self._last.items():
            last.meter.after(last.name, last.usage)
            self._count(conversation, last.meter, last.usage)

    def _first_call(self, pair: Pair) -> Any:
        last = self._last.get(pair.conversation)
        call = super()._first_call(pair)
        if last is not None and call is not last:
            self._count(pair.conversation, last.meter, last.usage)
        return call

    def _count(
        self, conversation: Sequence[str], meter: Meter, usage: Usage | None
    ) -> None:
        name = outcome(meter, usage)
        if not name:
            return
        self.outcomes[conversation[0], name] += 1
        if name == REFUSED:
            self.refused.append(f"{'/'.join(conversation)}: {meter.reading().notes[-1]}")


def of_log(path: Path) -> tuple[Outcomes, list[str]]:
    """The outcomes of the reports in a session's log, and which were refused."""
    meter = Meter()
    outcomes: Outcomes = Counter()
    refused: list[str] = []
    for event in read_session(path).events:
        meter.apply(event)
        if not isinstance(event, CallEnded) or event.purpose != "main":
            continue
        name = outcome(meter, event.usage)
        if name:
            outcomes[f"log {path.stem}", name] += 1
        if name == REFUSED:
            refused.append(f"{path.name}: {meter.reading().notes[-1]}")
    return outcomes, refused


def of_requests(rows: Iterator[Mapping[str, Any]]) -> tuple[Outcomes, list[str]]:
    """The outcomes of the reports of whole requests, each of them the first call of a session."""
    outcomes: Outcomes = Counter()
    refused: list[str] = []
    for row in rows:
        if not is_call(row):
            continue
        meter, usage = Meter(), Usage(input=truth_of(row))
        before = meter.before(request_of(row))
        meter.after(before.call, usage)
        name = outcome(meter, usage)
        if name:
            outcomes["whole request", name] += 1
        if name == REFUSED:
            refused.append(f"{row.get('src')}: {meter.reading().notes[-1]}")
    return outcomes, refused


def has_rows(path: Path, is_kind: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Whether a file holds recorded calls of this kind."""
    return any(is_kind(row) for row in islice(rows_of(path), SAMPLE_ROWS))


def pairs_of(rows: Iterator[Mapping[str, Any]]) -> Iterator[Pair]:
    """The pairs of the rows that hold one."""
    for row in rows:
        if is_pair(row):
            yield pair_of(row)


def table(outcomes: Outcomes) -> str:
    """One row for each kind of recording, as Markdown, and one for all."""
    columns = (USED, SURPRISING, RULE, REFUSED)
    lines = [f"| recorded in | reports | {' | '.join(columns)} |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    totals = [0, 0, 0, 0]
    for kind in sorted({kind for kind, _ in outcomes}):
        counts = [outcomes[kind, column] for column in columns]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        lines.append(line(kind, counts))
    lines.append(line("all", totals))
    return "\n".join(lines)


def line(name: str, counts: Sequence[int]) -> str:
    """A row of the table."""
    shown = " | ".join(f"{count:,}" for count in counts)
    return f"| {name} | {sum(counts):,} | {shown} |"


def main() -> None:
    """Print the table, and each report that is not used."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("file", type=Path, nargs="+")
    outcomes: Outcomes = Counter()
    refused: list[str] = []
    for path in arguments.parse_args().file:
        if has_rows(path, is_pair):
            replay = ReportReplay()
            for pair in pairs_of(rows_of(path)):
                replay.add(pair)
            replay.finish()
            found, unused = replay.outcomes, replay.refused
        elif has_rows(path, is_call):
            found, unused = of_requests(rows_of(path))
        else:
            found, unused = of_log(path)
        outcomes += found
        refused += unused
    print(table(outcomes))
    for each in refused:
        print(each)


if __name__ == "__main__":
    main()
