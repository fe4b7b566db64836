"""Replays recorded calls through the Meter and shows how far its predictions were off.

    uv run python -m bench.evaluate FILE [--predictions OUT] [--estimator NAME]

FILE is a session log, or recorded calls as JSON lines, plain or gzip. OUT gets one prediction a line.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from msgspec import Raw
from msgspec.structs import replace

from bench import recorded
from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.session import metered, read_session
from ullage.codec.foreign import parse_json
from ullage.display.text import safe
from ullage.envelope import LOG_LINE_BYTES
from ullage.errors import UllageError, UnreadableInput
from ullage.events import Calibrated
from ullage.importers.regular import lines_of, open_regular
from ullage.messages import Message, Request
from ullage.meter.meter import Meter
from ullage.meter.track import Step
from ullage.models.providers import provider_named
from ullage.tokens.calibration import Calibration
from ullage.usage import Usage

GZIP: Final = b"\x1f\x8b"

NOTHING_LEARNT: Final = Calibrated(
    model="",
    call="",
    estimated=0,
    actual=0,
    error=0,
    ratio=1.0,
    state=Raw(Calibration().as_json()),
)

SAMPLE_ROWS: Final = 60
"""How many rows are looked at to tell a file of recorded calls from a log."""

Estimator = str | Callable[[str], float]


class Prediction(NamedTuple):
    """The predicted input of a call, with its interval, and the input that was reported."""

    predicted: int
    low: int
    high: int
    truth: int | None = None
    growth: int | None = None
    """The truth less the input of the call before; ``None`` for a first call."""
    situation: str = "first call"
    """What the call followed on (``ullage.meter.situations``)."""


UNREADABLE: Final = Prediction(0, 0, 1_000_000)
"""The answer to a line that is no JSON object."""


class EvaluatedPrediction(NamedTuple):
    """A prediction, the groups of the table that it counts in, and what other formulas predict."""

    prediction: Prediction
    groups: tuple[str, ...]
    others: Mapping[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All predictions of one file, in order: what is written for each, and how it compares."""

    written: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[EvaluatedPrediction] = field(default_factory=list)

    def add(self, names: Mapping[str, object], outcome: EvaluatedPrediction) -> None:
        made = outcome.prediction
        self.written.append(
            {**names, "predicted": made.predicted, "low": made.low, "high": made.high}
        )
        self.outcomes.append(outcome)


NOTHING_TO_COMPARE: Final = (
    "no call in it can be compared with a prediction. That takes calls that report their input tokens, from the second "
    "call of a session on. `ullage sessions` lists the logs it finds."
)


def run(path: Path, predictions: Path | None, estimator: str = "auto") -> int:
    """Predict every call of ``path``, print the error table and, if asked, write the predictions.

    Gives ``FAILED`` where no call can be compared, unless the predictions were asked for.
    Raises ``UllageError`` for a file that can't be read or is no recording, for predictions that can't be written, and
    for the estimator.
    """
    evaluation = evaluate(path, estimator)
    if predictions is not None:
        try:
            with predictions.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in evaluation.written)
        except OSError as error:
            raise UnreadableInput(
                f"The predictions can't be written to {predictions}: {error.strerror}. Name another file."
            ) from error
    lines = table(evaluation.outcomes)
    if not lines:
        print(f"bench.evaluate: {safe(str(path))}: {NOTHING_TO_COMPARE}", file=sys.stderr)
        return FAILED if predictions is None else DONE
    print("\n".join(lines))
    return DONE


def evaluate(path: Path, estimator: Estimator = "auto") -> Evaluation:
    """Every call of a session log or of a file of recorded calls (JSON lines, plain or gzip), predicted in order."""
    if not any(
        recorded.is_pair(row) or recorded.is_call(row)
        for row in islice(rows_of(path), SAMPLE_ROWS)
    ):
        return _evaluate_log(path, estimator)
    replay = Replay(estimator)
    evaluation = Evaluation()
    for row in rows_of(path):
        evaluation.add(*_predict(replay, row))
    return evaluation


# -- session logs --


def _evaluate_log(path: Path, estimator: Estimator) -> Evaluation:
    meter = Meter(estimator=estimator)
    metered(read_session(path), meter)
    evaluation = Evaluation()
    before: int | None = None
    for step in meter.steps:
        growth = None if step.actual is None or before is None else step.actual - before
        made = Prediction(
            step.estimated, step.low, step.high, step.actual, growth, step.situation
        )
        evaluation.add({"call": step.call}, EvaluatedPrediction(made, _step_groups(step)))
        before = step.actual
    return evaluation


def _step_groups(step: Step) -> tuple[str, ...]:
    if step.actual is None:
        return ()
    return (FIRST,) if step.first else (FURTHER,)


# -- files of recorded calls --


def rows_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a file, plain or gzip; an empty one for a line that is no JSON object."""
    return map(row_of, _lines(path))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
            yield from (line for line in lines_of(file) if line.strip())
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableInput(f"{path} can't be read: {error}") from error


def row_of(line: bytes) -> Mapping[str, Any]:
    """One line as a row; an empty one if it is no JSON object."""
    try:
        row = parse_json(line) if len(line) <= LOG_LINE_BYTES else None
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


class _Call(NamedTuple):
    """The last call of a conversation, whose usage the Meter was not told yet."""

    meter: Meter
    request: Request
    name: str
    usage: Usage

    def is_first_of(self, pair: recorded.Pair) -> bool:
        """Whether this is the call that the pair begins with."""
        own, first = self.request, pair.first
        if (own.wire, own.provider, own.model) != (
            first.wire,
            first.provider,
            first.model,
        ):
            return False
        reported = (self.usage.input, self.usage.output, self.usage.reasoning)
        return reported == (pair.usage.input, pair.usage.output, pair.usage.reasoning)


class Replay:
    """Replays recorded calls through a Meter, as a loop would that asks before each request and tells it each usage.

    The calls of a conversation teach its later ones (unless ``learns`` is false) and no others. A call's own usage is
    not looked at before its prediction is made.
    """

    def __init__(self, estimator: Estimator = "auto", *, learns: bool = True) -> None:
        Meter(
            estimator=estimator
        )  # raises for an estimator that is not there, which a row would hide
        self._estimator = estimator
        self._learns = learns
        self._last: dict[tuple[str, ...], _Call] = {}
        self._pairs = 0

    def call(self, request: Request) -> Meter:
        """A Meter that is asked about a request which nothing came before."""
        meter = Meter(estimator=self._estimator)
        meter.before(request)
        return meter

    def pair(self, pair: recorded.Pair) -> Prediction:
        """The input of a pair's second call."""
        self._pairs += 1
        first = self._first_call(pair)
        meter = first.meter
        meter.after(
            first.name,
            pair.usage,
            Message(id=f"{self._pairs}:said", role="assistant", parts=pair.answer),
        )
        if not self._learns:
            meter.apply(NOTHING_LEARNT)
        messages = [*first.request.messages]
        if pair.returned:
            messages.append(
                Message(id=f"{self._pairs}:answer", role="assistant", parts=pair.returned)
            )
        messages += [
            replace(message, id=f"{self._pairs}:{message.id}") for message in pair.new
        ]
        request = replace(pair.second, messages=tuple(messages))
        reading = meter.before(request)
        self._last[pair.conversation] = _Call(meter, request, reading.call, pair.reported)
        used, situation = (
            reading.used,
            meter.state.pending[reading.call].forecast.situation,
        )
        if (
            pair.usage.input is None
        ):  # then nothing is known of what the log does not hold
            used = replace(used, low=0, high=used.tokens * 4 + 10_000)
        return Prediction(
            used.tokens, used.low, used.high, pair.truth, pair.growth, situation
        )

    def _first_call(self, pair: recorded.Pair) -> _Call:
        """The first call of a pair: the conversation's last one, or a new one that knows what was learnt so far."""
        last = self._last.pop(pair.conversation, None)
        if last is not None and last.is_first_of(pair):
            return last
        calibration = None
        if last is not None and self._learns:
            last.meter.after(last.name, last.usage)
            calibration = last.meter.calibration
        meter = Meter(estimator=self._estimator, calibration=calibration)
        reading = meter.before(pair.first)
        return _Call(meter, pair.first, reading.call, pair.usage)


def _predict(
    replay: Replay, row: recorded.RecordedRow
) -> tuple[dict[str, object], EvaluatedPrediction]:
    if not row:
        return {"id": ""}, EvaluatedPrediction(UNREADABLE, ())
    has_two_calls = recorded.is_pair(row)
    names = (
        {"id": row.get("id")}
        if has_two_calls
        else {"src": row.get("src"), "idx": row.get("idx")}
    )
    try:
        outcome = _of_pair(replay, row) if has_two_calls else of_call(replay, row)
    except Exception:  # noqa: BLE001 - the contract: no row, whatever is in it, makes the command fail
        outcome = EvaluatedPrediction(plain(row), ())
    return names, outcome


def _of_pair(replay: Replay, row: recorded.RecordedRow) -> EvaluatedPrediction:
    pair = recorded.pair_of(row)
    return EvaluatedPrediction(replay.pair(pair), pair_groups(pair))


def of_call(replay: Replay, row: recorded.RecordedRow) -> EvaluatedPrediction:
    """A recorded call that nothing came before."""
    used = replay.call(recorded.request_of(row)).reading().used
    made = Prediction(used.tokens, used.low, used.high, recorded.truth_of(row))
    return EvaluatedPrediction(made, _call_groups(row))


def plain(row: recorded.RecordedRow) -> Prediction:
    """The last total, where it can be read, and a quarter of the characters: for a row nothing else understands."""
    used = row.get("usage_a")
    counts = (
        [used.get(key) for key in ("input", "output")]
        if isinstance(used, Mapping)
        else []
    )
    total = sum(
        each for each in counts if isinstance(each, int) and 0 <= each < recorded.LARGEST
    )
    texts = recorded.texts_of(row, "new" if total else "atoms")
    estimate = total + sum(map(len, texts)) // 4
    return Prediction(estimate, estimate // 4, estimate * 4 + 10_000)


# -- the table --

API: Final = "API recordings"
AGENTS: Final = "agent sessions"
PLACEHOLDERS: Final = "output placeholders"
FIRST: Final = "first call"
FURTHER: Final = "further calls"


def pair_groups(pair: recorded.Pair) -> tuple[str, ...]:
    """The groups of the table that a pair counts in."""
    if not pair.truth or pair.usage.input is None:
        return ()
    kind = API if pair.kind == "cassette" else AGENTS
    groups = [f"{kind}, all"]
    if pair.is_clean and not (pair.has_media and kind == API):
        groups.append(f"{kind}, clean")
    if pair.usage.placeholder:
        groups.append(PLACEHOLDERS)
    return tuple(groups)


def _call_groups(row: recorded.RecordedRow) -> tuple[str, ...]:
    if not recorded.is_scored(row):
        return ()
    wire = str(row.get("api"))
    provider = str(row.get("provider"))
    name = {"messages": "Anthropic", "generateContent": "Gemini"}.get(wire, "others")
    if provider_named(provider).openai_rules and wire in {"chat", "responses"}:
        name = f"OpenAI {wire}"
    return (FIRST, f"{FIRST}, {name}")


OVER_GROWTH: Final = frozenset({f"{AGENTS}, clean", PLACEHOLDERS, FURTHER})
"""Groups whose error is given as a share of the growth; the others' as a share of the input."""


def table(outcomes: Sequence[EvaluatedPrediction]) -> list[str]:
    """The error table as lines of text: one block per group, ours first. None where nothing can be compared."""
    names = sorted({group for outcome in outcomes for group in outcome.groups})
    lines: list[str] = []
    for name in names:
        rows = [outcome for outcome in outcomes if name in outcome.groups]
        unit = "growth" if name in OVER_GROWTH else "input"
        lines.append(f"{name}: {len(rows)} rows, |error| as % of {unit}")
        lines.append(
            f"  {'':28}{'median':>9}{'p90':>9}{'p95':>9}{'tokens':>9}{'rows':>7}"
        )
        lines.append(
            _line(
                "ullage",
                [(each, float(each.prediction.predicted)) for each in rows],
                unit,
            )
        )
        for formula in rows[0].others:
            known = [
                (each, value)
                for each in rows
                if (value := each.others.get(formula)) is not None
            ]
            if known:
                lines.append(_line(formula, known, unit))
        lines.append(f"  {interval_line(rows)}")
        lines.append("")
    return lines[:-1]


def _line(name: str, rows: Sequence[tuple[EvaluatedPrediction, float]], unit: str) -> str:
    tokens = [abs(value - (outcome.prediction.truth or 0)) for outcome, value in rows]
    shares = [
        100 * error / _whole(outcome, unit)
        for error, (outcome, _) in zip(tokens, rows, strict=True)
    ]
    numbers = [f"{percentile(shares, share):9.2f}" for share in (0.5, 0.9, 0.95)]
    return f"  {name:28}{''.join(numbers)}{percentile(tokens, 0.5):9.1f}{len(rows):7}"


def _whole(outcome: EvaluatedPrediction, unit: str) -> float:
    prediction = outcome.prediction
    return max(
        1.0,
        abs(float((prediction.growth if unit == "growth" else prediction.truth) or 0)),
    )


def interval_line(rows: Sequence[EvaluatedPrediction]) -> str:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code."""
    parser = argparse.ArgumentParser("bench.evaluate", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--estimator", default="auto")
    options = parser.parse_args(arguments)
    try:
        return run(options.file, options.predictions, options.estimator)
    except UllageError as error:
        print(f"bench.evaluate: {safe(str(error))}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
