import datetime
import json
import subprocess
from pathlib import Path

import pytest
from pytest import CaptureFixture

from tests.processes import run_python
from tests.tiers import each_tenth
from ullage.cli import main
from ullage.cli.models import translated, write_refreshed
from ullage.errors import UllageError, UnreadableInput
from ullage.installation import package_command
from ullage.models.catalogue import BUILT_IN, REFRESHED, built_in, checked, read_refreshed
from ullage.tokens.text import counter_for

WITHOUT_PACKAGE = "import sys; sys.modules['genai_prices'] = None; "


def ullage(
    data: Path, *arguments: str, setup: str = "import sys; "
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, as the catalogue is read once in a process."""
    code = f"{setup}import os; os.environ['ULLAGE_DATA'] = {str(data)!r}; from ullage.cli import main; sys.exit(main())"
    return run_python("-c", code, *arguments)


def test_each_fact_of_a_model_has_its_source(capsys: CaptureFixture[str]) -> None:
    assert main(["models", "anthropic:claude-sonnet-4-5"]) == 0
    shown = capsys.readouterr().out
    assert "window          200,000 tokens      https://platform.claude.com/" in shown
    assert "output at most  64,000 tokens" in shown
    assert f"{built_in().source}, list prices of {built_in().date}" in shown
    assert "input 3 · output 15 · cache read 0.3 · cache write 3.75" in shown
    assert "above 200,000" in shown


@pytest.mark.parametrize(
    ("name", "without", "told"),
    [
        ("claude-opus-4-7", True, "as claude-4.7       exact"),
        ("anthropic:claude-2", False, "as claude           ±8%\n"),
        ("gpt-4o", False, "as o200k            exact"),
        ("gpt-4o", True, "as o200k            ±8%, exact with ullage[bpe]"),
        ("grok-4.5", False, "as o200k            ±8%\n"),
    ],
)
def test_how_its_text_is_counted_is_told(
    name: str,
    without: bool,
    told: str,
    capsys: CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counter = counter_for("pretoken" if without else "bpe")
    monkeypatch.setattr("ullage.cli.models.counter_for", lambda: counter)
    assert main(["models", name]) == 0
    assert told in capsys.readouterr().out
    assert main(["models", name, "--json"]) == 0
    off = 0.0 if "±" not in told else 0.08
    assert json.loads(capsys.readouterr().out)["text_off"] == off


def test_names_without_provider_or_with_colon_work(capsys: CaptureFixture[str]) -> None:
    for name in (
        "claude-haiku-4-5",
        "openrouter:google/gemini-2.0-flash-exp:free",
        "bedrock:amazon.nova-lite-v1:0",
        "gemini:gemini-2.5-pro",
        "Google:gemini-2.5-pro",
        "moonshot:kimi-k2-0905-preview",
    ):
        assert main(["models", name, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["model"] == name
        assert found["window"] > 100_000


def test_every_listed_model_is_found_by_its_name(capsys: CaptureFixture[str]) -> None:
    listed = [
        (provider, row)
        for provider, rows in built_in().providers.items()
        for row in rows
        if row.names
    ]
    for provider, row in each_tenth(listed):
        assert main(["models", f"{provider}:{row.names[0]}"]) == 0
    assert capsys.readouterr().err == ""


def test_json_holds_tokens_prices_and_sources(capsys: CaptureFixture[str]) -> None:
    assert main(["models", "openai:gpt-5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["window"], found["input_cap"], found["max_output"]) == (
        400_000,
        272_000,
        128_000,
    )
    assert found["source"].startswith("https://")
    assert found["prices"]["date"] == built_in().date
    assert found["prices"]["tiers"][0]["input"] == 1.25


def test_an_unknown_name_is_answered_with_others(capsys: CaptureFixture[str]) -> None:
    for name, suggested in {
        "claude-hiku-4-5": "anthropic:claude-haiku-4-5",
        "anthropic:claude-haiku-45": "anthropic:claude-haiku-4-5",
        "antropic:claude-haiku-4-5": "anthropic:claude-haiku-4-5",
        "gpt5-mini": "openai:gpt-5-mini",
        "qqqqqqqq": "ullage models --filter",
    }.items():
        assert main(["models", name]) == 2
        assert suggested in capsys.readouterr().err


def test_the_list_is_filtered(capsys: CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 1_000
    assert main(["models", "--filter", "Anthropic:claude-haiku"]) == 0
    heading, *rows, last = capsys.readouterr().out.splitlines()
    assert heading.split() == [
        "Provider",
        "Window",
        "$",
        "in",
        "$",
        "out",
        "Text",
        "Model",
    ]
    assert rows and all("claude-haiku" in row for row in rows)
    assert last.startswith(f"{len(rows)} models, {built_in().source}")
    assert main(["models", "--filter", "haiku", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["source"] == built_in().source
    assert all("haiku" in model["name"] for model in listed["models"])
    assert main(["models", "--filter", "zzz"]) == 2


def test_a_refresh_writes_what_the_installed_package_holds(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = ullage(data, "models", "--refresh")
    assert (done.returncode, done.stderr) == (0, "")
    assert str(data / REFRESHED) in done.stdout
    assert read_refreshed(data) is not None
    assert (data / REFRESHED).stat().st_mode & 0o777 == 0o600


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    done = ullage(tmp_path, "models", "--refresh", setup=WITHOUT_PACKAGE)
    assert done.returncode == 2
    assert package_command("genai-prices") in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_catalogue_is_named_and_replaced_by_a_refresh(tmp_path: Path) -> None:
    (tmp_path / REFRESHED).write_bytes(b"{}")
    done = ullage(tmp_path, "models", "claude-haiku-4-5")
    assert done.returncode == 0
    assert str(tmp_path / REFRESHED) in done.stderr
    assert "The built-in one is used instead." in done.stderr
    assert built_in().source in done.stdout
    assert ullage(tmp_path, "models", "--refresh").returncode == 0
    assert ullage(tmp_path, "models", "claude-haiku-4-5").stderr == ""


def test_an_older_package_and_an_unwritable_place_change_nothing(tmp_path: Path) -> None:
    older = checked(
        json.dumps({**json.loads(BUILT_IN.read_bytes()), "version": "0.0.1"}).encode()
    )
    with pytest.raises(UnreadableInput, match="older than the built-in catalogue"):
        write_refreshed(older, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UllageError, match="can't be written"):
        write_refreshed(built_in(), tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_data_of_the_package_in_a_new_form_is_refused() -> None:
    with pytest.raises(UnreadableInput, match="try another version of the package"):
        translated([object()], "9.9.9", datetime.date(2026, 1, 1))
