from pathlib import Path

import pytest

from bench import environments
from bench.environments import COUNTERS, NotInstalled, Peer, python_of


def test_every_peer_is_pinned_and_has_its_script() -> None:
    peers = Path(environments.__file__).parent / "peers"
    for peer, (script, _) in COUNTERS.items():
        assert "==" in peer.requirement and (peers / script).is_file()


def test_a_peer_that_cannot_be_installed_is_reported_with_the_reason(
    tmp_path: Path,
) -> None:
    peer = Peer("cask", "cask==1")
    with pytest.raises(NotInstalled, match="no-such-uv can't be run"):
        python_of(peer, out=tmp_path, uv=str(tmp_path / "no-such-uv"))


def test_an_environment_that_is_complete_is_used_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "environments" / "cask-1"
    place.mkdir(parents=True)
    (place / "complete").touch()
    peer = Peer("cask", "cask==1")
    assert python_of(peer, out=tmp_path, uv="no-such-uv").is_relative_to(place)


def test_an_environment_with_this_checkout_is_another_one(tmp_path: Path) -> None:
    place = tmp_path / "environments" / "cask-1+ullage"
    place.mkdir(parents=True)
    (place / "complete").touch()
    peer = Peer("cask", "cask==1", has_ullage=True)
    assert python_of(peer, out=tmp_path, uv="no-such-uv").is_relative_to(place)
