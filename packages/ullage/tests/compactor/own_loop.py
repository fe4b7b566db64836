"""A small agent loop of a caller's own, as people write them: on each wire, over plain HTTP."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError

from tests.context.sessions import words
from ullage import Compactor
from ullage.compaction import Fitted
from ullage_simulators import Scenario, Server
from ullage_simulators.scenario import read

ASKS: Final = "Write down what is needed to go on"
SUMMARY: Final = (
    "## Goal\nTo look at the casks one after the other.\n## State\nEach that was asked for has been looked at and none "
    "was found to leak.\n## Next\nThe one that was named last."
)
SYSTEM: Final = "You look after the casks of a small cellar. Read before you answer."


class Refused(Exception):
    """The provider refused a request; as an SDK's errors do, it has the status and the body."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(body.decode()[:500])
        self.status_code = status
        self.body = json.loads(body)


class LoopWire(NamedTuple):
    """How one wire is spoken in a loop."""

    name: str
    provider: str
    serves: str
    like: str
    path: str
    headers: Mapping[str, str]


CHAT = LoopWire("chat", "openai", "openai", "gpt-4.1", "/chat/completions", {})
RESPONSES = LoopWire("responses", "openai", "openai", "gpt-5.5", "/responses", {})
MESSAGES = LoopWire(
    "messages",
    "anthropic",
    "anthropic",
    "claude-opus-4-6",
    "/v1/messages",
    {"anthropic-version": "2023-06-01", "x-api-key": "k"},
)
GEMINI = LoopWire(
    "generateContent",
    "google",
    "gemini",
    "gemini-2.5-flash",
    "/v1beta/models/small:generateContent",
    {"x-goog-api-key": "k"},
)
WIRES = (CHAT, RESPONSES, MESSAGES, GEMINI)
BY_NAME = [wire.name for wire in WIRES]


def scenario(wire: LoopWire, window: int = 9_000, **more: Any) -> Scenario:
    """A model called ``small`` that looks at what it is asked about, says a little and sums up when asked to."""
    summary = more.pop("summary", {"text": SUMMARY})
    call = {"name": "look", "arguments": {"cask": 1}}
    return read(
        {
            "models": [
                {
                    "name": "small",
                    "like": wire.like,
                    "window": window,
                    "max_output": 4_000,
                }
            ],
            "answers": [
                {"when": {"contains": ASKS}, **summary},
                {"when": {"after": "user"}, "calls": [call]},
                {"text": "It is as it should be."},
            ],
            **more,
        }
    )


class OwnLoop:
    """A conversation with a tool, in the wire's own JSON. ``sent`` are the bodies that went out."""

    def __init__(self, wire: LoopWire, url: str, window: int = 9_000) -> None:
        self.wire = wire
        self.url = url + wire.path
        self.window = window
        self.items: list[dict[str, Any]] = []
        self.sent: list[Any] = []
        self.looked = 0
        if wire is CHAT:
            self.items.append({"role": "system", "content": SYSTEM})

    def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The provider's answer. Raises ``Refused``."""
        sent = dict(body)
        if self.wire is GEMINI:
            sent.pop("model", None)
        self.sent.append(sent)
        headers = {
            "content-type": "application/json",
            "authorization": "Bearer k",
            **self.wire.headers,
        }
        request = urllib.request.Request(
            self.url, json.dumps(sent).encode(), headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found: dict[str, Any] = json.loads(answer.read())
                return found
        except HTTPError as problem:
            raise Refused(problem.code, problem.read()) from problem

    def body(self) -> dict[str, Any]:
        """The next request with the whole history."""
        name, described = "look", "Looks at a cask."
        schema = {"type": "object", "properties": {"cask": {"type": "integer"}}}
        items = list(self.items)
        if self.wire is MESSAGES:
            tool = {"name": name, "description": described, "input_schema": schema}
            return {
                "model": "small",
                "max_tokens": 500,
                "system": SYSTEM,
                "tools": [tool],
                "messages": items,
            }
        if self.wire is GEMINI:
            tool = {"name": name, "description": described, "parameters": schema}
            return {
                "systemInstruction": {"parts": [{"text": SYSTEM}]},
                "tools": [{"functionDeclarations": [tool]}],
                "contents": items,
            }
        function = {"name": name, "description": described, "parameters": schema}
        if self.wire is RESPONSES:
            return {
                "model": "small",
                "instructions": SYSTEM,
                "tools": [{"type": "function", **function}],
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "input": items,
            }
        tools = [{"type": "function", "function": function}]
        return {"model": "small", "messages": items, "tools": tools}

    def say(self, text: str) -> None:
        """Add what the user says."""
        match self.wire.name:
            case "generateContent":
                self.items.append({"role": "user", "parts": [{"text": text}]})
            case _:
                self.items.append({"role": "user", "content": text})

    def take(self, answer: Mapping[str, Any]) -> bool:
        """Add an answer and the results of its calls; whether there were any."""
        match self.wire.name:
            case "chat":
                message = answer["choices"][0]["message"]
                self.items.append(message)
                calls = [call["id"] for call in message.get("tool_calls") or ()]
                for name in calls:
                    self.items.append(
                        {"role": "tool", "tool_call_id": name, "content": self.look()}
                    )
                return bool(calls)
            case "responses":
                self.items += answer["output"]
                calls = [
                    item["call_id"]
                    for item in answer["output"]
                    if item["type"] == "function_call"
                ]
                for name in calls:
                    self.items.append(
                        {
                            "type": "function_call_output",
                            "call_id": name,
                            "output": self.look(),
                        }
                    )
                return bool(calls)
            case "messages":
                self.items.append({"role": "assistant", "content": answer["content"]})
                results = [
                    {
                        "type": "tool_result",
                        "tool_use_id": block["id"],
                        "content": self.look(),
                    }
                    for block in answer["content"]
                    if block["type"] == "tool_use"
                ]
                if results:
                    self.items.append({"role": "user", "content": results})
                return bool(results)
            case _:
                content = answer["candidates"][0]["content"]
                self.items.append(content)
                responses = [
                    {
                        "functionResponse": {
                            **{
                                key: part["functionCall"][key]
                                for key in ("id", "name")
                                if key in part["functionCall"]
                            },
                            "response": {"output": self.look()},
                        }
                    }
                    for part in content["parts"]
                    if "functionCall" in part
                ]
                if responses:
                    self.items.append({"role": "user", "parts": responses})
                return bool(responses)

    def look(self) -> str:
        """What the tool finds: another text each time."""
        self.looked += 1
        return f"Cask {self.looked}. {words(350, self.looked)}"

    def usage(self, answer: Mapping[str, Any]) -> Any:
        """What the answer reports of its usage."""
        return answer["usageMetadata" if self.wire is GEMINI else "usage"]

    def turn(self, compactor: Compactor, text: str) -> None:
        """One turn: what the user says, calls and results, and the answer."""
        self.say(text)
        while True:
            fitted = compactor.fit_sync(self.body())
            answer = self._posted(compactor, fitted)
            compactor.after(self.usage(answer), answer)
            if not self.take(answer):
                return

    def _posted(self, compactor: Compactor, fitted: Fitted) -> dict[str, Any]:
        """The answer, after as many recoveries as it takes."""
        while True:
            try:
                return self.post(fitted.body)
            except Refused as problem:
                recovered = compactor.recover_sync(problem)
                if recovered is None:
                    raise
                fitted = recovered

    def compactor(
        self, summarise: Callable[[dict[str, Any]], Any] | None = None, **more: Any
    ) -> Compactor:
        """A Compactor for this loop, with its own way to send the request of a summary."""
        return Compactor(
            f"{self.wire.provider}:small",
            wire=more.pop("wire", self.wire.name),
            window=more.pop("window", self.window),
            summarise=summarise or self.post,
            **more,
        )


def loop_on(server: Server, wire: LoopWire, window: int = 9_000) -> OwnLoop:
    """A loop on this simulator."""
    return OwnLoop(wire, server.url(wire.serves), window)


def turns(loop: OwnLoop, compactor: Compactor, count: int, start: int = 0) -> None:
    """Turns of a user who asks for one cask after the other."""
    for number in range(start, start + count):
        loop.turn(compactor, f"Please look at cask {number}. {words(20, 500 + number)}")
