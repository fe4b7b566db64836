from pathlib import Path

import pytest

from scripts.house.pages import ROOT, blocks
from ullage.errors import SettingError
from ullage.user_file import user_config
from ullage_agent.runtime.config_file import (
    project_config,
    read_config,
    read_configs,
)
from ullage_agent.runtime.precedence import resolve


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SettingError) as caught:
        read_config(path)
    return str(caught.value)


def test_the_user_s_file_lies_in_the_platform_s_place() -> None:
    home = {"HOME": "/home/me"}
    assert user_config(home, platform="linux") == Path(
        "/home/me/.config/ullage/ullage.toml"
    )
    assert user_config(home, platform="darwin") == Path(
        "/home/me/Library/Application Support/ullage/ullage.toml"
    )
    assert user_config({**home, "APPDATA": "/roaming"}, platform="win32") == Path(
        "/roaming/ullage/ullage.toml"
    )
    assert user_config({**home, "XDG_CONFIG_HOME": "/xdg"}) == Path(
        "/xdg/ullage/ullage.toml"
    )
    relative = user_config({**home, "XDG_CONFIG_HOME": "xdg"}, platform="linux")
    assert relative == Path("/home/me/.config/ullage/ullage.toml")
    assert user_config(
        {**home, "ULLAGE_CONFIG": "/own.toml", "XDG_CONFIG_HOME": "/xdg"}
    ) == Path("/own.toml")


def test_the_project_s_file_is_the_nearest_upwards(tmp_path: Path) -> None:
    outer = written(tmp_path / "ullage.toml", "")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert project_config(tmp_path / "a" / "b") == outer
    inner = written(tmp_path / "a" / "ullage.toml", "")
    assert project_config(tmp_path / "a" / "b") == inner


def test_the_project_s_file_comes_before_the_user_s(tmp_path: Path) -> None:
    project = written(tmp_path / "project" / "ullage.toml", 'strategy = "prune"')
    user = written(tmp_path / "own.toml", 'strategy = "noop"\nmax_steps = 9')
    environment = {"ULLAGE_CONFIG": str(user)}
    resolved = resolve({}, {}, read_configs(project.parent, environment), environment)
    assert (resolved.settings.strategy, resolved.settings.max_steps) == (("prune",), 9)
    assert str(resolved.source_of("strategy")) == f"project file ({project})"


def test_no_file_is_nothing_said(tmp_path: Path) -> None:
    here = {"HOME": str(tmp_path)}
    assert read_configs(tmp_path, here) == ()


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="ULLAGE_CONFIG names"):
        read_configs(tmp_path, {"ULLAGE_CONFIG": str(tmp_path / "none.toml")})


def test_a_file_that_is_both_is_the_user_s(tmp_path: Path) -> None:
    both = written(tmp_path / "ullage.toml", 'tools = ["shell"]')
    environment = {"ULLAGE_CONFIG": str(both)}
    assert resolve(
        {}, {}, read_configs(tmp_path, environment), environment
    ).settings.tools == ("shell",)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            "keep = 0.3\n\nmax_stepz = 3\n",
            3,
            "'max_stepz' is no argument or setting here. Did you mean 'max_steps'?",
        ),
        ("keep = 0.3\nkeep = \n", 2, "no TOML"),
        ("keep = [\n1,\n", 3, "no TOML"),
        ('# a\napi_key = "x"\n', 2, "keys come from the environment alone"),
        (
            'system = """\na\n"""\ntrigger = "x"\n',
            4,
            "trigger='x' is not possible: give a share",
        ),
        (
            '[mcp.a]\ncommand = "x"\n[mcp.a.env]\nA_TOKEN = "x"\n',
            4,
            "mcp.a.env.A_TOKEN holds a secret",
        ),
        (
            "keep = 0.3\n[models.m]\nwindo = 3\n",
            2,
            "models.m: 'windo' is no argument or setting here. Did you mean 'window'?",
        ),
        (
            "[mcp.a]\nurl = 'x'\n[mcp.b]\ncmd = 3\n",
            3,
            "the server 'b' can't be read: Object contains unknown field `cmd`",
        ),
        ("[params]\nsecret = 'x'\n", 2, "params.secret holds a secret"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    path = written(tmp_path / "ullage.toml", text)
    message = refusal(path)
    assert message.startswith(str(path)) and f"line {line}" in message and said in message


def test_a_file_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "ullage.toml"
    path.write_bytes(b'keep = 0.3\nsystem = "\xff"\n')
    assert "line 2: this is not UTF-8" in refusal(path)


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"{tmp_path} can't be read")


def test_a_line_is_named_where_a_project_may_not_set_a_key(tmp_path: Path) -> None:
    path = written(tmp_path / "ullage.toml", 'system = "x"\nbase_url = "https://other"\n')
    with pytest.raises(SettingError) as caught:
        read_config(path, place="project file")
    assert str(caught.value) == (
        f"{path}, line 2: a project's file can't set base_url: remove it there, and set it in your own ullage.toml, "
        "ULLAGE_BASE_URL or the call."
    )


@pytest.mark.parametrize(
    "name", [".env", "prod.env", ".git/config", "a/.b/c.md", "A.ENV"]
)
def test_a_project_names_no_hidden_file(tmp_path: Path, name: str) -> None:
    text = f'instruction_files = ["AGENTS.md", "{name}"]\n'
    path = written(tmp_path / "ullage.toml", text)
    with pytest.raises(SettingError, match=r"line 1: .* can't name the hidden file"):
        read_config(path, place="project file")
    assert read_config(path).values["instruction_files"] == ("AGENTS.md", name)


def test_a_line_is_found_by_its_key_and_its_table(tmp_path: Path) -> None:
    text = "# keep = 1\n[models.'a.b']\nwindow = 5\n[models.c]\nwindow = 'x'\n"
    assert "line 4: " in refusal(written(tmp_path / "ullage.toml", text))
    text = "params = {\"a b\" = 1}\nmodels.m.window = 'x'\n"
    assert "line 2: " in refusal(written(tmp_path / "ullage.toml", text))
    text = "[mcp]\na = { url = 'x', args = 3 }\n[mcp.b]\nurl = 'y'\nargs = []\n"
    assert "line 2: " in refusal(written(tmp_path / "ullage.toml", text))


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 5_000 + "]" * 5_000, "[" + ".".join("a" * 5_000) + "]\n"]
)
def test_a_file_that_is_too_deep_is_named(tmp_path: Path, text: str) -> None:
    assert "Make it flatter" in refusal(written(tmp_path / "ullage.toml", text))


def test_a_file_that_is_too_large_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "ullage.toml", "# " + "x" * 300_000)
    assert "Make it shorter" in refusal(path)


def test_the_example_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    example = next(block for block in blocks(page) if block.language == "toml")
    layer = read_config(written(tmp_path / "ullage.toml", example.text))
    settings = resolve({}, {}, [layer], {}).settings
    assert (settings.model, settings.trigger, settings.effort) == (
        "anthropic:claude-haiku-4-5",
        0.7,
        8_000,
    )
    assert settings.mcp["github"].with_environment({"GITHUB_TOKEN": "x"}).env == {
        "GITHUB_TOKEN": "x"
    }
    assert (
        resolve({"model": "ollama:qwen3:8b"}, {}, [layer], {}).settings.window == 32_768
    )


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "ullage.toml"
    path.write_bytes(b"\xef\xbb\xbfkeep = 0.5\r\nmax_steps = 3\r\n")
    assert read_config(path).values == {"keep": 0.5, "max_steps": 3}
