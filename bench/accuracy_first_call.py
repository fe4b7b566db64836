"""How far first-call estimates are off on recorded requests, and what of that survives when constants are learnt anew.

    uv run python -m bench.accuracy_first_call RECORDINGS.jsonl.gz ... [--by family] [--write bench/RESULTS.md]

RECORDINGS holds whole requests with the provider's own counts, one JSON object a line, as ``ullage evaluate`` reads it.
``--by family`` shows the families of models in the place of the providers.
The constants of ``ullage.tokens.template`` were fitted to such requests, so their own error is optimistic. The column
*anew* takes every additive constant away (a template's base, its hidden tool prompt, what a forced call, thinking or an
answer's schema add) and learns it again as the median of the other sources: ten folds over source files. A template
that no other source speaks for falls back to its group's median. Rendering rules and ratios stay.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from bench import formulas, recorded
from bench.evaluate import Replay, rows_of
from bench.results import Table, write_tables
from ullage.messages import ToolResultPart
from ullage.meter.meter import Meter
from ullage.meter.opening import is_thinking
from ullage.meter.reading import Used
from ullage.tokens.families import family_for
from ullage.tokens.template import Template, template_for
from ullage.tokens.tools import read_choice

FOLDS: Final = 10
TITLES: Final = {
    "bpe": "First calls, with `ullage[bpe]`",
    "pretoken": "First calls, core only, no tokenizer",
}
"""The title of each estimator's table."""

GROUPS: Final = (
    "OpenAI Chat",
    "OpenAI Responses",
    "Anthropic",
    "Gemini",
    "Vertex",
    "Bedrock",
    "Azure",
    "others",
)


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded request: what was charged, what is estimated, and that without the additive constants."""

    group: str
    family: str
    fold: int
    truth: int
    estimate: Used
    bare: float
    template: Template
    forced: bool
    thinking: bool
    system: bool
    has_tools: bool
    has_answer: bool
    has_hosted: bool
    has_history: bool
    likeness: str
    """The same for requests with the same model, tools and answer's schema, whatever they ask."""
    others: Mapping[str, float | None]

    @property
    def is_plain(self) -> bool:
        """Whether nothing but the template's base stands between the bare estimate and the truth."""
        return not (self.has_hosted or self.has_history or self.thinking)


def group_of(provider: str, wire: str) -> str:
    """The row of the table that a request counts in."""
    if provider == "openai" and wire in {"chat", "responses"}:
        return f"OpenAI {wire.capitalize()}"
    names = {
        "anthropic": "Anthropic",
        "google": "Gemini",
        "vertex": "Vertex",
        "bedrock": "Bedrock",
        "azure": "Azure",
    }
    return names.get(provider, "others")


def fold_of(source: str) -> int:
    """The fold of a source file: always the same."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % FOLDS


def read(path: Path, estimator: str) -> list[Call]:
    """The scored requests of a file, estimated."""
    replay = Replay(estimator)
    return [call_of(row, replay) for row in rows_of(path) if recorded.is_scored(row)]


def call_of(row: Mapping[str, Any], replay: Replay) -> Call:
    """The request of a row, as the Meter estimates it."""
    request = recorded.request_of(row)
    meter = replay.call(request)
    fixed = meter._fold.fixed
    template = template_for(request.wire, request.provider, request.model)
    return Call(
        group=group_of(request.provider, request.wire),
        family=family_for(request.wire, request.provider, request.model).name,
        fold=fold_of(str(row.get("source") or row.get("src"))),
        truth=recorded.truth_of(row) or 0,
        estimate=meter.reading().used,
        bare=bare_of(meter, template),
        template=template,
        forced=read_choice(request.params).mode in {"forced", "named"},
        thinking=bool(template.thinking) and is_thinking(request.params),
        system=bool(request.system),
        has_tools=fixed.tools.tokens > fixed.tools.hosted,
        has_answer=fixed.answer > 0,
        has_hosted=fixed.tools.hosted > 0,
        has_history=any(
            part
            for message in request.messages
            for part in message.of_type(ToolResultPart)
        ),
        likeness=likeness_of(row),
        others=formulas.predictions(row),
    )


def likeness_of(row: Mapping[str, Any]) -> str:
    """What makes requests alike: model, tools and parameters; for plain questions the question too."""
    parts = [row.get("provider"), row.get("model"), row.get("tools"), row.get("params")]
    if not row.get("tools"):
        parts.append(
            [atom.get("t") for atom in row.get("atoms") or () if isinstance(atom, dict)]
        )
    return hashlib.sha256(
        json.dumps(parts, sort_keys=True, default=str).encode()
    ).hexdigest()


def bare_of(meter: Meter, template: Template) -> float:
    """A Meter's estimate of its request without the constants that are added once."""
    fixed = meter._fold.fixed
    exact = fixed.tokens + meter._fold.view.opening + meter._fold.earlier_reasoning()
    once = fixed.overhead - fixed.hidden.tokens + min(template.answer.once, fixed.answer)
    if any(fixed.tools.each):
        once += fixed.tools.overhead + fixed.tools.choice
    return exact - once


Learnt = Callable[[Call], float]


def learn(calls: Sequence[Call]) -> Learnt:
    """The additive constants as medians over ``calls``, each in the company it is needed for."""
    base = _medians(
        calls,
        lambda call: call.is_plain and not call.has_tools and not call.has_answer,
        _by_template,
        _raw,
    )

    def beyond_base(call: Call) -> float:
        return call.truth - call.bare - base(call)

    tools = _medians(
        calls,
        lambda call: call.is_plain and call.has_tools and not call.has_answer,
        lambda call: [
            (call.template, call.forced, call.system),
            (call.template, call.forced),
            (call.template,),
        ],
        beyond_base,
    )
    answer = _medians(
        calls,
        lambda call: call.is_plain and call.has_answer and not call.has_tools,
        lambda call: [(call.template, call.system), (call.template,)],
        beyond_base,
    )
    thinking = _medians(
        calls,
        lambda call: call.thinking and not call.has_tools and not call.has_answer,
        lambda call: [(call.template,), (call.template.stratum,)],
        beyond_base,
    )

    def constants(call: Call) -> float:
        added = base(call)
        added += tools(call) if call.has_tools else 0.0
        added += answer(call) if call.has_answer else 0.0
        return added + (thinking(call) if call.thinking else 0.0)

    return constants


def _raw(call: Call) -> float:
    return call.truth - call.bare


def _by_template(call: Call) -> list[tuple[object, ...]]:
    return [(call.template,)]


def _medians(
    calls: Iterable[Call],
    wanted: Callable[[Call], bool],
    keys: Callable[[Call], list[tuple[object, ...]]],
    value: Callable[[Call], float],
) -> Learnt:
    """The median of ``value`` over the narrowest key that holds anything; then over the stratum, then over all."""
    held: dict[tuple[object, ...], list[float]] = defaultdict(list)
    for call in calls:
        if wanted(call):
            for key in (*keys(call), ("stratum", call.template.stratum), ()):
                held[key].append(value(call))
    middles = {key: median(values) for key, values in held.items()}

    def constant(call: Call) -> float:
        for key in (*keys(call), ("stratum", call.template.stratum), ()):
            if key in middles:
                return middles[key]
        return 0.0

    return constant


def learnt_anew(calls: Sequence[Call]) -> list[float]:
    """Every call's estimate with the additive constants of the other folds."""
    constants = {
        fold: learn([call for call in calls if call.fold != fold])
        for fold in {call.fold for call in calls}
    }
    return [max(0.0, call.bare + constants[call.fold](call)) for call in calls]


def share(values: Sequence[float], part: int) -> float:
    """The percentile ``part`` of the values."""
    return (
        quantiles(values, n=100, method="inclusive")[part - 1]
        if len(values) > 1
        else values[0]
    )


def table(calls: Sequence[Call], title: str, *, by: str = "provider") -> Table:
    """Errors as a share of the input: median and p90 as built in and anew, coverage, and plain formulas' medians."""
    anew = learnt_anew(calls)
    groups = [call.family if by == "family" else call.group for call in calls]
    names = sorted(set(groups)) if by == "family" else GROUPS
    rows: list[tuple[str, ...]] = []
    for name in (*names, "all"):
        chosen = [place for place, group in enumerate(groups) if name in {group, "all"}]
        if not chosen:
            continue
        held = [calls[place] for place in chosen]
        own = [100 * abs(call.estimate.tokens - call.truth) / call.truth for call in held]
        fresh = [
            100 * abs(anew[place] - calls[place].truth) / calls[place].truth
            for place in chosen
        ]
        inside = sum(
            call.estimate.low <= call.truth <= call.estimate.high for call in held
        )
        cells = [name, str(len(held)), f"{median(own):.2f}", f"{share(own, 90):.1f}"]
        cells += [f"{median(fresh):.2f}", f"{share(fresh, 90):.1f}"]
        once = _once_each([call.likeness for call in held], fresh)
        cells += [
            str(len(once)),
            f"{median(once):.2f}",
            f"{100 * inside / len(held):.1f}",
        ]
        cells += [f"{median(_errors(held, name)):.0f}" for name in PLAIN]
        rows.append(tuple(cells))
    columns = (
        *(by, "n", "median", "p90", "median anew", "p90 anew"),
        *("distinct", "their median", "inside", *PLAIN.values()),
    )
    return Table(title, columns, tuple(rows))


def _once_each(keys: Sequence[str], errors: Sequence[float]) -> list[float]:
    held: dict[str, list[float]] = defaultdict(list)
    for key, error in zip(keys, errors, strict=True):
        held[key].append(error)
    return [median(values) for values in held.values()]


PLAIN: Final = {
    "length / 4 of everything": "length/4",
    "gemini-cli's weights": "gemini-cli",
}


def _errors(calls: Iterable[Call], formula: str) -> list[float]:
    found = [(call.truth, call.others[formula]) for call in calls]
    return [
        100 * abs(value - truth) / truth for truth, value in found if value is not None
    ]


def main() -> None:
    """Print both tables, and write the page if asked."""
    options = argparse.ArgumentParser(
        prog="bench.accuracy_first_call", description="First-call accuracy."
    )
    options.add_argument(
        "recordings",
        type=Path,
        nargs="+",
        help="whole requests with their counts, JSON lines, plain or .gz",
    )
    options.add_argument("--by", choices=("provider", "family"), default="provider")
    options.add_argument("--write", type=Path, metavar="PAGE")
    chosen = options.parse_args()
    tables: list[Table] = []
    for estimator, title in TITLES.items():
        calls = [call for path in chosen.recordings for call in read(path, estimator)]
        tables.append(table(calls, title, by=chosen.by))
    print("\n\n".join(each.text() for each in tables))
    if chosen.write:
        write_tables(chosen.write, tables)


if __name__ == "__main__":
    main()
