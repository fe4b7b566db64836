"""A loop that calls a model, with a meter and compaction in two lines of it.

    uv run --extra simulators --with openai python examples/loop.py

A simulator stands in for the provider, so it needs no key. For the real one, leave out ``running`` and ``base_url``.
"""

from typing import Any

import openai
import rich

import ullage
from ullage_simulators import running

TASK = "Note the level of each cask, and why it changed. " * 30


def main() -> None:
    """16 questions on a window of 8,000 tokens."""
    with running() as provider:
        client = openai.OpenAI(base_url=provider.url("openai"), api_key="any")

        compactor = ullage.Compactor("gpt-4.1", window=8_000)
        ullage.attach(client, compactor)

        history: list[Any] = []
        for number in range(1, 17):
            history.append({"role": "user", "content": f"Cask {number}. {TASK}"})
            answer = client.chat.completions.create(model="gpt-4.1", messages=history)
            text = answer.choices[0].message.content
            history.append({"role": "assistant", "content": text})
            rich.print(compactor.reading())

        compactor.close()
        print(
            f"{compactor.compactions} compactions. Your history is whole: {len(history)} messages."
        )


if __name__ == "__main__":
    main()
