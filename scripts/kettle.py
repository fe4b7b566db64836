"""An invented working session on an invented project: what was asked, what the agent did, what its tools returned."""

# ruff: noqa: E501 - a transcript: its lines are as long as what was said

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scripts import kettle_files as files

if TYPE_CHECKING:
    from scripts.make_session import Session


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its result."""

    name: str
    arguments: dict[str, str]
    result: str


SYSTEM = """You are a coding agent that works in a person's terminal. You read and change the files of one project, run
its tests, and say what you did in a few words.

# Working
- Look before you change: read the file, find who calls it, run the tests once to know how things stand.
- Make the smallest change that does what was asked. Leave what was not asked for as it is, and mention it.
- After a change run the tests that cover it. If they fail, say so; don't hide it.
- Several looks that don't depend on each other are made at once.
- Ask before anything that can't be taken back: deleting, publishing, rewriting history.

# Speaking
- Short sentences, no praise, no apologies. Code only where it helps.
- Name files with their line, like kettle/store.py:34.
- When something failed, give the command and the line of its output that matters.

# Environment
Working directory: /home/ann/kettle (a git repository, branch main). Platform: linux. Today is 2026-03-14.
"""

INSTRUCTIONS = """# kettle
Timers for tea. Python 3.11, no dependencies but pytest.
- Tests: `python -m pytest -q`. Test names are sentences.
- Times are stored as ISO text. The clock is passed in, never asked for inside `store.py`.
- Every release has an entry in CHANGELOG.md, newest first, one line a change, written for people who make tea.
"""

SKILLS = """- release: bumps the version, writes the changelog entry and the tag message
- review: reads a diff and lists what could break, most likely first
"""

DEFERRED = [
    "mcp__tracker__search_issues",
    "mcp__tracker__comment",
    "mcp__calendar__add_event",
    "NotebookEdit",
]


def _tool(name: str, about: str, /, **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            key: {"type": "string", "description": value}
            for key, value in properties.items()
        },
        "required": list(properties)[:1],
    }
    return {"name": name, "description": about, "input_schema": schema}


TOOLS = [
    _tool(
        "Read",
        "Reads a file of the project and gives its lines with their numbers. Long files are given in pieces; say where "
        "to start. Images are shown as images.",
        file_path="Absolute path of the file",
        offset="First line, counted from 1",
        limit="How many lines",
    ),
    _tool(
        "Edit",
        "Replaces one piece of text in a file by another. The old text must occur exactly once and be given with its "
        "indentation; read the file first.",
        file_path="Absolute path of the file",
        old_string="The text that goes",
        new_string="The text that comes in its place",
    ),
    _tool(
        "Write",
        "Writes a whole file, over what was there.",
        file_path="Absolute path",
        content="All of its text",
    ),
    _tool(
        "Bash",
        "Runs a command in the project's directory and gives what it printed, up to 30,000 characters, and its exit "
        "code if that is not 0. Commands that wait for input are stopped after two minutes.",
        command="The command",
        description="What it does, in five words",
        timeout="Milliseconds",
    ),
    _tool(
        "Grep",
        "Finds lines by a regular expression, with their files and numbers.",
        pattern="Regular expression",
        path="Directory or file to look in",
        glob="Only files whose names fit this",
    ),
    _tool(
        "Glob",
        "Lists files whose paths fit a pattern, newest first.",
        pattern="Pattern such as **/*.py",
    ),
    _tool(
        "Task",
        "Gives a question to a helper that looks around on its own and reports back. Use it for searches whose steps "
        "don't matter, only their result.",
        prompt="The whole question; the helper knows nothing else",
        description="The task in a few words",
    ),
    _tool(
        "mcp__tracker__get_issue",
        "Reads one issue of the project's tracker.",
        number="The issue's number",
    ),
]

ROOT = "/home/ann/kettle"
PASSED = "...........                                                              [100%]\n{} passed in 0.{:02d}s"
DUE = "        return self.remaining(now) <= timedelta(0)"
FIELDS = "name, started, ends, remaining_s"


def play(session: Session) -> None:
    """The whole session."""
    _find_the_bug(session)
    _add_json(session)
    _look_for_more(session)
    _release(session)
    _check_the_teas(session)


def _find_the_bug(session: Session) -> None:
    session.ask(
        "`kettle list` shows teas that are long finished, with negative times. Find out why and fix it."
    )
    session.step(
        "I look at how the list is made.",
        Call("Glob", {"pattern": "**/*.py"}, "kettle/cli.py\nkettle/store.py\nkettle/export.py\nkettle/__main__.py\n"
             "tests/test_store.py\ntests/test_cli.py\ntests/test_export.py"),
        Call("Bash", {"command": "python -m pytest -q", "description": "Run all tests"}, PASSED.format(11, 21)),
        thinking="Negative times mean that running() lets finished timers through. I need the store and the command.",
    )  # fmt: skip
    session.step(
        "",
        Call("Read", {"file_path": f"{ROOT}/kettle/cli.py"}, files.numbered(files.CLI)),
    )
    session.step(
        "",
        Call(
            "Read", {"file_path": f"{ROOT}/kettle/store.py"}, files.numbered(files.STORE)
        ),
    )
    session.step(
        "`is_over` asks for both: the time is up, and somebody rang. I check who rings.",
        Call(
            "Grep",
            {"pattern": r"\.(ring|rung|is_over)\b", "path": f"{ROOT}/kettle"},
            "kettle/cli.py:57:                for timer in store.ring(datetime.now()):\n"
            "kettle/store.py:31:        return self.remaining(now) < timedelta(0) and self.rung\n"
            "kettle/store.py:65:        return [timer for timer in self.timers if not timer.is_over(now)]\n"
            "kettle/store.py:69:        due = [timer for timer in self.timers if not timer.rung and timer.ends <= now]",
        ),
        thinking="Only `watch` calls ring(). Without a watcher rung stays False, so is_over is never true. The flag is "
        "there so that a tea rings once; it says nothing about being over. watch's loop depends on running(), though: "
        "if running() drops a timer the moment it is due, the loop can end before it rang.",
    )
    session.step(
        "",
        Call(
            "Read",
            {"file_path": f"{ROOT}/tests/test_store.py"},
            files.numbered(files.TEST_STORE),
        ),
    )
    session.step(
        "The list should go by time alone. `watch` must still ring the last tea, so it asks for what has not rung.",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/store.py",
                "old_string": "        return self.remaining(now) < timedelta(0) and self.rung",
                "new_string": DUE,
            },
            "The file /home/ann/kettle/kettle/store.py has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": "            while store.running(datetime.now()):",
                "new_string": "            while any(not timer.rung for timer in store.timers):",
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
    )
    session.step(
        "Now a test for each of the two.",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/tests/test_store.py",
                "old_string": "def test_timers_survive_a_restart(tmp_path):",
                "new_string": "def test_a_timer_that_is_over_is_not_listed_even_if_nobody_rang(tmp_path):\n"
                '    store = Store(tmp_path / "timers.json")\n    store.start("assam", 4, NOON)\n'
                "    assert store.running(NOON + timedelta(minutes=4)) == []\n\n\n"
                "def test_timers_survive_a_restart(tmp_path):",
            },
            "The file /home/ann/kettle/tests/test_store.py has been updated.",
        ),
    )
    session.step("", Call("Bash", {"command": "python -m pytest -q", "description": "Run all tests"},
                          PASSED.format(12, 22)))  # fmt: skip
    session.step(
        "Fixed. `Timer.is_over` (kettle/store.py:31) was only true after `kettle watch` had rung; without a watcher a "
        "tea never left the list. It now goes by time alone, and `watch` (kettle/cli.py:56) waits for teas that have "
        "not rung, so that the last one still rings. 12 tests pass, one of them new.",
        final=True,
    )


def _add_json(session: Session) -> None:
    session.ask(f"now give list a --json option. one object per tea with {FIELDS}")
    session.step("", Call("Read", {"file_path": f"{ROOT}/kettle/cli.py", "offset": "17", "limit": "26"},
                          files.numbered(files.CLI)[900:2300]))  # fmt: skip
    session.step(
        "",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": '    commands.add_parser("list", help="timers that are running")',
                "new_string": '    listing = commands.add_parser("list", help="timers that are running")\n'
                '    listing.add_argument("--json", action="store_true", help="one JSON object a line")',
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": "def main(arguments",
                "new_string": "def as_json(timer: Timer, now: datetime) -> str:\n"
                '    """One timer for a program to read; times are ISO text, what is left is in seconds."""\n'
                '    left = round(timer.remaining(now).total_seconds(), 1)\n    return json.dumps(\n        {"name": '
                'timer.name, "started": timer.started, "ends": timer.ends.isoformat(), "remaining_s": left}\n    )\n\n\n'
                "def main(arguments",
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
        thinking="One object a line is easier to pipe than a list. ends is a datetime and needs isoformat.",
    )
    session.step(
        "",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": "            show(store, now)",
                "new_string": "            if chosen.json:\n"
                '                print("\\n".join(as_json(timer, now) for timer in store.running(now)))\n'
                "            else:\n                show(store, now)",
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
    )
    session.step(
        "",
        Call(
            "Bash",
            {
                "command": "python -m kettle start oolong && python -m kettle list --json",
                "description": "Try it",
            },
            "Traceback (most recent call last):\n"
            '  File "/home/ann/kettle/kettle/__main__.py", line 5, in <module>\n    sys.exit(main())\n'
            '  File "/home/ann/kettle/kettle/cli.py", line 67, in main\n'
            '    print("\\n".join(as_json(timer, now) for timer in store.running(now)))\n'
            '  File "/home/ann/kettle/kettle/cli.py", line 48, in as_json\n    return json.dumps(\n'
            "           ^^^^\nNameError: name 'json' is not defined. Did you forget to import 'json'?",
        ),
    )
    session.step(
        "The import is missing, and `Timer` too.",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": "import argparse\nimport sys",
                "new_string": "import argparse\nimport json\nimport sys",
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/cli.py",
                "old_string": "from kettle.store import Store\n",
                "new_string": "from kettle.store import Store, Timer\n",
            },
            "The file /home/ann/kettle/kettle/cli.py has been updated.",
        ),
    )
    session.step(
        "",
        Call(
            "Bash",
            {"command": "python -m kettle list --json", "description": "Try it again"},
            '{"name": "oolong", "started": "2026-03-14T09:34:11.402113", "ends": "2026-03-14T09:37:11.402113", '
            '"remaining_s": 151.7}',
        ),
        Call("Grep", {"pattern": "def test_", "path": f"{ROOT}/tests/test_cli.py"},
             "tests/test_cli.py:9:def test_a_tea_without_a_time_is_asked_for(capsys):\n"
             "tests/test_cli.py:15:def test_the_list_shows_what_is_left(store, capsys):\n"
             "tests/test_cli.py:24:def test_an_empty_list_says_so(store, capsys):"),
    )  # fmt: skip
    session.step("", Call("Read", {"file_path": f"{ROOT}/tests/test_cli.py", "offset": "1", "limit": "30"},
                          files.numbered(files.TEST_STORE)[:1100]))  # fmt: skip
    session.step(
        "",
        Call(
            "Bash",
            {
                "command": "cat >> tests/test_cli.py <<'EOF'\n\n\ndef test_the_list_is_given_to_programs_as_json(store, "
                'capsys):\n    store.start("assam", 4, datetime.now())\n    main(["list", "--json"])\n'
                '    assert set(json.loads(capsys.readouterr().out)) == {"name", "started", "ends", "remaining_s"}\nEOF\n'
                "sed -i '1i import json' tests/test_cli.py && python -m pytest -q",
                "description": "Add a test and run all",
            },
            PASSED.format(13, 24),
        ),
    )
    session.step(
        f"`kettle list --json` prints one object a line: {FIELDS}. An empty list prints an empty line; say if it should "
        "print nothing. 13 tests pass.",
        final=True,
    )


def _check_the_teas(session: Session) -> None:
    path = f"{ROOT}/kettle/teas.json"
    session.ask(
        "some teas ring far too late. go through teas.json and tell me which times can't be right"
    )
    session.step(
        "I run the check of the times first, then read the list.",
        Call(
            "Bash",
            {
                "command": "python -m pytest -v tests/test_teas.py",
                "description": "Check all times",
            },
            files.verbose_run(120),
        ),
        thinking="There is a parametrised test for the teas. Its names tell which ones fail; the list tells why.",
    )
    for first in (0, 110, 220):
        arguments = {"file_path": path, "offset": str(first + 2), "limit": "110"}
        session.step("", Call("Read", arguments, files.teas(first, 110)))
    session.step(
        "Two fail, and the list shows a pattern: their minutes were typed for a pot, the others for a cup.",
        Call("Grep", {"pattern": '"kind": "green".*"minutes": (8|9)', "path": path}, files.teas(30, 2)),
        Call("Bash", {"command": "git log --oneline -3 -- kettle/teas.json", "description": "See who changed it"},
             "7d1c2aa Add teas of the winter list\n3f00e51 Celsius instead of words\n1e5b7c4 First list of teas"),
    )  # fmt: skip
    session.step(
        "",
        Call("Bash", {"command": "git show 7d1c2aa --stat && git show 7d1c2aa | head -60", "description": "See the change"},
             files.teas(300, 45)),
        thinking="The winter list added 45 teas. Two of the green ones took the times of the row above.",
    )  # fmt: skip
    session.step(
        "Two times can't be right: nos. 31 and 88, green teas at 8.5 and 9 minutes. Both came with the winter list "
        "(7d1c2aa), where their rows took the minutes of the black teas above them. 1.5 and 2 would fit their kind. I "
        "changed nothing; shall I?",
        final=True,
    )


def _look_for_more(session: Session) -> None:
    prompt = (
        "In /home/ann/kettle find every place that compares or subtracts datetimes, and say for each whether the two "
        "sides can differ in having a time zone."
    )
    report = (
        "Four places. store.py:24 and :28 work on what `started` holds; it is written by start() from the clock that "
        "is passed in. cli.py passes datetime.now(), without a zone, everywhere, so these agree. export.py:35 compares "
        "timer.ends with datetime.now(): agrees today, but breaks with TypeError as soon as a caller starts a timer "
        "with a zone, for instance through a calendar import. export.py:12 writes the time without Z or TZID, so phones "
        "in another zone will ring at the wrong time."
    )
    session.ask(
        "is there anything else in there that trips over times? time zones for example. have somebody look"
    )
    session.step(
        "",
        Call(
            "Task", {"prompt": prompt, "description": "Find comparisons of times"}, report
        ),
        thinking="A search whose steps don't matter. A helper can do it.",
    )
    session.explore(prompt, report)
    session.step(
        "",
        Call(
            "Read",
            {"file_path": f"{ROOT}/kettle/export.py"},
            files.numbered(files.EXPORT),
        ),
    )
    session.clear_oldest(6)
    session.step(
        "Two findings hold. I fix both in the export: aware times, written in UTC.",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/export.py",
                "old_string": '    return moment.strftime("%Y%m%dT%H%M%S")',
                "new_string": '    """A moment in UTC. One without a zone is taken to be local."""\n'
                '    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")',
            },
            "The file /home/ann/kettle/kettle/export.py has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/export.py",
                "old_string": "if timer.ends > datetime.now()]",
                "new_string": "if timer.ends.astimezone(UTC) > datetime.now(UTC)]",
            },
            "The file /home/ann/kettle/kettle/export.py has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/kettle/export.py",
                "old_string": "from datetime import datetime\n",
                "new_string": "from datetime import UTC, datetime\n",
            },
            "The file /home/ann/kettle/kettle/export.py has been updated.",
        ),
        thinking="astimezone() on a naive datetime assumes local time, which is what the store means by it. So stamp() "
        "can convert everything, and the comparison is safe for both kinds. The UID changes its form for new exports "
        "only; calendars treat those as other events, which is fine for a timer of minutes.",
    )
    failure = (
        "..........F..                                                            [100%]\n"
        "=================================== FAILURES ===================================\n"
        "____________________ test_an_event_ends_when_the_tea_is_ready _____________________\n\n"
        '>       assert "DTEND:20260105T120400" in event(timer)\n'
        "E       AssertionError: assert 'DTEND:20260105T120400' in ['BEGIN:VEVENT', 'UID:assam-20260105T110000Z@kettle', "
        "'DTSTART:20260105T110000Z', 'DTEND:20260105T110400Z', ...]\n\ntests/test_export.py:14: AssertionError\n"
        "1 failed, 12 passed in 0.27s"
    )
    session.step(
        "",
        Call(
            "Bash",
            {"command": "python -m pytest -q", "description": "Run all tests"},
            failure,
        ),
    )
    session.step(
        "The test expected local time. Its timer gets a zone, so that it means the same on every machine.",
        Call(
            "Bash",
            {
                "command": "sed -i 's/datetime(2026, 1, 5, 12, 0)/datetime(2026, 1, 5, 12, 0, tzinfo=UTC)/; "
                's/import datetime/import UTC, datetime/; s/T120400"/T120400Z"/\' tests/test_export.py '
                "&& python -m pytest -q",
                "description": "Give the test a zone",
            },
            PASSED.format(13, 25),
        ),
    )
    session.step(
        "Two places could trip, both in kettle/export.py: line 12 wrote local times without saying so, and line 35 "
        "compared with a clock that has no zone. Both now use UTC. The store is consistent as long as callers pass the "
        "same kind of clock; I left it alone. 13 tests pass.",
        final=True,
    )


def _release(session: Session) -> None:
    session.compact(
        "This session is being continued from an earlier conversation. Summary:\n\n1. Request: `kettle list` showed teas "
        "that were finished. Cause: Timer.is_over also asked for `rung`, which only `kettle watch` sets. Fixed in "
        "kettle/store.py:31; watch waits for teas that have not rung (kettle/cli.py:56).\n2. `kettle list --json` was "
        f"added: one object a line with {FIELDS} (kettle/cli.py, as_json).\n3. Time zones: kettle/export.py writes UTC "
        "and compares aware times. The store was left as it is.\n4. Tests: 13 pass (`python -m pytest -q`); new ones in "
        "tests/test_store.py and tests/test_cli.py, tests/test_export.py was given a zone.\n5. Nothing is committed yet. "
        "The person decides what comes next."
    )
    session.ask(
        "good. write the changelog entry and bump the version, it's a minor release"
    )
    session.step(
        "",
        Call(
            "Read", {"file_path": f"{ROOT}/CHANGELOG.md"}, files.numbered(files.CHANGELOG)
        ),
        Call(
            "Read",
            {"file_path": f"{ROOT}/pyproject.toml"},
            files.numbered(files.PYPROJECT),
        ),
    )
    session.step(
        "",
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/CHANGELOG.md",
                "old_string": "# Changelog\n",
                "new_string": "# Changelog\n\n## 0.4.0 - 2026-03-14\n\n- Teas leave the list when they are ready, also "
                "when nobody watches.\n- `kettle list --json` is for programs.\n- Exported timers ring at the right time "
                "in every time zone.\n",
            },
            "The file /home/ann/kettle/CHANGELOG.md has been updated.",
        ),
        Call(
            "Edit",
            {
                "file_path": f"{ROOT}/pyproject.toml",
                "old_string": 'version = "0.3.0"',
                "new_string": 'version = "0.4.0"',
            },
            "The file /home/ann/kettle/pyproject.toml has been updated.",
        ),
    )
    session.fail("API Error: 529 overloaded_error. The request is tried again.")
    session.step(
        "",
        Call(
            "Bash",
            {
                "command": "git diff --stat && python -m pytest -q",
                "description": "See the whole change",
            },
            " CHANGELOG.md         |  6 ++++++\n kettle/cli.py        | 19 +++++++++++++++----\n"
            " kettle/export.py     |  7 ++++---\n kettle/store.py      |  2 +-\n pyproject.toml       |  2 +-\n"
            " tests/test_cli.py    |  8 ++++++++\n tests/test_export.py |  6 +++---\n tests/test_store.py  |  6 ++++++\n"
            " 8 files changed, 43 insertions(+), 13 deletions(-)\n"
            + PASSED.format(13, 22),
        ),
    )
    session.step(
        "0.4.0 is in CHANGELOG.md and pyproject.toml; 13 tests pass. Nothing is committed.",
        final=True,
    )
    session.ask("commit it please, and show me the tag message before you tag")
    log = "9c41e07 Export timers as a calendar\n51d2a90 Teas have default times\n0be3f11 Timers survive a restart"
    session.step(
        "",
        Call("Bash", {"command": "git log --oneline -3", "description": "See how commits are written"}, log),
        Call("Bash", {"command": "git status --short", "description": "See what is changed"},
             " M CHANGELOG.md\n M kettle/cli.py\n M kettle/export.py\n M kettle/store.py\n M pyproject.toml\n"
             " M tests/test_cli.py\n M tests/test_export.py\n M tests/test_store.py"),
        thinking="Commits here are one idea each, in a plain sentence. Three ideas and a release: four commits.",
    )  # fmt: skip
    for at, (paths, message) in enumerate(
        (
            (
                "kettle/store.py tests/test_store.py",
                "A tea leaves the list when it is ready",
            ),
            (
                "kettle/cli.py tests/test_cli.py",
                "List timers as JSON; watch until all have rung",
            ),
            ("kettle/export.py tests/test_export.py", "Export times in UTC"),
            ("CHANGELOG.md pyproject.toml", "Release 0.4.0"),
        )
    ):
        command = f'git add {paths} && git commit -m "{message}"'
        said = f"[main {0x4A7C10 + at * 7919:07x}] {message}\n 2 files changed"
        session.step(
            "", Call("Bash", {"command": command, "description": "Commit one idea"}, said)
        )
    session.step(
        "Four commits, one for each idea and one for the release. The tag message would be:\n\n    kettle 0.4.0\n\n"
        "    Teas leave the list when they are ready. The list can be read by programs. Exported timers ring on time "
        "in every zone.\n\nShall I tag it `v0.4.0`?",
        final=True,
    )
    session.ask("shorter, one line. then yes")
    session.step(
        "",
        Call(
            "Bash",
            {
                "command": 'git tag -a v0.4.0 -m "kettle 0.4.0: finished teas leave the list, and programs can read it" '
                "&& git show --no-patch v0.4.0",
                "description": "Tag the release",
            },
            "tag v0.4.0\nTagger: Ann <ann@example.org>\nDate:   Sat Mar 14 09:52:40 2026 +0000\n\n"
            "kettle 0.4.0: finished teas leave the list, and programs can read it\n\ncommit 4a8b5fd\n"
            "    Release 0.4.0",
        ),
    )
    session.step("Tagged v0.4.0, not pushed.", final=True)
