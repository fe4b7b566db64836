from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from tests.tools.mcp_places import OLD_SERVER, is_alive
from ullage.installation import extra_command
from ullage_agent.tools.mcp_connection import (
    McpAddress,
    McpConnection,
    ServerLost,
    load_sdk,
)


def connection(*args: str) -> McpConnection:
    return McpConnection(
        McpAddress(command=sys.executable, args=args), load_sdk(), lambda: None
    )


async def test_a_call_on_a_closed_connection_was_not_sent() -> None:
    opened = connection(OLD_SERVER)
    with pytest.raises(ServerLost):
        await opened.call("change", {})
    await opened.open(60)
    await opened.close()
    with pytest.raises(ServerLost) as raised:
        await opened.call("change", {})
    assert not raised.value.was_sent


async def test_a_cancel_while_it_opens_leaves_no_process() -> None:
    line = "import os, sys, time; print(os.getpid(), file=sys.stderr, flush=True); time.sleep(1000)"
    opened = connection("-c", line)
    task = asyncio.ensure_future(opened.open(60))
    while not opened._last_words:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(int(b"".join(opened._last_words)))


def test_the_sdk_is_loaded_when_it_is_asked_for_and_not_before() -> None:
    line = (
        "import sys, ullage_agent.tools.mcp; "
        "print(any(name.partition('.')[0] in ('mcp', 'anyio') for name in sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, check=True
    ).stdout
    assert found == b"False\n"


def test_without_the_sdk_it_says_how_to_install_it() -> None:
    line = (
        "import sys; sys.modules['mcp'] = None\n"
        "from ullage.errors import MissingExtra\n"
        "from ullage_agent.tools.mcp_connection import load_sdk\n"
        "try: load_sdk()\n"
        "except MissingExtra as error: print(error)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", line], capture_output=True, check=True
    ).stdout
    assert extra_command("mcp").encode() in printed
