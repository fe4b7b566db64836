"""The files of an invented project, a tea timer called kettle, as its tools would show them."""

from __future__ import annotations

STORE = '''"""Timers on disk: one JSON file, rewritten as a whole."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

DEFAULT = Path.home() / ".local" / "share" / "kettle" / "timers.json"


@dataclass
class Timer:
    """A tea that is steeping."""

    name: str
    started: str
    minutes: float
    rung: bool = False

    @property
    def ends(self) -> datetime:
        return datetime.fromisoformat(self.started) + timedelta(minutes=self.minutes)

    def remaining(self, now: datetime) -> timedelta:
        """Time left; negative once the timer has rung."""
        return self.ends - now

    def is_over(self, now: datetime) -> bool:
        return self.remaining(now) < timedelta(0) and self.rung


class Store:
    """All timers, in the order they were started."""

    def __init__(self, path: Path = DEFAULT) -> None:
        self.path = path
        self.timers = self._load()

    def _load(self) -> list[Timer]:
        if not self.path.exists():
            return []
        return [Timer(**entry) for entry in json.loads(self.path.read_text())]

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = json.dumps([asdict(timer) for timer in self.timers], indent=2)
        self.path.write_text(whole)

    def start(self, name: str, minutes: float, now: datetime) -> Timer:
        if minutes <= 0:
            raise ValueError("a timer needs more than zero minutes")
        timer = Timer(name, now.isoformat(), minutes)
        self.timers.append(timer)
        self.save()
        return timer

    def running(self, now: datetime) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_over(now)]

    def ring(self, now: datetime) -> list[Timer]:
        """Mark the timers that are due, and give them back once."""
        due = [timer for timer in self.timers if not timer.rung and timer.ends <= now]
        for timer in due:
            timer.rung = True
        if due:
            self.save()
        return due
'''

CLI = '''"""The command line: start, list, watch, export."""

import argparse
import sys
import time
from datetime import datetime

from kettle.export import write_calendar
from kettle.store import Store

TEAS = {"sencha": 1.5, "oolong": 3, "assam": 4, "rooibos": 7, "peppermint": 8}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="kettle", description="Timers for tea.")
    commands = top.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start a timer")
    start.add_argument("tea")
    start.add_argument("--minutes", type=float)
    commands.add_parser("list", help="timers that are running")
    watch = commands.add_parser("watch", help="wait, and ring")
    watch.add_argument("--every", type=float, default=1.0, help="seconds between looks")
    export = commands.add_parser("export", help="write timers as a calendar")
    export.add_argument("file")
    return top


def show(store: Store, now: datetime) -> None:
    rows = store.running(now)
    if not rows:
        print("Nothing is steeping.")
        return
    for timer in rows:
        left = timer.remaining(now).total_seconds()
        minutes, seconds = divmod(int(left), 60)
        print(f"{timer.name:<12} {minutes:>3}:{seconds:02d}")


def main(arguments: list[str] | None = None) -> int:
    chosen = parser().parse_args(arguments)
    store = Store()
    now = datetime.now()
    match chosen.command:
        case "start":
            minutes = chosen.minutes or TEAS.get(chosen.tea)
            if minutes is None:
                print(f"How long does {chosen.tea} take? Say --minutes.", file=sys.stderr)
                return 2
            store.start(chosen.tea, minutes, now)
        case "list":
            show(store, now)
        case "watch":
            while store.running(datetime.now()):
                for timer in store.ring(datetime.now()):
                    print(f"\\a{timer.name} is ready")
                time.sleep(chosen.every)
        case "export":
            write_calendar(store.timers, chosen.file)
    return 0
'''

EXPORT = '''"""Timers as an iCalendar file, for the phone."""

from datetime import datetime
from pathlib import Path

from kettle.store import Timer

HEAD = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//kettle//EN"]


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%dT%H%M%S")


def event(timer: Timer) -> list[str]:
    """One timer as an event that ends when the tea is ready."""
    return [
        "BEGIN:VEVENT",
        f"UID:{timer.name}-{stamp(datetime.fromisoformat(timer.started))}@kettle",
        f"DTSTART:{stamp(datetime.fromisoformat(timer.started))}",
        f"DTEND:{stamp(timer.ends)}",
        f"SUMMARY:{timer.name}",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        "TRIGGER;RELATED=END:PT0S",
        "END:VALARM",
        "END:VEVENT",
    ]


def write_calendar(timers: list[Timer], target: str) -> None:
    upcoming = [timer for timer in timers if timer.ends > datetime.now()]
    lines = HEAD + [line for timer in upcoming for line in event(timer)] + ["END:VCALENDAR"]
    Path(target).write_text("\\r\\n".join(lines) + "\\r\\n")
'''

TEST_STORE = """from datetime import datetime, timedelta

from kettle.store import Store

NOON = datetime(2026, 1, 5, 12, 0)


def test_a_timer_runs_until_its_minutes_are_over(tmp_path):
    store = Store(tmp_path / "timers.json")
    store.start("assam", 4, NOON)
    assert [timer.name for timer in store.running(NOON + timedelta(minutes=3))] == ["assam"]


def test_a_timer_that_has_rung_is_not_listed(tmp_path):
    store = Store(tmp_path / "timers.json")
    store.start("assam", 4, NOON)
    store.ring(NOON + timedelta(minutes=5))
    assert store.running(NOON + timedelta(minutes=5)) == []


def test_timers_survive_a_restart(tmp_path):
    Store(tmp_path / "timers.json").start("sencha", 1.5, NOON)
    assert Store(tmp_path / "timers.json").timers[0].name == "sencha"


def test_a_timer_needs_minutes(tmp_path):
    store = Store(tmp_path / "timers.json")
    try:
        store.start("cold", 0, NOON)
    except ValueError:
        return
    raise AssertionError("no error")
"""

CHANGELOG = """# Changelog

## 0.3.0 - 2026-02-20

- `kettle export` writes an iCalendar file.
- `kettle watch --every` sets how often it looks.

## 0.2.0 - 2026-01-11

- Teas have default times.
- Timers survive a restart.

## 0.1.0 - 2025-12-27

- First release: `start`, `list`, `watch`.
"""

PYPROJECT = """[project]
name = "kettle"
version = "0.3.0"
requires-python = ">=3.11"

[project.scripts]
kettle = "kettle.cli:main"

[dependency-groups]
dev = ["pytest>=8"]
"""


KINDS = (
    "green",
    "oolong",
    "black",
    "white",
    "herbal",
    "yellow",
    "roasted",
    "smoked",
    "scented",
    "compressed",
)
PLACES = (
    "Uji", "Darjeeling", "Assam", "Nantou", "Wuyi", "Ceylon", "Shizuoka", "Yunnan", "Kericho", "Nilgiri", "Rize",
    "Anxi", "Hangzhou", "Kagoshima", "Mozambique", "Azores", "Georgia", "Malawi",
)  # fmt: skip
NOTES = (
    "rinse once, then pour low and slowly",
    "water just off the boil; leave the lid ajar",
    "cool the water for two minutes first",
    "a second steep is longer by half",
    "sweetens when it stands; do not stir",
    "warm the pot, and use a wide cup",
    "goes bitter after its time, so ring twice",
)


def teas(first: int, count: int) -> str:
    """A stretch of the project's list of teas, one JSON object a line."""
    lines = []
    for number in range(first, first + count):
        kind, place = KINDS[number % len(KINDS)], PLACES[number * 7 % len(PLACES)]
        minutes, degrees = 1 + number * 13 % 17 / 2, 60 + number * 11 % 41
        lines.append(
            f'  {{"id": {number}, "name": "{place} {kind} no. {number % 23 + 1}", "kind": "{kind}", '
            f'"minutes": {minutes}, "celsius": {degrees}, "note": "{NOTES[number * 5 % len(NOTES)]}"}},'
        )
    return "\n".join(
        f"{number:>6}→{line}" for number, line in enumerate(lines, start=first + 2)
    )


def verbose_run(count: int) -> str:
    """What pytest prints with -v for one parametrised test, and two failures at its end."""
    lines = [
        "============================= test session starts =============================="
    ]
    for number in range(count):
        kind, place = KINDS[number % len(KINDS)], PLACES[number * 7 % len(PLACES)]
        name = f"{place.lower()}-{kind}-{number}"
        outcome = "FAILED" if number in (31, 88) else "PASSED"
        lines.append(
            f"tests/test_teas.py::test_a_teas_time_fits_its_kind[{name}] {outcome} [{number:>3}%]"
        )
    lines += [
        "=========================== short test summary info ============================",
        "FAILED tests/test_teas.py::test_a_teas_time_fits_its_kind - assert 8.5 <= 5",
        "FAILED tests/test_teas.py::test_a_teas_time_fits_its_kind - assert 9.0 <= 5",
        f"2 failed, {count + 11} passed in 1.87s",
    ]
    return "\n".join(lines)


def numbered(text: str) -> str:
    """A file as the Read tool shows it."""
    return "\n".join(
        f"{number:>6}→{line}" for number, line in enumerate(text.splitlines(), start=1)
    )
