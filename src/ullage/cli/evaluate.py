"""``ullage evaluate``: predictions for recorded conversations, and how far they and other formulas are off."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from ullage.cli.prediction import FORMULAS, Prediction, Predictor, plain
from ullage.codec.foreign import parse_json
from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import UnreadableInput
from ullage.importers import recordings
from ullage.importers.recordings import Pair
from ullage.importers.regular import lines_of, open_regular
from ullage.tokens.text import counter_for

UNREADABLE: Final = Prediction(0, 0, 1_000_000, None, None)
"""The answer to a line that is no JSON object."""

GZIP: Final = b"\x1f\x8b"


class Outcome(NamedTuple):
    """A prediction beside the truth, and the groups of the table that the row counts in."""

    prediction: Prediction
    groups: tuple[str, ...]
    others: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All rows of one file, in order: what is written for each, and what came of it."""

    written: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)


def run(path: Path, predictions: Path, estimator: str = "auto") -> int:
    """Predict every row of ``path``, write the predictions, print the error table; 0 when the file could be read.

    Raises ``UnreadableInput`` for a file that can't be opened or predictions that can't be written, ``SettingError``
    and ``MissingExtra`` for the estimator.
    """
    evaluation = evaluate(path, estimator)
    try:
        with predictions.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in evaluation.written)
    except OSError as error:
        raise UnreadableInput(f"the predictions can't be written to {predictions}: {error.strerror}") from error
    print("\n".join(table(evaluation.outcomes)))
    return 0


def evaluate(path: Path, estimator: str = "auto") -> Evaluation:
    """Every row of a file of recorded pairs or whole requests (JSON lines, plain or gzip), predicted in order."""
    predictor = Predictor(counter_for(estimator))
    evaluation = Evaluation()
    for row in rows_of(path):
        written, outcome = _predict(predictor, row)
        evaluation.written.append(written)
        evaluation.outcomes.append(outcome)
    return evaluation


def rows_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, plain or gzip; an empty one for a line that is no JSON object."""
    return map(_row, _lines(path))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            yield from (line for line in lines_of(file) if line.strip())
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableInput(f"{path} can't be read: {error}") from error


def _row(line: bytes) -> Mapping[str, Any]:
    try:
        row = parse_json(line) if len(line) <= LOG_LINE_BYTES else None
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def _predict(predictor: Predictor, row: Mapping[str, Any]) -> tuple[dict[str, Any], Outcome]:
    if not row:
        return {"id": "", **_numbers(UNREADABLE)}, Outcome(UNREADABLE, (), {})
    names = {"id": row.get("id")} if recordings.is_pair(row) else {"src": row.get("src"), "idx": row.get("idx")}
    try:
        prediction, groups = _pair(predictor, row) if recordings.is_pair(row) else _call(predictor, row)
        others = {name: formula(row) for name, formula in FORMULAS.items()} if groups else {}
    except Exception:  # noqa: BLE001 - the contract: no row, whatever is in it, makes the command fail
        prediction, groups, others = plain(row), (), {}
    return {**names, **_numbers(prediction)}, Outcome(prediction, groups, others)


def _numbers(prediction: Prediction) -> dict[str, int]:
    return {"predicted": prediction.predicted, "low": prediction.low, "high": prediction.high}


API: Final = "API recordings"
AGENTS: Final = "agent sessions"
PLACEHOLDERS: Final = "output placeholders"
FIRST: Final = "first call"


def _pair(predictor: Predictor, row: Mapping[str, Any]) -> tuple[Prediction, tuple[str, ...]]:
    pair = recordings.pair_of(row)
    return predictor.pair(pair), pair_groups(pair)


def _call(predictor: Predictor, row: Mapping[str, Any]) -> tuple[Prediction, tuple[str, ...]]:
    prediction = predictor.call(row)
    return prediction, _call_groups(row, prediction)


def pair_groups(pair: Pair) -> tuple[str, ...]:
    """The groups of the table that a pair counts in."""
    if not pair.truth or pair.first.input is None:
        return ()
    kind = API if pair.kind == "cassette" else AGENTS
    groups = [f"{kind}, all"]
    if pair.clean and not (pair.media and kind == API):
        groups.append(f"{kind}, clean")
    if pair.placeholder:
        groups.append(PLACEHOLDERS)
    return tuple(groups)


def _call_groups(row: Mapping[str, Any], prediction: Prediction) -> tuple[str, ...]:
    atoms = row.get("atoms")
    held = atoms if isinstance(atoms, list) else []
    kinds = {atom["k"] for atom in held if isinstance(atom, Mapping) and isinstance(atom.get("k"), str)}
    if row.get("is_b") or not prediction.truth or kinds & (recordings.MEDIA | recordings.OPAQUE):
        return ()
    wire = str(row.get("api"))
    provider = str(row.get("provider"))
    name = {"messages": "Anthropic", "generateContent": "Gemini"}.get(wire)
    if provider in {"openai", "azure"} and wire in {"chat", "responses"}:
        name = f"OpenAI {wire}"
    return (FIRST, f"{FIRST}, {name or 'others'}")


OVER_GROWTH: Final = frozenset({f"{AGENTS}, clean", PLACEHOLDERS})
"""Groups whose error is given as a share of the growth; the others' as a share of the input."""


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """The error table as lines of text: one block per group, ours first."""
    names = sorted({group for outcome in outcomes for group in outcome.groups})
    if not names:
        return ["No row holds what is needed to compare a prediction with."]
    lines: list[str] = []
    for name in names:
        rows = [outcome for outcome in outcomes if name in outcome.groups]
        unit = "growth" if name in OVER_GROWTH else "input"
        lines.append(f"{name}: {len(rows)} rows, |error| as % of {unit}")
        lines.append(f"  {'':28}{'median':>9}{'p90':>9}{'p95':>9}{'tokens':>9}{'rows':>7}")
        lines.append(_line("ullage", [(each, float(each.prediction.predicted)) for each in rows], unit))
        for formula in FORMULAS:
            known = [(each, value) for each in rows if (value := each.others.get(formula)) is not None]
            if known:
                lines.append(_line(formula, known, unit))
        lines.append(f"  {interval_line(rows)}")
        lines.append("")
    return lines[:-1]


def _line(name: str, rows: Sequence[tuple[Outcome, float]], unit: str) -> str:
    tokens = [abs(value - (outcome.prediction.truth or 0)) for outcome, value in rows]
    shares = [100 * error / _whole(outcome, unit) for error, (outcome, _) in zip(tokens, rows, strict=True)]
    numbers = [f"{percentile(shares, share):9.2f}" for share in (0.5, 0.9, 0.95)]
    return f"  {name:28}{''.join(numbers)}{percentile(tokens, 0.5):9.1f}{len(rows):7}"


def _whole(outcome: Outcome, unit: str) -> float:
    prediction = outcome.prediction
    return max(1.0, abs(float((prediction.growth if unit == "growth" else prediction.truth) or 0)))


def interval_line(rows: Sequence[Outcome]) -> str:
    """How often the truth lay inside the interval, and how wide that was."""
    held = [each.prediction for each in rows]
    inside = sum(each.low <= (each.truth or 0) <= each.high for each in held)
    widths = [float(each.high - each.low) for each in held]
    errors = [abs(float(each.predicted - (each.truth or 0))) for each in held]
    return (
        f"inside the interval: {100 * inside / len(held):.1f} %; its width: median {percentile(widths, 0.5):.0f}, "
        f"p90 {percentile(widths, 0.9):.0f} tokens ({_ratio(percentile(widths, 0.9), percentile(errors, 0.95))} x the "
        "p95 error)"
    )


def _ratio(width: float, error: float) -> str:
    return f"{width / error:.1f}" if error else "-"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie, between neighbours by proportion; 0 for none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
