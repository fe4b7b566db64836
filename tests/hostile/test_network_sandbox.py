"""A command with network at our own servers: it is told health alone, and reads no token anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.sandboxing import sandbox_of
from ullage_agent.runtime.settings import Settings
from ullage_agent.tools.sandbox import SandboxMode
from ullage_agent.tools.shell import shell
from ullage_server.background import ServerAddress, http_server

ASK = """
ask() {{
    exec 3<>/dev/tcp/127.0.0.1/{port}
    printf '%s %s HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n' "$1" "$2" >&3
    printf 'Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}' >&3
    read -r _ status _ <&3
    echo "$status"
}}
"""


class Place(NamedTuple):
    """A server of ours, and the environment in which an agent with a workspace is started."""

    url: ServerAddress
    root: Path
    environment: dict[str, str]

    async def run(self, mode: SandboxMode, line: str) -> str:
        """What the command prints."""
        sandbox = sandbox_of(Settings(sandbox=mode), self.environment)
        return (await shell(self.root, line, 60, sandbox=sandbox)).text


@pytest.fixture(scope="module", params=["data", "root/data"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """The data directory lies outside of the workspace, and inside."""
    home = tmp_path_factory.mktemp("home")
    data, root = home / request.param, home / "root"
    root.mkdir()
    environment = {"ULLAGE_DATA": str(data), "HOME": str(home), "ANTHROPIC_API_KEY": "x"}
    agent = Agent(
        "anthropic:claude-haiku-4-5",
        store=data / "s.db",
        environment=environment,
        config=False,
    )
    with http_server(agent) as url:
        known = {"Authorization": f"Bearer {url.token}"}
        httpx2.post(f"{url}/v1/sessions", json={"id": "one"}, headers=known)
        yield Place(url, root, environment)


async def test_a_command_with_network_is_told_the_server_s_health_alone(
    place: Place,
) -> None:
    asked = [
        ("GET", "/healthz", "200"),
        ("GET", "/v1/live", "401"),
        ("GET", "/v1/sessions", "401"),
        ("POST", "/v1/sessions", "401"),
        ("POST", "/v1/sessions/one/messages", "401"),
        ("GET", "/v1/sessions/one/approvals", "401"),
        ("POST", "/v1/sessions/one/approvals/call", "401"),
        ("POST", "/v1/link", "400"),
        ("GET", "/metrics", "401"),
    ]
    script = ASK.format(port=place.url.rpartition(":")[2])
    script += "".join(f"ask {method} {path}\n" for method, path, _ in asked)
    (place.root / "ask").write_text(script)
    told = await place.run("workspace+network", "bash ask")
    assert told.split() == [status for _, _, status in asked]


@pytest.mark.parametrize("mode", ["workspace", "workspace+network"])
async def test_no_command_reads_the_token_of_this_machine(
    mode: SandboxMode, place: Place
) -> None:
    data = place.environment["ULLAGE_DATA"]
    secret = Path(data, "server-token")
    assert secret.read_text().strip() == place.url.token
    lines = (
        f"cat {secret}; cp {secret} taken; cat taken; ln -s {secret} linked; cat linked; "
        f"ln {secret} hard; cat hard; grep -rs ullage_ {data} .; echo ended"
    )
    told = await place.run(mode, lines)
    assert place.url.token not in told
    assert "ended" in told
