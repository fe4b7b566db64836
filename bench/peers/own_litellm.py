"""A loop over litellm's acompletion that calls litellm's own ``trim_messages`` before each request."""

from __future__ import annotations

from typing import Any

import litellm
from plugin_litellm import WHERE, LiteLLM
from plugin_session import TRIGGER, WINDOW, drive


class Trimmed(LiteLLM):
    """Counts what the answers report."""

    counts_all = False

    def __init__(self) -> None:
        super().__init__()
        self.counts = [0, 0]

    async def complete(self, body: dict[str, Any]) -> Any:
        messages = litellm.utils.trim_messages(
            body["messages"], max_tokens=round(TRIGGER * WINDOW)
        )
        model = f"openai/{body['model']}"
        arguments = {**body, **WHERE, "model": model, "messages": messages}
        if body.get("stream"):
            arguments["stream_options"] = {"include_usage": True}
        answer = await litellm.acompletion(**arguments)
        if body.get("stream"):
            return self.counted_stream(answer)
        self.note(answer.usage)
        return answer

    async def counted_stream(self, stream: Any) -> Any:
        async for chunk in stream:
            if usage := getattr(chunk, "usage", None):
                self.note(usage)
            yield chunk

    def note(self, usage: Any) -> None:
        self.counts[0] += usage.prompt_tokens
        self.counts[1] += usage.completion_tokens

    def counted(self) -> tuple[int, int]:
        return self.counts[0], self.counts[1]


drive(Trimmed())
