"""Requests in the shape of real clients, and a conversation that keeps its history as a client does."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal

from ullage.messages import Message, TextPart, ToolCallPart
from ullage.meter.lanes import Lanes, Placed, SeenRequest

WireName = Literal["messages", "chat", "responses", "generateContent"]

PATHS: dict[WireName, str] = {
    "messages": "/anthropic/v1/messages",
    "chat": "/openai/v1/chat/completions",
    "responses": "/openai/v1/responses",
    "generateContent": "/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent",
}

AGENTS = {
    "claude-code": "claude-cli/2.1.330 (external, cli)",
    "claude-code before": "claude-cli/2.1.197 (external, cli)",
    "codex": "codex_exec/0.169.0 (Debian 12.0.0; x86_64)",
    "opencode": "opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14",
    "pi": "pi (linux 6.1; x64)",
    "gemini-cli": "GeminiCLI-tui/0.61.0/gemini-2.5-flash (linux; x64; terminal)",
    "qwen-code": "QwenCode/0.24.4 (linux; x64)",
    "copilot-cli": "Anthropic/JS 0.94.0",
    "openai": "OpenAI/Python 2.54.0",
}

_numbers = count(1)


@dataclass
class Said:
    """One item of a history: a user's text, an answer with a text or a call, or the result of the call."""

    kind: Literal["user", "answer", "call", "result"]
    text: str
    id: str = ""


@dataclass
class Talk:
    """A conversation of one client. ``headers`` are its marks; ``say`` and ``step`` send a request and answer it."""

    lanes: Lanes
    client: str = "openai"
    wire: WireName = "messages"
    headers: dict[str, str] = field(default_factory=dict)
    system: str = "You are an agent."
    tools: tuple[str, ...] = ("read", "task")
    model: str = "some-model"
    connection: str = "c1"
    history: list[Said] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def say(self, text: str, answer: str = "") -> Placed:
        """A user's turn with an answer in plain text; an answer of its own if none is given."""
        self.history.append(Said("user", text))
        return self.send(answer or f"This is the answer number {next(_numbers)}.")

    def call(self, text: str, argument: str) -> Placed:
        """A user's turn that the model answers with a call of a tool."""
        self.history.append(Said("user", text))
        return self.send(argument=argument)

    def returned(self, result: str, answer: str = "") -> Placed:
        """The result of the last call."""
        self.history.append(Said("result", result, self.history[-1].id))
        return self.send(answer or f"This is the answer number {next(_numbers)}.")

    def send(self, answer: str = "", *, argument: str = "") -> Placed:
        """Send the history as it is, and add the answer to it."""
        placed, call = self.send_only()
        id = f"call_{next(_numbers)}"
        part: TextPart | ToolCallPart = TextPart(id="p", text=answer)
        if argument:
            arguments = json.dumps({"prompt": argument})
            part = ToolCallPart(id="p", call_id=id, name="task", arguments=arguments)
            self.history.append(Said("call", argument, id))
        else:
            self.history.append(Said("answer", answer))
        message = Message(id="m", role="assistant", parts=(part,))
        self.lanes.answered(call, message)
        return placed

    def send_only(self) -> tuple[Placed, str]:
        """Send the history and leave the answer open. Gives the call's id too."""
        call = f"request-{next(_numbers)}"
        self.calls.append(call)
        headers = {"user-agent": AGENTS[self.client], **self.headers}
        request = SeenRequest(
            call=call,
            path=PATHS[self.wire],
            headers=headers,
            body=self.body(),
            connection=self.connection,
        )
        return self.lanes.place(request), call

    def body(self) -> dict[str, Any]:
        """The request's body on this wire."""
        make = {
            "messages": messages_body,
            "chat": chat_body,
            "responses": responses_body,
            "generateContent": gemini_body,
        }[self.wire]
        body = make(self.system, self.tools, self.history)
        if self.wire != "generateContent":
            body["model"] = self.model
        return {**body, **self.extra}


def messages_body(
    system: str, tools: Sequence[str], history: Sequence[Said]
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for place, said in enumerate(history):
        block: dict[str, Any] = {"type": "text", "text": said.text}
        if said.kind == "call":
            given = {"prompt": said.text}
            block = {"type": "tool_use", "id": said.id, "name": "task", "input": given}
        elif said.kind == "result":
            block = {"type": "tool_result", "tool_use_id": said.id, "content": said.text}
        if place == len(history) - 1:
            block["cache_control"] = {"type": "ephemeral"}
        role = "assistant" if said.kind in ("answer", "call") else "user"
        items.append({"role": role, "content": [block]})
    declared = [{"name": name, "input_schema": {}} for name in tools]
    blocks = [{"type": "text", "text": system}]
    return {"system": blocks, "tools": declared, "messages": items, "max_tokens": 100}


def chat_body(
    system: str, tools: Sequence[str], history: Sequence[Said]
) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for said in history:
        if said.kind == "call":
            arguments = json.dumps({"prompt": said.text})
            function = {"name": "task", "arguments": arguments}
            called = {"id": said.id, "type": "function", "function": function}
            items.append({"role": "assistant", "content": "", "tool_calls": [called]})
        elif said.kind == "result":
            items.append({"role": "tool", "tool_call_id": said.id, "content": said.text})
        else:
            role = "assistant" if said.kind == "answer" else "user"
            items.append({"role": role, "content": said.text})
    declared = [{"type": "function", "function": {"name": name}} for name in tools]
    return {"messages": items, "tools": declared}


def responses_body(
    system: str, tools: Sequence[str], history: Sequence[Said]
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for said in history:
        if said.kind == "call":
            arguments = json.dumps({"prompt": said.text})
            called = {"type": "function_call", "call_id": said.id, "name": "task"}
            items.append({**called, "arguments": arguments})
        elif said.kind == "result":
            output = {"type": "function_call_output", "call_id": said.id}
            items.append({**output, "output": said.text})
        else:
            role, kind = ("user", "input_text")
            if said.kind == "answer":
                role, kind = ("assistant", "output_text")
                items.append({"type": "reasoning", "encrypted_content": "sealed"})
            content = [{"type": kind, "text": said.text}]
            items.append({"type": "message", "role": role, "content": content})
    declared = [{"type": "function", "name": name} for name in tools]
    return {"instructions": system, "tools": declared, "input": items}


def gemini_body(
    system: str, tools: Sequence[str], history: Sequence[Said]
) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for said in history:
        part: dict[str, Any] = {"text": said.text}
        if said.kind == "call":
            part = {"functionCall": {"name": "task", "args": {"prompt": said.text}}}
        elif said.kind == "result":
            response = {"output": said.text}
            part = {"functionResponse": {"name": "task", "response": response}}
        role = "model" if said.kind in ("answer", "call") else "user"
        items.append({"role": role, "parts": [part]})
    declared = [{"functionDeclarations": [{"name": name} for name in tools]}]
    prompt = {"parts": [{"text": system}]}
    return {"systemInstruction": prompt, "tools": declared, "contents": items}
