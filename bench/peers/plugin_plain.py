"""The plain SDK with ``Compactor``: a loop as its user would write it, on ``chat``, ``responses`` or ``gemini``.

The other peers are compared with this one.
"""

from __future__ import annotations

import json
from typing import Any

import plugin_session as told

from ullage import Compactor

LOST = "[No result was recorded for this call. Whether it ran is unknown.]"
LOST_JSON = json.dumps(told.LOST_ARGUMENTS)


class Loop(told.Program):
    """What the wires have in common: the body goes through the compactor, its calls are carried out."""

    counts_all = True
    wire = ""

    def __init__(self) -> None:
        super().__init__()
        given: dict[str, Any] = {"summarise": self.send, "session": "bench", **told.OURS}
        self.compactor = Compactor(wire=self.wire, **given)

    async def turn(self, step: told.Step) -> None:
        self.history.append(self.said(step.said))
        while True:
            fitted = await self.compactor.fit(self.body(step.model))
            ask = self.streamed if step.streams else self.whole
            try:
                answer = await ask(dict(fitted.body), step.stop_after)
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
        return told.spent(self.compactor.reading())

    async def close(self) -> None:
        await self.compactor.aclose()

    def lose(self, step: told.Step) -> None:
        """A loop of one's own has to give every call a result, or the provider refuses the next request."""
        self.history += [self.said(step.said), *self.lost(step.lost_call)]

    async def whole(self, body: dict[str, Any], stop_after: int) -> Any:
        return await self.send(body)

    def said(self, text: str) -> Any:
        return {"role": "user", "content": text}

    def body(self, model: str) -> dict[str, Any]:
        raise NotImplementedError

    def lost(self, call: str) -> list[Any]:
        raise NotImplementedError

    def results(self, calls: list[Any]) -> list[Any]:
        raise NotImplementedError

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        raise NotImplementedError

    async def send(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def streamed(self, body: dict[str, Any], stop_after: int) -> Any:
        raise NotImplementedError


class OpenAI(Loop):
    packages = ("openai",)

    def __init__(self) -> None:
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=told.URL, api_key="none", max_retries=0)
        super().__init__()


async def is_read(stream: Any, stop_after: int) -> bool:
    """Whether a stream was read to its end, and not left."""
    pieces = 0
    async for _ in stream:
        pieces += 1
        if pieces == stop_after:
            return False
    return True


class Chat(OpenAI):
    wire = "chat"

    def body(self, model: str) -> dict[str, Any]:
        tool = {"type": "function", "function": {**told.ABOUT, "parameters": told.SCHEMA}}
        messages = [{"role": "system", "content": told.SYSTEM}, *self.history]
        return {"model": model, "messages": messages, "tools": [tool]}

    def lost(self, call: str) -> list[Any]:
        function = {"name": "use", "arguments": LOST_JSON}
        calls = [{"id": call, "type": "function", "function": function}]
        called = {"role": "assistant", "content": None, "tool_calls": calls}
        return [called, {"role": "tool", "tool_call_id": call, "content": LOST}]

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.chat.completions.create(**body)

    async def streamed(self, body: dict[str, Any], stop_after: int) -> Any:
        usage: dict[str, Any] = {"stream_options": {"include_usage": True}}
        async with self.client.chat.completions.stream(**body, **usage) as stream:
            is_whole = await is_read(stream, stop_after)
            return await stream.get_final_completion() if is_whole else None

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        message = answer.choices[0].message
        item: dict[str, Any] = {"role": "assistant", "content": message.content}
        if message.tool_calls:
            item["tool_calls"] = []
        for call in message.tool_calls or []:
            name, arguments = call.function.name, call.function.arguments
            function = {"name": name, "arguments": arguments}
            made = {"id": call.id, "type": "function", "function": function}
            item["tool_calls"].append(made)
        return answer.usage, [item], message.tool_calls or []

    def results(self, calls: list[Any]) -> list[Any]:
        made = []
        for call in calls:
            result = told.use(**json.loads(call.function.arguments))
            made.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return made


class Responses(OpenAI):
    wire = "responses"

    def body(self, model: str) -> dict[str, Any]:
        tool = {
            "type": "function",
            **told.ABOUT,
            "parameters": told.SCHEMA,
            "strict": False,
        }
        body = {"model": model, "instructions": told.SYSTEM, "input": list(self.history)}
        return {**body, "tools": [tool], "store": False}

    def lost(self, call: str) -> list[Any]:
        called = {"type": "function_call", "call_id": call, "name": "use"}
        return [{**called, "arguments": LOST_JSON}, self.result(call, LOST)]

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.responses.create(**body)

    async def streamed(self, body: dict[str, Any], stop_after: int) -> Any:
        async with self.client.responses.stream(**body) as stream:
            is_whole = await is_read(stream, stop_after)
            return await stream.get_final_response() if is_whole else None

    def read(self, answer: Any) -> tuple[Any, list[Any], list[Any]]:
        left = {"parsed_arguments"}
        items = [
            each.model_dump(exclude_none=True, exclude=left) for each in answer.output
        ]
        calls = [each for each in answer.output if each.type == "function_call"]
        return answer.usage, items, calls

    def results(self, calls: list[Any]) -> list[Any]:
        made = []
        for call in calls:
            made.append(self.result(call.call_id, told.use(**json.loads(call.arguments))))
        return made

    def result(self, call: str, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call, "output": text}


class Gemini(Loop):
    packages = ("google-genai",)
    wire = "generateContent"

    def __init__(self) -> None:
        from google import genai

        options = genai.types.HttpOptions(base_url=told.URL)
        self.client = genai.Client(api_key="none", http_options=options)
        super().__init__()

    def said(self, text: str) -> Any:
        return {"role": "user", "parts": [{"text": text}]}

    def body(self, model: str) -> dict[str, Any]:
        tool = {
            "functionDeclarations": [{**told.ABOUT, "parametersJsonSchema": told.SCHEMA}]
        }
        system = {"parts": [{"text": told.SYSTEM}]}
        body = {"model": model, "systemInstruction": system, "tools": [tool]}
        return {**body, "contents": list(self.history)}

    def lost(self, call: str) -> list[Any]:
        part = {"functionCall": {"id": call, "name": "use", "args": told.LOST_ARGUMENTS}}
        given = {"id": call, "name": "use", "response": {"result": LOST}}
        answered = {"role": "user", "parts": [{"functionResponse": given}]}
        return [{"role": "model", "parts": [part]}, answered]

    def arguments(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body as this SDK takes it: everything beside model and contents is ``config``."""
        config = dict(body.get("generationConfig", {}))
        for name in ("systemInstruction", "tools", "toolConfig"):
            if name in body:
                config[name] = body[name]
        return {"model": body["model"], "contents": body["contents"], "config": config}

    async def send(self, body: dict[str, Any]) -> Any:
        return await self.client.aio.models.generate_content(**self.arguments(body))

    async def streamed(self, body: dict[str, Any], stop_after: int) -> Any:
        pieces: list[Any] = []
        models = self.client.aio.models
        stream = await models.generate_content_stream(**self.arguments(body))
        async for piece in stream:
            pieces.append(piece)
            if len(pieces) == stop_after:
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
            given = {"name": call.name, "response": {"result": told.use(**call.args)}}
            if call.id:
                given["id"] = call.id
            parts.append({"functionResponse": given})
        return [{"role": "user", "parts": parts}]


WIRES = {"chat": Chat, "responses": Responses, "gemini": Gemini}
told.drive(WIRES[told.MODE]())
