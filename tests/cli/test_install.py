import json
from pathlib import Path

import pytest

from tests.cli.command import Ended, perform

MINE = """{
    // my settings
    "model": "opus",   /* for now */
    "statusLine": { "type": "command", "command": "npx ccstatusline" },
    "permissions": {
        "allow": ["Bash", "Read"], // safe
    },
    // the end
}
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(MINE)
    return path


def run(place: Path, *words: str, home: Path | None = None) -> Ended:
    return perform(place, {"HOME": str(home or place)}, *words)


def test_install_and_uninstall_leave_a_file_of_comments_as_it_was(
    settings: Path, tmp_path: Path
) -> None:
    installed = run(tmp_path, "install", "claude-code")
    assert installed.returncode == 0
    assert "ullage_programs" in settings.read_text()
    assert "// my settings" in settings.read_text()
    assert (
        "`ullage uninstall claude-code` takes back what is installed." in installed.stdout
    )
    run(tmp_path, "uninstall", "claude-code")
    assert settings.read_text() == MINE


def test_an_installation_that_stops_half_way_says_how_to_take_it_back(
    settings: Path, tmp_path: Path
) -> None:
    settings.write_text('{"hooks": null}')
    installed = run(tmp_path, "install", "claude-code")
    assert installed.returncode == 2
    assert "not changed, because" in installed.stderr
    assert "takes back what is installed" in installed.stdout
    run(tmp_path, "uninstall", "claude-code")
    assert settings.read_text() == '{"hooks": null}'


def test_the_earlier_status_line_is_shown_before_ours(
    settings: Path, tmp_path: Path
) -> None:
    run(tmp_path, "install", "claude-code", "--statusline")
    line = tmp_path / ".config" / "ullage" / "line.json"
    assert json.loads(line.read_text()) == {"compose": "npx ccstatusline"}
    run(tmp_path, "uninstall", "claude-code")
    assert not line.exists()


def test_a_second_install_changes_nothing(settings: Path, tmp_path: Path) -> None:
    run(tmp_path, "install", "claude-code")
    once = settings.read_bytes()
    again = run(tmp_path, "install", "claude-code")
    assert again.stdout.count("already installed") == 4
    assert settings.read_bytes() == once


def test_the_address_of_a_proxy_is_set_with_tool_search(
    settings: Path, tmp_path: Path
) -> None:
    url = "http://127.0.0.1:4141/anthropic"
    run(tmp_path, "install", "claude-code", "--proxy", url)
    text = settings.read_text()
    assert f'"ANTHROPIC_BASE_URL": "{url}"' in text
    assert '"ENABLE_TOOL_SEARCH": "true"' in text
    run(tmp_path, "uninstall", "claude-code", "--proxy")
    assert settings.read_text() == MINE


def test_in_a_project_the_users_own_settings_of_it_are_changed(tmp_path: Path) -> None:
    run(tmp_path, "install", "claude-code", "--statusline", "--project")
    assert (tmp_path / ".claude" / "settings.local.json").exists()
    run(tmp_path, "uninstall", "claude-code")
    assert not (tmp_path / ".claude").exists()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    place = tmp_path / "clone"
    (place / ".claude").mkdir(parents=True)
    return place


@pytest.mark.parametrize("kind", ["file", "dangling", "directory"])
def test_a_link_that_leads_out_of_the_project_is_not_followed(
    clone: Path, tmp_path: Path, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "settings.local.json"
    if kind == "directory":
        (clone / ".claude").rmdir()
        (clone / ".claude").symlink_to("../outside")
    else:
        (clone / ".claude" / "settings.local.json").symlink_to(target)
    if kind == "file":
        target.write_text("{}")
    refused = run(clone, "install", "claude-code", "--project", home=tmp_path)
    assert refused.returncode == 2
    assert f"leads out of the project to {target}" in refused.stderr
    assert target.read_text() == "{}" if kind == "file" else not target.exists()


def test_a_link_within_the_project_is_followed(clone: Path, tmp_path: Path) -> None:
    (clone / ".claude" / "settings.local.json").symlink_to("mine.json")
    run(clone, "install", "claude-code", "--statusline", "--project", home=tmp_path)
    assert "statusLine" in (clone / ".claude" / "mine.json").read_text()


def test_a_file_that_became_a_link_out_of_the_project_is_not_taken_back(
    clone: Path, tmp_path: Path
) -> None:
    run(clone, "install", "claude-code", "--statusline", "--project", home=tmp_path)
    settings = clone / ".claude" / "settings.local.json"
    outside = settings.rename(tmp_path / "outside.json")
    settings.symlink_to(outside)
    before = outside.read_text()
    refused = run(clone, "uninstall", "claude-code", home=tmp_path)
    assert refused.returncode == 2 and str(outside) in refused.stderr
    assert outside.read_text() == before


def test_a_status_line_of_a_project_never_becomes_the_users_own(
    clone: Path, tmp_path: Path
) -> None:
    settings = clone / ".claude" / "settings.local.json"
    hostile = '{"statusLine": {"type": "command", "command": "touch PWNED"}}'
    settings.write_text(hostile)
    refused = run(clone, "install", "claude-code", "--project", home=tmp_path)
    assert refused.returncode == 2
    assert "another status line" in refused.stderr
    assert not (tmp_path / ".config" / "ullage" / "line.json").exists()
    assert settings.read_text() == hostile


def test_what_a_project_sets_is_no_address_for_all_projects(
    clone: Path, tmp_path: Path
) -> None:
    other = '{"env": {"ANTHROPIC_BASE_URL": "https://api.deepseek.com/v1"}}'
    (clone / ".claude" / "settings.json").write_text(other)
    run(clone, "install", "claude-code", "--proxy", home=tmp_path)
    text = (tmp_path / ".claude" / "settings.json").read_text()
    assert "/anthropic" in text and "deepseek" not in text
    refused = run(clone, "install", "claude-code", "--proxy", "--project", home=tmp_path)
    assert refused.returncode == 2 and "Nothing was done" in refused.stderr


def test_a_new_file_is_the_users_alone(clone: Path, tmp_path: Path) -> None:
    run(clone, "install", "claude-code", home=tmp_path)
    for path in tmp_path.glob(".*/**/*.json"):
        assert path.stat().st_mode & 0o777 == 0o600, path


def test_invalid_json_is_refused_with_what_to_do(settings: Path, tmp_path: Path) -> None:
    settings.write_text('{\n  "model" "opus"\n}')
    refused = run(tmp_path, "install", "claude-code", "--hooks")
    assert refused.returncode == 2
    assert 'line 2: expected ":"' in refused.stderr
    assert "Repair the file" in refused.stderr
    assert settings.read_text() == '{\n  "model" "opus"\n}'


def test_uninstalling_what_is_not_installed_says_so(tmp_path: Path) -> None:
    ended = run(tmp_path, "uninstall", "claude-code")
    assert (ended.returncode, ended.stdout) == (
        0,
        "Nothing of that is installed for claude-code.\n",
    )


def test_a_dry_run_shows_no_key_that_stands_beside_the_change(
    settings: Path, tmp_path: Path
) -> None:
    settings.write_text('{"env": {"ANTHROPIC_AUTH_TOKEN": "sk-secret"}, "\x9b2J": 1}')
    words = ("--proxy", "http://127.0.0.1:4141", "--hooks", "--dry-run")
    shown = run(tmp_path, "install", "claude-code", *words)
    assert '"ANTHROPIC_BASE_URL": "http://127.0.0.1:4141"' in shown.stdout
    assert "sk-secret" not in shown.stdout
    assert "\x9b" not in shown.stdout


@pytest.mark.parametrize("content", ["[]", "{", '{"a": 1, "a": 2}', "\x00"])
def test_a_refused_file_is_named_with_what_to_do(
    settings: Path, tmp_path: Path, content: str
) -> None:
    settings.write_text(content)
    refused = run(tmp_path, "install", "claude-code")
    assert str(settings) in refused.stderr
    assert "nothing was changed" in refused.stderr
    assert "run this again" in refused.stderr


def test_a_link_to_a_missing_file_is_a_link_again(tmp_path: Path) -> None:
    link = tmp_path / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "dotfiles.json")
    run(tmp_path, "install", "claude-code", "--statusline")
    assert (tmp_path / "dotfiles.json").exists()
    run(tmp_path, "uninstall", "claude-code")
    assert link.is_symlink()
    assert not (tmp_path / "dotfiles.json").exists()


def test_a_read_only_file_is_left_alone(settings: Path, tmp_path: Path) -> None:
    settings.chmod(0o400)
    refused = run(tmp_path, "install", "claude-code", "--hooks")
    assert refused.returncode == 2
    assert f"not changed, because {settings} is read-only" in refused.stderr
    assert "then run this again" in refused.stderr
    assert settings.read_text() == MINE


def test_a_directory_that_can_not_be_written_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    (tmp_path / ".claude").symlink_to("/proc/self")
    refused = run(tmp_path, "install", "claude-code", "--hooks")
    assert refused.returncode == 2
    assert "can't be written" in refused.stderr
    assert "Make it writable, then run this again." in refused.stderr
    record = json.loads((tmp_path / ".config" / "ullage" / "installed.json").read_text())
    assert record["changes"] == []


def test_without_an_address_the_proxy_is_the_one_of_ullage_proxy(tmp_path: Path) -> None:
    installed = run(tmp_path, "install", "claude-code", "--proxy")
    assert installed.returncode == 0
    path = tmp_path / ".claude" / "settings.json"
    environment = json.loads(path.read_text())["env"]
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:4141/anthropic"
    assert environment["ENABLE_TOOL_SEARCH"] == "true"
    again = run(tmp_path, "install", "claude-code", "--proxy")
    assert "already installed" in again.stdout


@pytest.mark.parametrize(
    ("client", "file", "address"),
    [
        ("codex", ".codex/config.toml", "http://127.0.0.1:4141/openai/v1"),
        ("opencode", ".config/opencode/opencode.json", "4141/anthropic/v1"),
        ("pi", ".pi/agent/models.json", "http://127.0.0.1:4141/anthropic"),
        ("qwen-code", ".qwen/settings.json", "http://127.0.0.1:4141/openai/v1"),
    ],
)
def test_each_client_gets_the_address_of_its_provider(
    tmp_path: Path, client: str, file: str, address: str
) -> None:
    assert run(tmp_path, "install", client, "--proxy").returncode == 0
    assert f'{address}"' in (tmp_path / file).read_text()


def test_an_address_that_the_proxy_does_not_know_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / ".qwen" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"env": {"OPENAI_BASE_URL": "https://llm.example/v1"}}')
    refused = run(tmp_path, "install", "qwen-code", "--proxy")
    assert refused.returncode == 2
    assert "--upstream mine=https://llm.example/v1" in refused.stderr
    assert "llm.example" in path.read_text()
