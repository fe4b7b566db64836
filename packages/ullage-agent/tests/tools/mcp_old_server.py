"""An MCP server of 2025, by hand: it knows no discovery and tells everybody that its tools changed."""

import json
import sys
from typing import Any


def answer(request: dict[str, Any], names: list[str]) -> dict[str, Any] | None:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "old", "version": "1"},
            }
        case "tools/list":
            schema = {"type": "object"}
            return {"tools": [{"name": name, "inputSchema": schema} for name in names]}
        case "tools/call":
            names.append("more")
            say({"method": "notifications/tools/list_changed"})
            return {"content": [{"type": "text", "text": "changed"}]}
        case _:
            return None


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    names = ["change"]
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request, names)
        if result is None:
            say(
                {
                    "id": request["id"],
                    "error": {"code": -32601, "message": "no such method"},
                }
            )
        else:
            say({"id": request["id"], "result": result})


if __name__ == "__main__":
    main()
