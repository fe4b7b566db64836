"""The token of this machine's servers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ullage.errors import SettingError
from ullage_server.own_token import own_token
from ullage_server.tokens import PREFIX, Tokens


def test_it_is_made_once_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "server-token"
    token = own_token(path)
    assert token.startswith(PREFIX) and len(token) > 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert own_token(path) == token
    assert Tokens(token).are_required()


def test_servers_that_start_at_once_take_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(own_token, [tmp_path / "server-token"] * 32))
    assert len(found) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_token_that_others_could_read_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "server-token"
    own_token(path)
    path.chmod(mode)
    with pytest.raises(SettingError, match=r"Other users .*Delete the file"):
        own_token(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"short\n", b"\xff" * 40, b"x" * 2_000])
def test_a_file_that_holds_no_token_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "server-token"
    own_token(path)
    path.write_bytes(content)
    with pytest.raises(SettingError, match=r"server-token.*ULLAGE_TOKEN"):
        own_token(path)


def test_a_place_that_can_t_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="ULLAGE_TOKEN"):
        own_token(tmp_path / "file" / "server-token")
