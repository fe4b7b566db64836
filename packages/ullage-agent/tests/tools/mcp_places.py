"""Where the test servers are, and how to call their tools."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.tools.tool_context import FakeToolContext
from ullage_agent.tools.mcp import McpServer
from ullage_agent.tools.running import CallResult, run_call
from ullage_agent.tools.tool import AgentTool

SERVER = str(Path(__file__).with_name("mcp_server.py"))
OLD_SERVER = str(Path(__file__).with_name("mcp_old_server.py"))


def on_stdio(**more: Any) -> McpServer:
    return McpServer("t", command=sys.executable, args=[SERVER, "stdio"], **more)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def serving(port: int, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """The test server over HTTP, as a process; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, SERVER, "http", str(port)],
        env={**os.environ, **env},
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "the test server did not start"
                time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()


def changes_of(server: McpServer) -> asyncio.Queue[tuple[AgentTool, ...]]:
    """The server's tools, each time that they have changed."""
    changes: asyncio.Queue[tuple[AgentTool, ...]] = asyncio.Queue()
    server.on_state(lambda: changes.put_nowait(server.tools))
    return changes


def tool_of(server: McpServer, name: str) -> AgentTool:
    return next(tool for tool in server.tools if tool.name == f"{server.name}__{name}")


async def call(server: McpServer, name: str, **arguments: Any) -> CallResult:
    tool = tool_of(server, name)
    return await run_call(tool, json.dumps(arguments), FakeToolContext())


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def until_dead(*pids: int) -> None:
    while any(map(is_alive, pids)):
        await asyncio.sleep(0.01)
