"""`ullage context` and the status line give one threshold, whatever is set and whatever the session shows."""

import json
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from tests.line.logs import answer, boundary, linked, prompt
from ullage import Meter
from ullage.importers import read
from ullage_programs.claude_code.look import look
from ullage_programs.claude_code.status import threshold_of
from ullage_programs.programs import facts_of
from ullage_programs.settings import settings_of

MODEL = "claude-opus-4-6"
WINDOW = 200_000
PERCENTAGE = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
CHOSEN = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"


def session(*lines: bytes, version: str = "2.1.330", model: str = MODEL) -> bytes:
    """The lines, with what each line of a real log says of its session."""
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        entry |= {"sessionId": "s", "version": version, "isSidechain": False}
        if entry["type"] == "assistant":
            entry["message"]["model"] = model
    return b"".join(linked(*(json.dumps(entry).encode() for entry in entries)))


CALLS = (prompt("hello"), answer("msg_1", reported=20_000))


class Place:
    """The home directory of a user of Claude Code, and a project."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        self.log = home / ".claude" / "projects" / "-project" / "s.jsonl"
        self.log.parent.mkdir(parents=True)
        (self.project / ".claude").mkdir(parents=True)
        self.log.write_bytes(session(*CALLS))

    def of_line(self, version: str, model: str, window: int) -> int | None:
        size = look(str(self.log))
        assert size is not None
        status: dict[str, object] = {
            "transcript_path": str(self.log),
            "workspace": {"project_dir": str(self.project)},
            "model": {"id": model},
            "version": version,
        }
        found = threshold_of(status, window, size)
        return None if found is None else found.tokens

    def of_context(self, window: int) -> int | None:
        imported = read(self.log)
        facts = facts_of(imported.program)
        found = settings_of(facts, self.log, str(self.project))
        meter = Meter(window=window, client_settings=found.values)
        for event in imported.events:
            meter.apply(event)
        threshold = meter.reading().threshold
        return threshold.tokens if threshold.by else None  # else Ullage's own

    def threshold(
        self, version: str = "2.1.330", model: str = MODEL, window: int = WINDOW
    ) -> int | None:
        """What both say."""
        found = self.of_line(version, model, window)
        assert self.of_context(window) == found
        return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("environment", "settings", "tokens"),
    [
        ({CHOSEN: "150k"}, {}, 117_000),
        ({}, {"modelSettings": {MODEL: {"autoCompactWindow": 150_000}}}, 117_000),
        ({"DISABLE_AUTO_COMPACT": "on"}, {}, None),
        ({PERCENTAGE: "20"}, {"env": {PERCENTAGE: "50"}}, 90_000),
    ],
)
def test_a_setting_moves_both(
    environment: dict[str, str],
    settings: dict[str, object],
    tokens: int | None,
    place: Place,
    monkeypatch: MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    file = place.home / ".claude" / "settings.json"
    file.write_text(json.dumps(settings))
    assert place.threshold() == tokens


def test_a_file_of_settings_counts_for_both_in_each_of_its_places(place: Place) -> None:
    (place.home / ".claude.json").write_text('{"autoCompactEnabled": false}')
    assert place.threshold() is None
    user = place.home / ".claude" / "settings.json"
    user.write_text(
        '{"autoCompactEnabled": true, /* mine */ "autoCompactWindow": 140000}'
    )
    assert place.threshold() == 107_000
    project = place.project / ".claude" / "settings.json"
    project.write_text('{"autoCompactWindow": 150000}')
    assert place.threshold() == 117_000


def test_a_directory_that_the_environment_names_counts_for_both(
    place: Place, monkeypatch: MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    monkeypatch.setenv(PERCENTAGE, "50")
    (elsewhere / "settings.json").write_text('{"autoCompactWindow": 150000}')
    place.log = elsewhere / "projects" / "-project" / "s.jsonl"
    place.log.parent.mkdir(parents=True)
    place.log.write_bytes(session(*CALLS))
    assert place.threshold() == 65_000


@pytest.mark.parametrize(
    ("lines", "tokens"),
    [
        ((boundary("auto", 155_066),), 155_066),
        ((boundary("manual", 90_000),), 167_000),
        ((answer("msg_2", reported=170_000), answer("msg_3", reported=171_000)), None),
    ],
)
def test_what_the_session_shows_moves_both(
    lines: tuple[bytes, ...], tokens: int | None, place: Place
) -> None:
    place.log.write_bytes(session(*CALLS, *lines))
    assert place.threshold() == tokens


def test_the_model_and_the_version_move_both(place: Place) -> None:
    for version, tokens in (("2.1.330", 200_000), ("2.1.70", 167_000)):
        place.log.write_bytes(session(*CALLS, version=version, model="claude-sonnet-4-5"))
        assert place.threshold(version, "claude-sonnet-4-5") == tokens
