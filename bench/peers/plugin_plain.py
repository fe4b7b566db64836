"""The plain SDK with ``Compactor``: a loop as its user would write it, on Chat, Responses or generateContent.

The third argument is ``chat``, ``responses`` or ``gemini``. The other peers are compared with this one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from plugin_session import (
    FOLDER,
    LOST_ARGUMENTS,
    SYSTEM,
    TRIGGER,
    URL,
    WINDOW,
    Step,
    drive,
    use,
)

from ullage import Compactor

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}, "call": {"type": "string"}},
    "required": ["number", "call"],
}
LOST = "[No result was recorded for this call. Whether it ran is unknown.]"
ABOUT = {"name": "use", "description": "Do what ``call`` says."}


class Loop:
    """What the wires have in common: the body goes through the compactor, its calls are carried out."""

    packages: tuple[str, ...] = ()
    counts_all = True
    wire = ""

    def __init__(self) -> None:
        self.history: list[Any] = []
        self.compactor = Compactor(
            wire=self.wire,
            window=WINDOW,
            trigger=TRIGGER,
            summarise=self.send,
            store=FOLDER / "ullage.db",
            session="bench",
        )

    async def turn(self, step: Step) -> None:
        self.history.append(self.said(step.said))
        while True:
            fitted = await self.compactor.fit(self.body(step.model))
            try:
                answer = await self.answered(dict(fitted.body), step)
            except Exception:
                self.compactor.after(None, outcome="failed")
                raise
            if answer is None:
                self.compactor.after(None, outcome="cancelled")
                return
            usage, items, calls = self.read(answer)
            self.compactor.after(usage, answer)
            self.history += items
            if not calls:
                return
            self.history += self.results(calls)

    def counted(self) -> tuple[int, int]:
        spent = self.compactor.reading().spend.all
        return spent.input or 0, spent.output or 0

    async def close(self) -> None:
        await self.compactor.aclose()

    def lose(self, step: Step) -> None:
        """A loop of one's own has to give every call a result, or the provider refuses the next request."""
        self.history.append(self.said(step.said))
        self.history.append(self.called(step.lost_call))
        self.history.append(self.result(step.lost_call, LOST))

    def said(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def body(self, model: str) -> dict[str, Any]:
        raise NotImplementedError

    def called(self, call: str) -> Any:
        raise NotImplementedError

    def results(self, calls: list[Any]) -> list[Any]:
        raise NotImplementedError

    def result(self, call: str, text: str) -> Any:
        raise NotImplementedError

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        raise NotImplementedError

    async def send(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def answered(self, body: dict[str, Any], step: Step) -> Any:
        return await self.send(body)


class Chat(Loop):
    packages = ("openai",)
    wire = "chat"

    def __init__(self) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)
        super().__init__()

    def body(self, model: str) -> dict[str, Any]:
        tool = {"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}
        messages = [{"role": "system", "content": SYSTEM}, *self.history]
        return {"model": model, "messages": messages, "tools": [tool]}

    def called(self, call: str) -> Any:
        function = {"name": "use", "arguments": json.dumps(LOST_ARGUMENTS)}
        calls = [{"id": call, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.chat.completions.create(**body)

    async def answered(self, body: dict[str, Any], step: Step) -> Any:
        if not step.streams:
            return await self.send(body)
        pieces = 0
        async with self.client.chat.completions.stream(
            **body, stream_options={"include_usage": True}
        ) as stream:
            async for _ in stream:
                pieces += 1
                if pieces == step.stop_after:
                    return None
            return await stream.get_final_completion()

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        message = answer.choices[0].message
        calls = message.tool_calls or []
        item: dict[str, Any] = {"role": "assistant", "content": message.content}
        if calls:
            item["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.function.name,
                        "arguments": call.function.arguments,
                    },
                }
                for call in calls
            ]
        return answer.usage, [item], calls

    def results(self, calls: list[Any]) -> list[Any]:
        made = []
        for call in calls:
            result = use(**json.loads(call.function.arguments))
            made.append(self.result(call.id, result))
        return made

    def result(self, call: str, text: str) -> Any:
        return {"role": "tool", "tool_call_id": call, "content": text}


class Responses(Loop):
    packages = ("openai",)
    wire = "responses"

    def __init__(self) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)
        super().__init__()

    def body(self, model: str) -> dict[str, Any]:
        tool = {"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}
        return {
            "model": model,
            "instructions": SYSTEM,
            "input": list(self.history),
            "tools": [tool],
            "store": False,
        }

    def called(self, call: str) -> Any:
        arguments = json.dumps(LOST_ARGUMENTS)
        return {
            "type": "function_call",
            "call_id": call,
            "name": "use",
            "arguments": arguments,
        }

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.responses.create(**body)

    async def answered(self, body: dict[str, Any], step: Step) -> Any:
        if not step.streams:
            return await self.send(body)
        pieces = 0
        async with self.client.responses.stream(**body) as stream:
            async for _ in stream:
                pieces += 1
                if pieces == step.stop_after:
                    return None
            return await stream.get_final_response()

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        items = [
            item.model_dump(exclude_none=True, exclude={"parsed_arguments"})
            for item in answer.output
        ]
        calls = [item for item in answer.output if item.type == "function_call"]
        return answer.usage, items, calls

    def results(self, calls: list[Any]) -> list[Any]:
        made = []
        for call in calls:
            result = use(**json.loads(call.arguments))
            made.append(self.result(call.call_id, result))
        return made

    def result(self, call: str, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call, "output": text}


class Gemini(Loop):
    packages = ("google-genai",)
    wire = "generateContent"

    def __init__(self) -> None:
        from google import genai

        options = genai.types.HttpOptions(base_url=URL)
        self.client = genai.Client(api_key="none", http_options=options)
        super().__init__()

    def said(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def body(self, model: str) -> dict[str, Any]:
        tool = {"functionDeclarations": [{**ABOUT, "parametersJsonSchema": SCHEMA}]}
        return {
            "model": model,
            "systemInstruction": {"parts": [{"text": SYSTEM}]},
            "contents": list(self.history),
            "tools": [tool],
        }

    def called(self, call: str) -> Any:
        part = {"functionCall": {"id": call, "name": "use", "args": LOST_ARGUMENTS}}
        return {"role": "model", "parts": [part]}

    def arguments(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this SDK takes it: everything beside model and contents is ``config``."""
        config = dict(body.get("generationConfig", {}))
        for name in ("systemInstruction", "tools", "toolConfig"):
            if name in body:
                config[name] = body[name]
        return {"model": body["model"], "contents": body["contents"], "config": config}

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.aio.models.generate_content(**self.arguments(body))

    async def answered(self, body: dict[str, Any], step: Step) -> Any:
        if not step.streams:
            return await self.send(body)
        pieces: list[Any] = []
        arguments = self.arguments(body)
        stream = await self.client.aio.models.generate_content_stream(**arguments)
        async for piece in stream:
            pieces.append(piece)
            if len(pieces) == step.stop_after:
                await stream.aclose()
                return None
        last = pieces[-1]
        parts = [part for piece in pieces for part in piece.candidates[0].content.parts]
        last.candidates[0].content.parts = parts
        return last

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        content = answer.candidates[0].content
        item = content.model_dump(mode="json", exclude_none=True, by_alias=True)
        calls = [part.function_call for part in content.parts if part.function_call]
        return answer.usage_metadata, [item], calls

    def results(self, calls: list[Any]) -> list[Any]:
        parts = []
        for call in calls:
            given = {"name": call.name, "response": {"result": use(**call.args)}}
            if call.id:
                given["id"] = call.id
            parts.append({"functionResponse": given})
        return [{"role": "user", "parts": parts}]

    def result(self, call: str, text: str) -> Any:
        given = {"id": call, "name": "use", "response": {"result": text}}
        return {"role": "user", "parts": [{"functionResponse": given}]}


WIRES = {"chat": Chat, "responses": Responses, "gemini": Gemini}
drive(WIRES[sys.argv[3]]())
