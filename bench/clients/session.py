"""Runs a client through a scenario."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from bench.clients import scenarios
from bench.clients.client import Client, Lane, Place, Turn
from bench.clients.comparison import (
    ScenarioResult,
    billed_requests,
    compared,
    lane_of,
    refusals,
)
from bench.clients.serving import Simulators, proxying, serving
from bench.clients.terminal import LONG_S, QUIET_S, Terminal, started
from ullage_simulators.server import Exchange

TURN_LIMIT_S = 300
"""After this a client is ended, and what it printed is shown. The slowest run took 15 s on two busy cores."""

EXITED = "it ended with exit code"
NOT_OVER = f"its conversation did not go on and come to rest within {TURN_LIMIT_S} s"

ASKS_IN_S = 20
"""A program at a terminal that has asked nothing after this gets another Enter."""

ENDS_IN_S = 10
"""How long an interrupted client may take to end before the next signal."""

OUTPUT_LINES, OUTPUT_WIDTH = 15, 200


class Programs(NamedTuple):
    """Where the client and Node are installed."""

    client: Path
    node: Path | None = None
    """The directory of a newer Node, for clients that need it."""
    version: str = ""


class KeptRun(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a scenario, beside what the client left in its home directory."""

    version: str
    scenario: str
    lane: Lane
    in_order: bool
    by_proxy: bool
    exchanges: tuple[Exchange, ...]
    interrupted: frozenset[int]
    unserved: frozenset[str]
    problem: str


class Stage(NamedTuple):
    """A client that is ready to be run."""

    client: Client
    programs: Programs
    place: Place
    environment: dict[str, str]
    simulators: Simulators


class Ended(NamedTuple):
    """How a run of the client's program ended; ``problem`` is empty if it ended by itself."""

    output: str
    problem: str = ""

    @property
    def last_lines(self) -> str:
        lines = self.output.splitlines()[-OUTPUT_LINES:]
        return "\n".join(line[:OUTPUT_WIDTH] for line in lines)


def run(
    client: Client,
    scenario: scenarios.ClientScenario,
    programs: Programs,
    keep: Path | None = None,
    *,
    by_proxy: bool = False,
) -> ScenarioResult:
    """Run all turns in an empty home directory and compare. ``keep``: where its home directory is made and left.

    ``by_proxy``: the client is behind a proxy, whose ledger is read instead of the client's log.
    """
    version = programs.version or client.version
    blank = ScenarioResult(client.name, version, scenario.name, by_proxy=by_proxy)
    reason = scenarios.reason_against(scenario, client, by_proxy=by_proxy)
    if reason:
        return replace(blank, skipped=reason)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        home = tempfile.mkdtemp(prefix=f"{scenario.name.replace(' ', '-')}-", dir=keep)
        return _run(client, scenario, programs, Path(home), blank, keep=True)
    with tempfile.TemporaryDirectory(
        prefix="ullage-clients-", ignore_cleanup_errors=True
    ) as home:
        return _run(client, scenario, programs, Path(home), blank)


def _run(
    client: Client,
    scenario: scenarios.ClientScenario,
    programs: Programs,
    home: Path,
    blank: ScenarioResult,
    *,
    keep: bool = False,
) -> ScenarioResult:
    place = Place(
        home.resolve(),
        "",
        scenario.small_window,
        blank.by_proxy,
        scenario.at_terminal,
    )
    scenarios.fill(place.project)
    problem = ""
    data = place.home / "proxy"
    with contextlib.ExitStack() as stack:
        simulators = stack.enter_context(serving(scenarios.script(client, place.project)))
        address = simulators.address
        if blank.by_proxy:
            address = stack.enter_context(proxying(address, data))
        place = place._replace(address=address)
        environment = environment_of(client, place, programs)
        stage = Stage(client, programs, place, environment, simulators)
        for number, ended in enumerate(_ended(stage, scenario), 1):
            if ended.problem:
                problem = f"turn {number}: {ended.problem}\n{ended.last_lines}"
                break
    kept = KeptRun(
        version=blank.version,
        scenario=blank.scenario,
        lane=scenario.lane,
        in_order=scenario.turns[0].deed != "twins",
        by_proxy=blank.by_proxy,
        exchanges=tuple(simulators.exchanges),
        interrupted=frozenset(simulators.interrupted),
        unserved=frozenset(simulators.unserved),
        problem=problem,
    )
    if keep:
        _write(home, kept)
    return judged(client, kept, place.home)


def judged(client: Client, run: KeptRun, home: Path) -> ScenarioResult:
    """What the logs, or the proxy's ledger, below a home directory hold of a run, beside its bills."""
    exchanges = run.exchanges
    billed = billed_requests(client, exchanges, set(run.interrupted))
    if run.by_proxy:
        data = home / "proxy"
        environment = {"ULLAGE_DATA": str(data)}
        result = compared(
            data, environment, billed, {}, in_order=run.in_order, by_proxy=True
        )
    else:
        result = compared(home, {}, billed, client.unlogged)
    problem, ended_rightly = run.problem, ""
    if EXITED in problem:
        last_rule = exchanges[-1].rule if exchanges else ""
        ended_rightly = client.refused_rightly.get(last_rule, "")
    elif not problem and not any(each.lane == run.lane for each in billed):
        problem = f"the client made no request of the kind {run.lane!r}"
    problems = "; ".join(filter(None, [problem, result.problem]))
    return replace(
        result,
        client=client.name,
        version=run.version,
        scenario=run.scenario,
        by_proxy=run.by_proxy,
        requests=len(exchanges),
        refusals=refusals(client, exchanges),
        unserved=tuple(sorted(run.unserved)),
        problem=problems,
        ended_rightly=ended_rightly,
    )


def kept_runs(client: Client, directory: Path) -> Iterator[ScenarioResult]:
    """The runs of a client that ``--keep`` left, read again by the Ullage of today, in the order of the scenarios."""
    found: list[tuple[KeptRun, Path]] = []
    for path in sorted((directory / client.name).glob("*/run.json")):
        run = msgspec.json.decode(path.read_bytes(), type=KeptRun)
        found.append((run, path.parent))
    names = [each.name for each in scenarios.SCENARIOS]
    for run, home in sorted(found, key=lambda each: names.index(each[0].scenario)):
        yield judged(client, run, home)


def _write(home: Path, run: KeptRun) -> None:
    """The run, and each request with its bill or its refusal, to look at; ``bench.usage`` reads the bills."""
    (home / "run.json").write_bytes(msgspec.json.encode(run))
    with (home / "exchanges.jsonl").open("wb") as file:
        for exchange in run.exchanges:
            file.write(msgspec.json.encode(exchange) + b"\n")


def environment_of(client: Client, place: Place, programs: Programs) -> dict[str, str]:
    """Only what the client needs: nothing of the user's own settings, keys or proxies."""
    path = f"{programs.client.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    if programs.node:
        path = f"{programs.node}{os.pathsep}{path}"
    given = {"HOME": str(place.home), "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb"}
    return {**given, **client.prepare(place)}


def _ended(stage: Stage, scenario: scenarios.ClientScenario) -> Iterator[Ended]:
    """How each turn ended: each is a run of the program, or all are typed into one."""
    if not scenario.at_terminal:
        for turn in scenario.turns:
            yield _turn(stage, turn)
        return
    client, simulators = stage.client, stage.simulators
    command = [str(stage.programs.client), *client.at_terminal()]
    with started(command, stage.place.project, stage.environment) as terminal:
        for turn in scenario.turns:
            before = len(simulators.exchanges)
            terminal.write(client.typed(turn))
            if not terminal.wait(partial(_is_asked, simulators, before), ASKS_IN_S):
                terminal.write(
                    ""
                )  # a busy program takes the first Enter for a part of the text
            answered = partial(_is_answered, stage, terminal, before)
            is_over = terminal.wait(answered, TURN_LIMIT_S)
            yield Ended(terminal.text, "" if is_over else NOT_OVER)
        terminal.write(client.leave)
        terminal.wait(lambda: False, ENDS_IN_S)
    _end_all_of(stage.place.home)


def _end_all_of(home: Path) -> None:
    """End what a client has left running in sessions of its own: Codex 0.171.0 starts a server beside its screen."""
    mark = f"HOME={home}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def _is_asked(simulators: Simulators, before: int) -> bool:
    """Whether a model was asked since so many exchanges."""
    return len(simulators.exchanges) > before


def _is_answered(stage: Stage, terminal: Terminal, before: int) -> bool:
    """Whether the conversation went on since so many exchanges, and nothing has been asked for a while."""
    simulators = stage.simulators
    new = simulators.exchanges[before:]
    lanes = {lane_of(stage.client, each.body) for each in new}
    quiet_s = time.monotonic() - simulators.asked_at
    is_quiet = quiet_s > LONG_S or (quiet_s > QUIET_S and terminal.is_quiet())
    return is_quiet and not lanes.isdisjoint(("main", "summary"))


def _turn(stage: Stage, turn: Turn) -> Ended:
    """One run of the program, which ends by itself, or is interrupted as soon as its answer streams."""
    simulators = stage.simulators
    if turn.deed in ("interrupt", "kill", "drop"):
        simulators.held.clear()
        simulators.hold = scenarios.WAIT
        simulators.breaks_off = turn.deed == "drop"
    if turn.deed == "twins":
        return _twins(stage, turn)
    command = [str(stage.programs.client), *stage.client.arguments(turn)]
    return performed(command, stage.place.project, stage.environment, turn, simulators)


def performed(
    command: Sequence[str],
    directory: Path,
    environment: dict[str, str],
    turn: Turn,
    simulators: Simulators,
) -> Ended:
    """Run a program without input until the turn is over; then it and what it started are ended."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            problem = _watched(process, turn, simulators)
        finally:
            _kill(process)
        output.seek(0)
        return Ended(output.read().decode(errors="replace"), problem)


def _watched(process: subprocess.Popen[bytes], turn: Turn, simulators: Simulators) -> str:
    """Wait for the end of the program. Gives what went wrong."""
    if turn.deed in ("interrupt", "kill"):
        return _interrupted(process, simulators, turn)
    try:
        code = process.wait(TURN_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"it did not end within {TURN_LIMIT_S} s"
    if turn.deed == "drop":
        return ""  # it may try again or give up
    return f"{EXITED} {code}" if code else ""


def _twins(stage: Stage, turn: Turn) -> Ended:
    """Two runs of the program at the same time."""
    alone = turn._replace(deed="prompt")
    both = [alone._replace(text=text) for text in (turn.text, scenarios.LIST)]
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda one: _turn(stage, one), both))
    problems = [each.problem for each in ended if each.problem]
    output = "\n".join(each.output for each in ended)
    return Ended(output, "; ".join(problems))


def _interrupted(
    process: subprocess.Popen[bytes], simulators: Simulators, turn: Turn
) -> str:
    """Ctrl-C while the answer streams. A program that ignores three of them is killed, as its user would do."""
    limit = time.monotonic() + TURN_LIMIT_S
    while not simulators.held.wait(0.1):
        if process.poll() is not None:
            return "it ended before it could be interrupted"
        if time.monotonic() > limit:
            return f"it made no request to interrupt within {TURN_LIMIT_S} s"
    if turn.deed == "kill":
        return ""  # the caller does it
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(ENDS_IN_S)
        except subprocess.TimeoutExpired:
            continue
        break
    return ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
