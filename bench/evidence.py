"""How many recorded calls each row of the tables of templates, hidden prompts and families rests on.

    uv run python -m bench.evidence RECORDINGS ... [--all]

RECORDINGS are files of whole requests and of pairs of calls. A row whose ``n`` is another number than is found is
printed, with the median of what its estimate leaves; ``--all`` prints each. A row that nothing is found for borrows its
constants from another one. The pairs of a reasoning rule are counted by ``bench.reasoning_rules``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import recorded
from bench.evaluate import Replay, rows_of
from ullage.tokens.families import family_for
from ullage.tokens.hidden_prompts import rows_for
from ullage.tokens.template import TemplateRow, template_for, template_rows


class Row(NamedTuple):
    """A row of a table, and the ``n`` that it has."""

    table: str
    name: str
    n: int


def name_of(row: TemplateRow) -> str:
    where = "/".join([*sorted(row.providers), *sorted(row.wires)])
    return f"{row.model} {where}".strip()


def rows_in(path: Path) -> Iterable[tuple[Row, int]]:
    """The rows that each recorded call speaks of, with what their estimate leaves of it."""
    replay = Replay(learns=False)
    for read in rows_of(path):
        if recorded.is_pair(read):
            pair = recorded.pair_of(read)
            if pair.is_clean and not pair.has_media and pair.kind == "cassette":
                first, made = pair.first, replay.pair(pair)
                family = family_for(first.wire, first.provider, first.model)
                row = Row("families", family.name, family.framing.n)
                yield row, (made.truth or 0) - made.predicted
        elif recorded.is_scored(read):
            request = recorded.request_of(read)
            meter = replay.call(request)
            left = (recorded.truth_of(read) or 0) - meter.reading().used.tokens
            asked = request.wire, request.provider, request.model
            template = template_for(*asked)
            for each in template_rows():
                if each.template is template:
                    yield Row("templates", name_of(each), template.n), left
            tools = meter._fold.fixed.tools.tokens > 0
            for hidden in rows_for(*asked):
                if hidden.fits(request.params, has_tools=tools):
                    name = " ".join((*hidden.providers, hidden.model, hidden.param))
                    name += f" {hidden.value} {hidden.tokens:g}"
                    yield Row("hidden_prompts", name, hidden.n), left
                    break


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("paths", type=Path, nargs="+")
    arguments.add_argument("--all", action="store_true")
    options = arguments.parse_args()
    found: defaultdict[Row, list[int]] = defaultdict(list)
    for path in options.paths:
        for row, left in rows_in(path):
            found[row].append(left)
    for row, left in sorted(found.items()):
        if options.all or len(left) != row.n:
            print(
                f"{row.table}: {row.name}: n {row.n}, found {len(left)}, left {median(left):g}"
            )


if __name__ == "__main__":
    main()
