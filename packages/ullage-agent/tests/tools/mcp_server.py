"""An MCP server made with the SDK, run as a process: ``python mcp_server.py stdio`` or ``… http PORT``.

Tools come in two pages. ``STUBBORN`` in the environment makes it ignore TERM and the end of its input; ``ALIVE`` is a
file by which ``die_once`` remembers that it died.
"""

import asyncio
import base64
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NAMES = [
    "echo",
    "picture",
    "mixed",
    "structured",
    "fails",
    "refuses",
    "die",
    "die_once",
    "sleep",
    "grow",
    "pid",
]
IDEMPOTENT = {"echo": "read_only_hint", "die_once": "idempotent_hint"}

bus = InMemorySubscriptionBus()
names = [*NAMES, "spawn", "odd.name/ü"]


def declared(name: str) -> types.Tool:
    hints = (
        types.ToolAnnotations.model_validate({IDEMPOTENT[name]: True})
        if name in IDEMPOTENT
        else None
    )
    return types.Tool(
        name=name,
        description=f"Does {name}.",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
        annotations=hints,
    )


async def on_list_tools(
    ctx: Any, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    start = int(params.cursor) if params and params.cursor else 0
    page = [declared(name) for name in names[start : start + 8]]
    more = str(start + 8) if start + 8 < len(names) else None
    return types.ListToolsResult(tools=page, next_cursor=more)


async def on_call_tool(
    ctx: Any, params: types.CallToolRequestParams
) -> types.CallToolResult:
    text = (params.arguments or {}).get("text", "")
    match params.name:
        case "echo" | "grown":
            return said(text)
        case "picture":
            image = types.ImageContent(
                data=base64.b64encode(PNG).decode(), mime_type="image/png"
            )
            return types.CallToolResult(content=[image])
        case "mixed":
            return types.CallToolResult(content=mixed())
        case "structured":
            return types.CallToolResult(content=[], structured_content={"degrees": 21})
        case "fails":
            return types.CallToolResult(
                content=[types.TextContent(text="no such city")], is_error=True
            )
        case "refuses":
            raise ValueError("not today")
        case "die":
            os._exit(1)
        case "die_once":
            mark = Path(os.environ["ALIVE"])
            if not mark.exists():
                mark.touch()
                os._exit(1)
            return said("alive")
        case "sleep":
            await asyncio.sleep(float(text))
            return said("awake")
        case "grow":
            names.append("grown")
            await bus.publish(ToolsListChanged())
            return said("grown")
        case "spawn":
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            return said(str(child.pid))
        case _:
            return said(str(os.getpid()))


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def mixed() -> list[types.ContentBlock]:
    return [
        types.TextContent(text="first"),
        types.ResourceLink(
            uri="file:///a.txt",
            name="a.txt",
            mime_type="text/plain",
            size=1234,
            description="notes",
        ),
        types.EmbeddedResource(
            resource=types.TextResourceContents(uri="mem://b", text="inside")
        ),
        types.EmbeddedResource(
            resource=types.BlobResourceContents(
                uri="mem://c", blob="AAAA", mime_type="application/zip"
            )
        ),
        types.EmbeddedResource(
            resource=types.BlobResourceContents(
                uri="mem://d", blob=base64.b64encode(PNG).decode(), mime_type="image/png"
            )
        ),
        types.AudioContent(data="AAAAAAAA", mime_type="audio/wav"),
        types.ImageContent(data="not base64!", mime_type="image/png"),
    ]


async def main() -> None:
    server: Server[Any] = Server(
        "test",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )
    if sys.argv[1] == "http":
        import uvicorn

        app = server.streamable_http_app()
        await uvicorn.Server(
            uvicorn.Config(app, port=int(sys.argv[2]), log_level="error")
        ).serve()
        return
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    if os.environ.get("STUBBORN"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "1000"])
    sys.stderr.write("the test server begins\n")
    asyncio.run(main())
    if os.environ.get("STUBBORN"):
        signal.pause()
        signal.pause()
