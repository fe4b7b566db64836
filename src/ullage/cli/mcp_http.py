"""``ullage mcp --http``: the MCP server over HTTP on this machine, with the tokens of ``ullage serve``.

Which pages may ask is checked by the SDK.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ullage.errors import SettingError
from ullage.server.guard import LOOPBACK
from ullage.server.guarded import guarded

if TYPE_CHECKING:
    from ullage.server.tokens import Tokens, TokenScope

HOST: Final = "127.0.0.1"


def serve(
    server: Any, port: int, tokens: Tokens, scope: TokenScope, file: Path | None = None
) -> None:
    """Serve at ``/mcp`` until Ctrl-C or SIGTERM; ``scope`` is what a token has to allow. ``file`` has the token where
    it is this machine's own. Raises ``SettingError``."""
    from ullage.server.connections import process_limits
    from ullage.server.serving import LimitedServer

    # The SDK's own check reads ``127.0.0.1:80@evil.example`` as this machine.
    app = server.streamable_http_app(host=HOST)
    app = guarded(app, tokens, scope, names=LOOPBACK)
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
            how = f"the token in {file}" if file else "a token"
        print(f"MCP at {address} ({how}). Ctrl-C ends it.", file=sys.stderr, flush=True)
        asyncio.run(LimitedServer(app, process_limits()).serve(sockets=[listening]))
