"""What the harness knows of each framework."""

from pathlib import Path

import pytest

from bench.environments import PEERS_FOLDER
from bench.plugins.framework import PLAIN_CHAT, Contender
from bench.plugins.frameworks import FRAMEWORKS


@pytest.mark.parametrize("name", list(FRAMEWORKS))
def test_a_framework_begins_with_the_plain_sdk_and_has_a_plug_in(name: str) -> None:
    kinds = [each.kind for each in FRAMEWORKS[name].contenders]
    assert kinds[0] == "plain"
    assert "plug-in" in kinds


@pytest.mark.parametrize("name", list(FRAMEWORKS))
def test_every_contender_has_a_script_and_pinned_packages(name: str) -> None:
    for each in FRAMEWORKS[name].contenders:
        assert (PEERS_FOLDER / each.script).is_file()
        assert all("==" in one for one in each.requirements)
        assert each.requirements or each.kind == "plain"


@pytest.mark.parametrize("name", list(FRAMEWORKS))
def test_a_quick_run_has_the_plain_sdk_and_one_plug_in(name: str) -> None:
    quick = [each.kind for each in FRAMEWORKS[name].contenders if each.is_quick]
    if FRAMEWORKS[name].is_brief:
        assert "plug-in" not in quick
    else:
        assert quick == ["plain", "plug-in"]


def test_the_plain_sdk_runs_in_the_development_environment() -> None:
    assert PLAIN_CHAT.peer is None


def test_only_a_plug_ins_environment_holds_this_checkout() -> None:
    plug_in = Contender("one", "one.py", requirements=("cask==1", "lid==2")).peer
    own = Contender("one", "one.py", "own", ("cask==1",)).peer
    assert plug_in is not None
    assert own is not None
    assert (plug_in.requirement, plug_in.also) == ("cask==1", ("lid==2",))
    assert (plug_in.has_ullage, own.has_ullage) == (True, False)


def test_scripts_of_a_framework_import_no_simulator() -> None:
    scripts = {each.script for one in FRAMEWORKS.values() for each in one.contenders}
    for script in sorted(scripts):
        text = Path(PEERS_FOLDER / script).read_text(encoding="utf-8")
        assert "ullage_simulators" not in text
