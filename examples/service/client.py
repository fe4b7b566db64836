"""Sends a message to the service, shows the call that waits, answers for a person, and prints the answer."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from typing import Any

WAIT_S = 60.0


def request(method: str, url: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    token = os.environ.get("ULLAGE_TOKEN", "")
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    asked = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(asked, timeout=WAIT_S) as answer:
        return json.load(answer)


def wait_for(session: str, *states: str) -> None:
    """Until the session is in one of these states; events (docs/http.md) would tell it without asking."""
    end = time.monotonic() + WAIT_S
    while request("GET", session)["state"] not in states:
        if time.monotonic() > end:
            raise SystemExit(f"The service took longer than {WAIT_S:.0f} s.")
        time.sleep(0.2)


def main(service: str, is_allowed: bool) -> None:
    created = request("POST", f"{service}/v1/sessions", {})
    session = f"{service}/v1/sessions/{created['id']}"
    request("POST", f"{session}/messages", {"text": "Corks run out: order 500."})
    wait_for(session, "waiting", "idle")
    for waiting in request("GET", f"{session}/approvals")["approvals"]:
        for line in waiting["lines"]:
            print("".join(piece["text"] for piece in line))
        answer = {"approved": is_allowed, "digest": waiting["digest"]}
        request("POST", f"{session}/approvals/{waiting['call_id']}", answer)
    wait_for(session, "idle")
    messages = request("GET", f"{session}/messages")["messages"]
    print("".join(part.get("text", "") for part in messages[-1]["parts"]))


if __name__ == "__main__":
    main(sys.argv[1], is_allowed="--deny" not in sys.argv)
