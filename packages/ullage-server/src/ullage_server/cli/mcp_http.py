"""``ullage mcp --http``: the MCP server over HTTP on this machine, with the tokens of ``ullage serve``.

Which pages may ask is checked by the SDK.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from typing import Any, Final

from ullage.directories import data_directory
from ullage.errors import SettingError
from ullage.store.records import FileRecords
from ullage_server.cli.serve import launch_token
from ullage_server.guard import LOOPBACK
from ullage_server.guarded import guarded
from ullage_server.tokens import NamedTokens, Tokens

HOST: Final = "127.0.0.1"


def serve(server: Any, port: int, no_token: bool) -> None:
    """Serve at ``/mcp`` until Ctrl-C or SIGTERM, to tokens that may read. Raises ``SettingError``."""
    from ullage_server.connections import process_limits
    from ullage_server.serving import LimitedServer

    store = NamedTokens(FileRecords(data_directory(os.environ)))
    launch = launch_token("", [store], os.environ, is_off=no_token)
    tokens = Tokens(launch.text, store)
    # The SDK's own check reads ``127.0.0.1:80@evil.example`` as this machine.
    app = server.streamable_http_app(host=HOST)
    app = guarded(app, tokens, "read", names=LOOPBACK)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()
        except (OSError, OverflowError) as problem:
            raise SettingError(
                f"{HOST}:{port} can't be listened on: {problem}. --http 0 takes a free port."
            ) from problem
        address = f"http://{HOST}:{listening.getsockname()[1]}/mcp"
        how = "no token: every user and program of this machine may ask"
        if tokens.are_required():
            how = f"the token in {launch.file}" if launch.file else "a token"
        print(f"MCP at {address} ({how}). Ctrl-C ends it.", file=sys.stderr, flush=True)
        asyncio.run(LimitedServer(app, process_limits()).serve(sockets=[listening]))
