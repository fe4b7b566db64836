import json
import os
from pathlib import Path

import pytest

from ullage_programs.facts import ClientSetting
from ullage_programs.programs import facts_of
from ullage_programs.settings import MOST_BYTES, NOTHING_FOUND, FoundSettings, settings_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(data)
    return path


def claude(home: Path, cwd: str = "", **environ: str) -> FoundSettings:
    log = home / ".claude" / "projects" / "-work" / "one.jsonl"
    return settings_of(facts_of("claude-code 2.1.330"), log, cwd, environ, home)


def values(found: FoundSettings) -> dict[str, object]:
    return {name: setting.value for name, setting in found.values.items()}


def test_without_a_file_or_a_variable_nothing_is_set(home: Path) -> None:
    assert claude(home) == NOTHING_FOUND


def test_a_setting_names_its_key_and_its_file(home: Path) -> None:
    written(home / ".claude" / "settings.json", '{"autoCompactWindow": 120000}')
    found = claude(home)
    assert found.values["autoCompactWindow"] == ClientSetting(
        120_000, "autoCompactWindow in ~/.claude/settings.json"
    )


def test_settings_win_over_the_environment(home: Path) -> None:
    table = {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120000", "PATH": "/bin"}}
    written(home / ".claude" / "settings.json", json.dumps(table))
    name = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
    assert values(claude(home)) == {name: "120000"}
    assert values(claude(home, **{name: "150000"})) == {name: "120000"}


def test_a_projects_settings_win_over_the_users(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    written(home / ".claude" / "settings.json", '{"autoCompactWindow": 120000}')
    written(project / ".claude" / "settings.json", '{"autoCompactWindow": 130000}')
    assert values(claude(home, str(project))) == {"autoCompactWindow": 130_000}
    local = project / ".claude" / "settings.local.json"
    written(local, '{"autoCompactWindow": 140000}')
    assert values(claude(home, str(project))) == {"autoCompactWindow": 140_000}


def test_the_older_place_of_the_switch_counts(home: Path) -> None:
    written(home / ".claude.json", '{"autoCompactEnabled": false, "numStartups": 3}')
    assert values(claude(home)) == {"autoCompactEnabled": False}


def test_a_copied_log_has_no_settings(home: Path, tmp_path: Path) -> None:
    written(home / ".claude" / "settings.json", '{"autoCompactWindow": 120000}')
    variables = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"}
    for log in (tmp_path / "one.jsonl", tmp_path / "a" / "b" / "c" / "one.jsonl"):
        found = settings_of(
            facts_of("claude-code 2.1.330"), log, str(home), variables, home
        )
        assert found == NOTHING_FOUND


def test_a_program_without_known_places_has_no_settings(home: Path) -> None:
    assert (
        settings_of(facts_of("amp 0.1"), home / "a.jsonl", "", {}, home) == NOTHING_FOUND
    )


def test_codex_keeps_its_settings_above_its_sessions(home: Path) -> None:
    log = home / ".codex" / "sessions" / "2026" / "11" / "22" / "rollout-1.jsonl"
    text = 'model = "gpt-5.5"\nmodel_auto_compact_token_limit = 15000 # small\n'
    written(home / ".codex" / "config.toml", text)
    found = settings_of(facts_of("codex 0.169.0"), log, "", {}, home)
    assert found.values == {
        "model_auto_compact_token_limit": ClientSetting(
            15_000, "model_auto_compact_token_limit in ~/.codex/config.toml"
        )
    }


def test_nested_keys_are_joined_by_dots(home: Path) -> None:
    log = home / ".pi" / "agent" / "sessions" / "-work" / "one.jsonl"
    model = {"anthropic/claude-opus-5-5": {"reserveTokens": 400_000}}
    table = {"compaction": {"reserveTokens": 20_000, "modelOverrides": model}}
    written(home / ".pi" / "agent" / "settings.json", json.dumps(table))
    name = "compaction.modelOverrides.anthropic/claude-opus-5-5.reserveTokens"
    assert values(settings_of(facts_of("pi 1.5.2"), log, "", {}, home)) == {
        "compaction.reserveTokens": 20_000,
        name: 400_000,
    }


@pytest.mark.parametrize(
    ("program", "log", "file", "text", "name"),
    [
        (
            "gemini-cli 0.61.0",
            ".gemini/tmp/abc/chats/session-1.jsonl",
            ".gemini/settings.json",
            '{"model": {"compressionThreshold": 0.2}}',
            "model.compressionThreshold",
        ),
        (
            "qwen-code 0.24.4",
            ".qwen/projects/-work/chats/one.jsonl",
            ".qwen/settings.json",
            '{"context": {"autoCompactThreshold": 0.2}}',
            "context.autoCompactThreshold",
        ),
        (
            "opencode 1.18.33",
            ".local/share/opencode/opencode.db",
            ".config/opencode/opencode.json",
            '{"compaction": {"reserved": 0.2}}',
            "compaction.reserved",
        ),
    ],
)
def test_each_program_keeps_its_settings_in_its_own_place(
    home: Path, program: str, log: str, file: str, text: str, name: str
) -> None:
    written(home / file, text)
    found = settings_of(facts_of(program), home / log, "", {}, home)
    assert values(found) == {name: 0.2}


@pytest.mark.parametrize(
    "text",
    [
        '{"autoCompactWindow": 120000, // small\n}',
        '/* all of it */ {\n "autoCompactWindow": 120000,\n}',
        '\ufeff{"autoCompactWindow": 120000}',
        '{"url": "http://one, /* two */", "autoCompactWindow": 120000, /* last */ }',
    ],
)
def test_comments_and_a_last_comma_are_no_error(home: Path, text: str) -> None:
    written(home / ".claude" / "settings.json", text)
    found = claude(home)
    assert values(found) == {"autoCompactWindow": 120_000}
    assert found.notes == ()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[1, 2]",
        b"\x00\xff" * 50,
        b"[" * 100_000,
        b'{"a": ' * 50_000,
        b"x" * (MOST_BYTES + 1),
    ],
    ids=["torn", "list", "binary", "deep", "deep objects", "large"],
)
def test_an_unreadable_file_leaves_a_note(home: Path, content: bytes) -> None:
    written(home / ".claude" / "settings.json", content)
    written(home / ".claude.json", '{"autoCompactEnabled": false}')
    found = claude(home)
    assert values(found) == {"autoCompactEnabled": False}
    assert len(found.notes) == 1
    assert found.notes[0].startswith(
        "The settings in ~/.claude/settings.json can't be read"
    )


@pytest.mark.parametrize("text", ["a = [", "[" * 30_000, "=", "a = " + "{b=" * 3_000])
def test_a_damaged_toml_file_is_left_out_with_a_note(home: Path, text: str) -> None:
    log = home / ".codex" / "sessions" / "2026" / "11" / "22" / "rollout-1.jsonl"
    written(home / ".codex" / "config.toml", text)
    found = settings_of(facts_of("codex 0.169.0"), log, "", {}, home)
    assert found.values == {}
    assert len(found.notes) == 1


def test_a_pipe_in_the_place_of_a_file_is_left_out_with_a_note(home: Path) -> None:
    (home / ".claude").mkdir(parents=True)
    os.mkfifo(home / ".claude" / "settings.json")
    found = claude(home)
    assert found.values == {}
    assert len(found.notes) == 1


@pytest.mark.parametrize("cwd", ["\0", "relative", "/" + "x" * 5_000, "/dev/null"])
def test_a_strange_directory_in_the_log_is_no_error(home: Path, cwd: str) -> None:
    assert claude(home, cwd) == NOTHING_FOUND


@pytest.mark.parametrize("piece", ["/* ", '\\"'])
def test_comments_or_strings_without_an_end_are_noted(home: Path, piece: str) -> None:
    """Each beginning was once searched for its end anew: a megabyte took hours."""
    log = home / "chats" / "one.json"
    config = home / ".config" / "opencode" / "opencode.jsonc"
    written(config, '"' * (piece == '\\"') + piece * 300_000)
    found = settings_of(facts_of("opencode 1.18.33"), log, "", {}, home)
    assert not found.values
    assert len(found.notes) == 1


def test_keys_of_providers_are_not_read_with_their_limits(home: Path) -> None:
    models = {"m": {"limit": {"context": 64_000}}}
    provider = {"options": {"apiKey": "sk-secret"}, "models": models}
    config = home / ".config" / "opencode" / "opencode.json"
    written(config, json.dumps({"provider": {"own": provider}}))
    found = settings_of(facts_of("opencode 1.18.33"), home / "one.json", "", {}, home)
    assert values(found) == {"provider.own.models.m.limit.context": 64_000}
