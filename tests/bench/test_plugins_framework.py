"""What the harness knows of each framework."""

from pathlib import Path

from bench.environments import PEERS_FOLDER
from bench.plugins.framework import PLAIN_CHAT
from bench.plugins.frameworks import FRAMEWORKS


def test_each_framework_has_the_plain_sdk_a_plug_in_scripts_and_pinned_packages() -> None:
    for framework in FRAMEWORKS.values():
        kinds = [each.kind for each in framework.contenders]
        assert kinds[0] == "plain"
        assert "plug-in" in kinds
        for each in framework.contenders:
            assert (PEERS_FOLDER / each.script).is_file()
            assert all("==" in one for one in each.requirements)
            assert each.requirements or each.kind == "plain"
        quick = [each.kind for each in framework.contenders if each.is_quick]
        if framework.is_brief:
            assert "plug-in" not in quick
        else:
            assert quick == ["plain", "plug-in"]


def test_the_plain_sdk_runs_in_the_development_environment() -> None:
    assert PLAIN_CHAT.peer is None


def test_scripts_of_a_framework_import_no_simulator() -> None:
    scripts = {each.script for one in FRAMEWORKS.values() for each in one.contenders}
    for script in sorted(scripts):
        text = Path(PEERS_FOLDER / script).read_text(encoding="utf-8")
        assert "ullage_simulators" not in text
