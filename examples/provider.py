"""A provider of one's own: llama.cpp's native ``/completion``, which is none of the APIs that Ullage speaks itself.

    llama-server -m MODEL.gguf --jinja
    python examples/provider.py http://127.0.0.1:8080 "What is an ullage?"

The prompt is made by the model's own chat template (``/apply-template``), the answer streams, and its usage is what the
server counted. A request that does not fit is an ``Overflow``, which makes the agent compact the conversation.
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2

import ullage
from ullage.errors import Overflow, ServerError, Unreachable
from ullage.testing import AnswerPiece, Stopped


class LlamaCpp(ullage.Provider):
    """A ``llama-server`` at this address."""

    def __init__(self, url: str, window: int | None = None) -> None:
        self.name = "llama-native"
        self.model = "loaded"
        self.window = window
        self._url = url

    async def stream(
        self, request: ullage.messages.Request
    ) -> AsyncIterator[AnswerPiece]:
        system = "\n\n".join(block.text for block in request.system)
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": one.role, "content": one.text} for one in request.messages]
        async with httpx2.AsyncClient(base_url=self._url, timeout=None) as http:
            try:
                said = await http.post("/apply-template", json={"messages": messages})
                body = {
                    "prompt": _read(said)["prompt"],
                    "n_predict": request.params.get("max_output", -1),
                    "temperature": request.params.get("temperature", 0.8),
                    "stream": True,
                }
                async with http.stream("POST", "/completion", json=body) as answer:
                    if answer.is_error:
                        await answer.aread()
                        _read(answer)
                    async for line in answer.aiter_lines():
                        if line.startswith("data: "):
                            for piece in _pieces(json.loads(line[6:])):
                                yield piece
            except httpx2.TransportError as problem:
                raise Unreachable(
                    f"{self._url} gives no answer. Start llama-server."
                ) from problem


def _pieces(event: dict[str, Any]) -> list[AnswerPiece]:
    pieces: list[AnswerPiece] = [event["content"]]
    if event["stop"]:
        usage = ullage.Usage(
            input=event["tokens_evaluated"], output=event["tokens_predicted"]
        )
        pieces += [usage, Stopped("length")] if event["stop_type"] == "limit" else [usage]
    return pieces


def _read(response: httpx2.Response) -> dict[str, Any]:
    """The server's answer. Raises the ``ProviderError`` that its error means."""
    said: dict[str, Any] = response.json()
    error = said.get("error", {})
    if error.get("type") == "exceed_context_size_error":
        raise Overflow(
            error["message"], count=error["n_prompt_tokens"], limit=error["n_ctx"]
        )
    if response.is_error:
        raise ServerError(f"llama.cpp: {error.get('message', response.status_code)}")
    return said


if __name__ == "__main__":
    url, question = sys.argv[1:]
    agent = ullage.Agent(LlamaCpp(url), store=None)
    result = agent.run_sync(question)
    print(result.text)
    print(result.reading)
