"""The plain SDK without compaction: before a call the oldest turns are cut off until the rest fits below the trigger.

Tokens are taken to be four characters long, as such loops do; the turn that runs is never cut.
"""

from __future__ import annotations

import json
from typing import Any

import plugin_session as told

CHARACTERS_PER_TOKEN = 4


class Truncated(told.Program):
    packages = ("openai",)

    def __init__(self) -> None:
        super().__init__()
        from openai import AsyncOpenAI

        self.client = AsyncOpenAI(base_url=told.URL, api_key="none", max_retries=0)

    def cut(self) -> list[Any]:
        """The newest turns that fit, from a user's message on."""
        begins = [
            place for place, each in enumerate(self.history) if each["role"] == "user"
        ]
        for begin in begins:
            size = len(json.dumps(self.history[begin:])) + len(told.SYSTEM)
            if size < told.TRIGGER * told.WINDOW * CHARACTERS_PER_TOKEN:
                return list(self.history[begin:])
        return list(self.history[begins[-1] :])

    async def turn(self, step: told.Step) -> None:
        self.history.append({"role": "user", "content": step.said})
        function = {**told.ABOUT, "parameters": told.SCHEMA}
        tools: list[Any] = [{"type": "function", "function": function}]
        while True:
            self.history = self.cut()
            messages = [{"role": "system", "content": told.SYSTEM}, *self.history]
            answer = await self.client.chat.completions.create(
                model=step.model, messages=messages, tools=tools
            )
            message = answer.choices[0].message
            self.history.append(message.model_dump(exclude_none=True))
            if answer.usage:
                self.add(answer.usage.prompt_tokens, answer.usage.completion_tokens)
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                asked: Any = call
                result = told.use(**json.loads(asked.function.arguments))
                given = {"role": "tool", "tool_call_id": call.id, "content": result}
                self.history.append(given)


told.drive(Truncated())
