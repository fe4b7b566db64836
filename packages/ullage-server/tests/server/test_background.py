from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.agents import haiku
from tests.server.served import WAIT_S
from ullage.errors import SettingError, StoreUnavailable
from ullage_agent.runtime.agent import Agent
from ullage_server.background import http_server
from ullage_simulators import running

get = partial(httpx2.get, timeout=WAIT_S)
post = partial(httpx2.post, timeout=WAIT_S)


def agent_at(store: Path, base_url: str = "http://127.0.0.1:1") -> Agent:
    return haiku(store, environment={"ANTHROPIC_API_KEY": "any"}, base_url=base_url)


def test_it_serves_until_the_block_ends(tmp_path: Path) -> None:
    with (
        running() as simulator,
        http_server(agent_at(tmp_path / "s.db", simulator.url("anthropic"))) as url,
    ):
        assert get(f"{url}/healthz").status_code == 200
        assert get(f"{url}/v1/sessions").status_code == 401
        known = {"Authorization": f"Bearer {url.token}"}
        assert get(f"{url}/v1/sessions", headers=known).status_code == 200
        found = get(f"{url}/healthz", headers={"Host": "elsewhere.example"}).status_code
        assert found == 403
    with pytest.raises(httpx2.TransportError):
        get(f"{url}/healthz")


def test_with_a_token_each_request_needs_it(tmp_path: Path) -> None:
    with http_server(agent_at(tmp_path / "s.db"), token="t" * 40) as url:
        assert get(f"{url}/v1/sessions").status_code == 401
        headers = {"Authorization": f"Bearer {'t' * 40}"}
        assert get(f"{url}/v1/sessions", headers=headers).status_code == 200


def test_its_page_is_opened_once(tmp_path: Path) -> None:
    with http_server(agent_at(tmp_path / "s.db")) as url:
        word = url.page.removeprefix(f"{url}/#link=")
        redeemed = post(f"{url}/v1/link", json={"word": word})
        known = {"Authorization": f"Bearer {redeemed.json()['token']}"}
        assert redeemed.headers["cache-control"] == "no-store"
        assert get(f"{url}/v1/sessions", headers=known).status_code == 200
        again = post(f"{url}/v1/link", json={"word": word})
        assert again.status_code == 403
        assert again.json()["type"] == "urn:ullage:problem:link"
        assert word not in again.text


def test_with_an_empty_token_everybody_is_let_in(tmp_path: Path) -> None:
    with http_server(agent_at(tmp_path / "s.db"), token="") as url:
        assert get(f"{url}/v1/sessions").status_code == 200


def test_another_host_needs_a_token(tmp_path: Path) -> None:
    with (
        pytest.raises(SettingError, match="token"),
        http_server(agent_at(tmp_path / "s.db"), host="0.0.0.0"),
    ):
        pass


def test_a_server_that_can_t_start_raises_and_gives_no_url(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text(
        "no database at all, but long enough to be read as one " * 10
    )
    with pytest.raises(StoreUnavailable), http_server(agent_at(tmp_path / "s.db")):
        pass
