"""A loop over litellm's functions with Ullage's callback, on OpenAI's Chat.

The mode is ``acompletion``, ``completion``, ``proxy`` (the callback is in a proxy of litellm's, and the loop calls that
with OpenAI's SDK), or ``trim``: litellm's own ``trim_messages`` before each request.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import plugin_session as told

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
WHERE = {"api_base": told.URL, "api_key": "none", "num_retries": 0, "max_retries": 0}
MARK = {"metadata": {"session_id": "bench"}}
COUNTS = told.FOLDER / "counts"
"""Written by the callback, a line for each call: in a proxy it is in another process."""
TOOL = {"type": "function", "function": {**told.ABOUT, "parameters": told.SCHEMA}}
CALLBACK = """
from pathlib import Path
from ullage.events import CallEnded
from ullage.plugins.litellm import UllageLogger

def note(event):
    if isinstance(event, CallEnded) and event.usage:
        with open({counts!r}, "a") as file:
            file.write(f"{{event.usage.input or 0}} {{event.usage.output or 0}}\\n")

ullage = UllageLogger(window={window}, trigger={trigger}, store=Path({store!r}), on_event=note)
"""
CONFIG = """
model_list:
  - model_name: "*"
    litellm_params: {{model: "openai/*", api_base: "{url}", api_key: none}}
litellm_settings: {{callbacks: custom_callbacks.ullage, num_retries: 0, telemetry: false}}
general_settings: {{master_key: sk-bench}}
"""


def callback() -> str:
    return CALLBACK.format(
        counts=str(COUNTS),
        window=told.WINDOW,
        trigger=told.TRIGGER,
        store=str(told.FOLDER / "ullage.db"),
    )


class LiteLLM(told.Program):
    """Keeps the messages itself; ``complete`` makes one call."""

    packages: tuple[str, ...] = ("litellm",)
    counts_all = True

    async def complete(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def turn(self, step: told.Step) -> None:
        self.history.append({"role": "user", "content": step.said})
        while True:
            body: dict[str, Any] = {
                "model": step.model,
                "messages": [{"role": "system", "content": told.SYSTEM}, *self.history],
                "tools": [TOOL],
            }
            if step.streams:
                message = await self.streamed(body, step.stop_after)
            else:
                answer = await self.complete(body)
                message = answer.choices[0].message.model_dump(exclude_none=True)
            if message is None:
                return
            self.history.append(kept(message))
            calls = message.get("tool_calls") or []
            for call in calls:
                result = told.use(**json.loads(call["function"]["arguments"]))
                self.history.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": result}
                )
            if not calls:
                return

    def chunks(self, stream: Any) -> AsyncIterator[Any]:
        return aiter(stream)

    async def streamed(self, body: dict[str, Any], stop_after: int) -> Any:
        chunks: list[Any] = []
        stream = await self.complete({**body, "stream": True})
        async for chunk in self.chunks(stream):
            chunks.append(chunk)
            if len(chunks) == stop_after:
                await left(stream)
                return None
        return put_together(chunks)

    def lose(self, step: told.Step) -> None:
        function = {"name": "use", "arguments": json.dumps(told.LOST_ARGUMENTS)}
        call = {"id": step.lost_call, "type": "function", "function": function}
        self.history += [
            {"role": "user", "content": step.said},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ]

    def counted(self) -> tuple[int, int]:
        for line in COUNTS.read_text().splitlines() if COUNTS.exists() else ():
            sent, received = line.split()
            self.add(int(sent), int(received))
        return self.counts[0], self.counts[1]


class Logged(LiteLLM):
    """Leaves litellm the time to report a call."""

    async def turn(self, step: told.Step) -> None:
        await super().turn(step)
        if not step.stop_after:
            await logged()


class Sdk(Logged):
    """``acompletion`` and ``completion``."""

    def __init__(self) -> None:
        import litellm

        super().__init__()
        made: dict[str, Any] = {}
        exec(callback(), made)
        litellm.callbacks = [made["ullage"]]
        self.logger = made["ullage"]
        self.call: Callable[..., Any] = getattr(litellm, told.MODE)

    def chunks(self, stream: Any) -> AsyncIterator[Any]:
        return each(stream) if told.MODE == "completion" else aiter(stream)

    async def complete(self, body: dict[str, Any]) -> Any:
        arguments = {**body, **WHERE, **MARK, "model": f"openai/{body['model']}"}
        answer = self.call(**arguments)
        return answer if told.MODE == "completion" else await answer

    async def close(self) -> None:
        await self.logger.aclose()


class Proxy(Logged):
    """OpenAI's SDK and litellm's proxy, as a process of its own."""

    packages = ("litellm", "openai")

    def __init__(self) -> None:
        super().__init__()
        self.started: subprocess.Popen[bytes] | None = None
        self.client: Any = None

    async def complete(self, body: dict[str, Any]) -> Any:
        if self.client is None:
            self.client = await self.connected()
        return await self.client.chat.completions.create(**body)

    async def connected(self) -> Any:
        from openai import AsyncOpenAI

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (told.FOLDER / "custom_callbacks.py").write_text(callback())
        (told.FOLDER / "config.yaml").write_text(CONFIG.format(url=told.URL))
        program = Path(sys.executable).parent / "litellm"
        with (told.FOLDER / "proxy.log").open("ab") as log:
            self.started = subprocess.Popen(
                [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
                cwd=told.FOLDER, stdout=log, stderr=log,
            )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            if await asyncio.to_thread(answers, f"{url}/health/liveliness"):
                break
            await asyncio.sleep(0.2)
        else:
            raise SystemExit((told.FOLDER / "proxy.log").read_text()[-2_000:])
        headers = {"x-litellm-session-id": "bench"}
        return AsyncOpenAI(
            base_url=f"{url}/v1",
            api_key="sk-bench",
            max_retries=0,
            default_headers=headers,
        )

    async def close(self) -> None:
        if self.started is not None:
            self.started.terminate()
            await asyncio.to_thread(self.started.wait)


class Trimmed(LiteLLM):
    """Counts what the answers report."""

    counts_all = False

    async def complete(self, body: dict[str, Any]) -> Any:
        import litellm

        most = round(told.TRIGGER * told.WINDOW)
        messages = litellm.utils.trim_messages(body["messages"], max_tokens=most)
        model = f"openai/{body['model']}"
        answer = await litellm.acompletion(
            **{**body, **WHERE, "model": model, "messages": messages}
        )
        self.add(answer.usage.prompt_tokens, answer.usage.completion_tokens)
        return answer

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def logged() -> None:
    """Leave litellm the time to report the last call, before the counts are read."""
    before = -1
    while (COUNTS.stat().st_size if COUNTS.exists() else 0) != before:
        before = COUNTS.stat().st_size if COUNTS.exists() else 0
        await asyncio.sleep(0.1)


async def each(stream: Any) -> AsyncIterator[Any]:
    """The chunks of a synchronous stream."""
    for chunk in stream:
        yield chunk


async def left(stream: Any) -> None:
    """Leave a stream as its library wants it."""
    for name in ("aclose", "close"):
        close = getattr(stream, name, None)
        if close is not None:
            done = close()
            if asyncio.iscoroutine(done):
                await done
            return


def put_together(chunks: list[Any]) -> dict[str, Any]:
    text = ""
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(
                    piece.index,
                    {
                        "id": "",
                        "type": "function",
                        "function": {"name": "", "arguments": ""},
                    },
                )
                call["id"] += piece.id or ""
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    return {"role": "assistant", "content": text, "tool_calls": list(calls.values())}


def kept(message: dict[str, Any]) -> dict[str, Any]:
    """An answer as it is sent back."""
    item = {"role": "assistant", "content": message.get("content")}
    if message.get("tool_calls"):
        item["tool_calls"] = [
            {name: call[name] for name in ("id", "type", "function")}
            for call in message["tool_calls"]
        ]
    return item


PROGRAMS: dict[str, Callable[[], told.Program]] = {"proxy": Proxy, "trim": Trimmed}
told.drive(PROGRAMS.get(told.MODE, Sdk)())
