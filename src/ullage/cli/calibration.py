"""``ullage calibration``: what was learnt about each model, from these logs or in the user's store."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from ullage.cli.exit_codes import DONE, FAILED
from ullage.cli.listing import Column, columns
from ullage.cli.overhead import (
    overhead_table,
    overheads,
    remember_first_call,
    stored_overhead,
)
from ullage.cli.screen import Screen
from ullage.cli.session import metered, read_session
from ullage.cli.stores import place_option, records_at
from ullage.display.text import Line, Span, counted, number, printable, quoted, wrapped
from ullage.errors import InputError, SettingError
from ullage.events import FirstCall
from ullage.meter.meter import Meter
from ullage.meter.overhead import kept
from ullage.similar import did_you_mean
from ullage.store.calibration import CalibrationStore
from ullage.store.overhead import OverheadStore
from ullage.tokens.calibration import Calibration


class Taught(NamedTuple):
    """What is known of one model after ``n`` actuals.

    ``offset`` are tokens added to a call inside a tool loop, ``offset_user`` to one that begins a turn; ``ratio``
    multiplies the count of new text. The errors are means of absolute errors in percent of the actual, as the estimates
    would have been without learning and as they were. ``turned`` names reasoning rules that were the other way round.
    """

    model: str
    provider: str
    offset: float
    offset_user: float
    ratio: float
    n: int
    error_before_percent: float
    error_after_percent: float
    turned: tuple[str, ...]
    text_kinds: dict[str, float]
    """The ratio of each kind of text that was seen, by its name."""


class LearntStore(NamedTuple):
    """Where what was learnt of models and of first calls is stored."""

    models: CalibrationStore
    calls: OverheadStore


def calibration(options: argparse.Namespace) -> int:
    """Print what was learnt; ``FAILED`` where a file could not be used. Raises ``UllageError`` where none could."""
    with ExitStack() as stack:
        records = None
        if options.store:
            records = stack.enter_context(records_at(options.store))
        store = LearntStore(
            CalibrationStore(records=records), OverheadStore(records=records)
        )
        if options.forget is not None:
            where = place_option("--store", options.store)
            return forget(options.forget, options.files, store, where)
        return _shown(options, store)


def _shown(options: argparse.Namespace, stored: LearntStore) -> int:
    store = stored.models
    is_whole = True
    if not options.files:
        if options.save:
            raise SettingError(
                "--save needs the logs to learn from: `ullage calibration FILE… --save`."
            )
        learnt, source = store.read(), store.shown
        first_calls = stored_overhead(stored.calls)
    else:
        logs = [Path(file) for file in options.files]
        learnt, used, first_calls = learn_from(logs, options.estimator)
        source = counted(used, "log")
        is_whole = used == len(logs)
        if options.save:
            store.add(learnt)
            for call in first_calls:
                remember_first_call(call, stored.calls)
    screen = Screen()
    saved = store.shown if options.save else None
    if options.json:
        models = [taught._asdict() for taught in known(learnt)]
        screen.show_json(
            msgspec.json.encode(
                {
                    "source": source,
                    "saved": saved,
                    "models": models,
                    "overhead": [each._asdict() for each in overheads(first_calls)],
                }
            )
        )
    else:
        lines = listed(known(learnt), source, saved, screen.width)
        if first_calls:
            lines += overhead_table(overheads(first_calls), screen.width)
        screen.show(lines)
    return DONE if is_whole else FAILED


def forget(name: str, files: Sequence[str], store: LearntStore, where: str = "") -> int:
    """Delete what was learnt of this model or program, or everything; says how much. Raises ``UllageError``.

    ``where`` is the option that named the store, for the command that lists it.
    """
    if files:
        raise SettingError(
            "--forget deletes what is stored: give the name of a program or model after it, and no files."
        )
    models = store.models.forget(name)
    calls = store.calls.forget(name)
    if name and not models and not calls:
        known_names = [each.model for each in known(store.models.read())]
        raise InputError(
            f"Nothing is stored of {quoted(name)}.{did_you_mean(name, known_names)} "
            f"`ullage calibration{where}` lists what is stored."
        )
    print(f"Forgotten: {counted(models, 'model')}, {counted(calls, 'first call')}.")
    return DONE


class LearntFromLogs(NamedTuple):
    """What logs teach, and how many could be read."""

    calibration: Calibration
    used: int
    first_calls: tuple[FirstCall, ...]


def learn_from(files: Sequence[Path], estimator: str) -> LearntFromLogs:
    """What these logs teach, one after the other. Those that can't be read are named on standard error.

    Raises the last one's error when none can be read.
    """
    learnt, used, problem = Calibration(), 0, None
    first_calls: list[FirstCall] = []
    for file in files:
        try:
            imported = read_session(file)
        except InputError as unusable:
            problem = unusable
            if len(files) > 1:
                print(f"ullage: {unusable}", file=sys.stderr)
            continue
        meter = Meter(calibration=learnt, estimator=estimator)
        learnt = metered(imported, meter).meter.calibration
        if meter.first_call is not None:
            first_calls.append(meter.first_call)
        used += 1
    if not used and problem is not None:
        raise (
            problem
            if len(files) == 1
            else InputError(
                f"None of the {len(files)} files could be used. `ullage sessions` lists the logs it finds."
            )
        )
    return LearntFromLogs(learnt, used, kept(first_calls))


def known(learnt: Calibration) -> list[Taught]:
    """The models of a calibration, the best known first."""
    taught = []
    for key, state in learnt.models.items():
        provider, _, model = key.partition("/")
        taught.append(
            Taught(
                model=model,
                provider=provider,
                offset=round(state.offset(is_user=False), 1),
                offset_user=round(state.offset(is_user=True), 1),
                ratio=round(state.ratio, 4),
                n=state.n,
                error_before_percent=round(100 * state.before, 3),
                error_after_percent=round(100 * state.after, 3),
                turned=state.flipped,
                text_kinds=state.text_kind_ratios,
            )
        )
    return sorted(taught, key=lambda each: (-each.n, each.model))


def listed(
    taught: Sequence[Taught], source: str, saved: str | None, width: int
) -> list[Line]:
    """The models as a table, under a line that says where it was learnt."""
    if not taught:
        words = f"Nothing learnt in {source}. `ullage calibration FILE ... --save` learns from session logs."
        return [(Span(line),) for line in wrapped(words, width)]
    table = [
        Column("Model"),
        Column("offset", right=True),
        Column("user turn", right=True),
        Column("ratio", right=True),
        Column("n", right=True),
        Column("before", right=True),
        Column("after", right=True),
    ]
    models = Counter(each.model for each in taught)
    rows = [
        [
            each.model if models[each.model] == 1 else f"{each.provider}/{each.model}",
            f"{each.offset:+,.0f}",
            f"{each.offset_user:+,.0f}",
            f"{each.ratio:.3f}",
            number(each.n),
            f"{each.error_before_percent:.2f} %",
            f"{each.error_after_percent:.2f} %",
        ]
        for each in taught
    ]
    lines: list[Line] = [
        (Span("Calibration", "title"), Span(f"  learnt in {printable(source)}")),
        (),
    ]
    lines += columns(table, rows, width)
    for each in taught:
        if each.text_kinds:
            ratios = [f"{name} {ratio:.2f}" for name, ratio in each.text_kinds.items()]
            words = f"{each.model}, ratio by kind of text: {', '.join(ratios)}"
            lines += [(Span(line),) for line in wrapped(words, width)]
        for rule in each.turned:
            where = "inside a tool loop" if rule.endswith(" loop") else "at a user turn"
            words = f"{each.model}: reasoning {where} is counted the other way round than the rule for it says"
            lines += [(Span(line, "warn"),) for line in wrapped(words, width)]
    lines += [(), *((Span(line, "dim"),) for line in wrapped(EXPLAINED, width))]
    if saved:
        lines.append((Span(f"Saved to {saved}."),))
    return lines


EXPLAINED = (
    "Offset: tokens added to a call inside a tool loop, and to one that begins a user turn. Ratio: on the count of new "
    "text, or of words where other kinds of text have their own. Before and after: mean error of the n estimates, in "
    "percent of the actual input, without and with learning."
)
