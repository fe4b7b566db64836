"""Clients of three SDKs, metered or compacted by attach."""

import anthropic
import openai
from google import genai

import ullage

meter = ullage.Meter("gpt-4.1")
client: openai.OpenAI = ullage.attach(openai.OpenAI(api_key="any"), meter)
answer = client.chat.completions.create(
    model="gpt-4.1", messages=[{"role": "user", "content": "Hello."}]
)
said: str | None = answer.choices[0].message.content
client.chats  # type: ignore[attr-defined]
other: anthropic.Anthropic = ullage.attach(openai.OpenAI(api_key="any"), meter)  # type: ignore[assignment]
same: openai.OpenAI = ullage.detach(client)

compactor = ullage.Compactor("claude-haiku-4-5", window=9_000)
claude = ullage.attach(anthropic.Anthropic(api_key="any"), compactor)
message = claude.messages.create(model="claude-haiku-4-5", max_tokens=9, messages=[])
message.usage.input_tokens.strange  # type: ignore[attr-defined]
ullage.attach(claude, "meter")  # type: ignore[arg-type]
ullage.attach(claude)  # type: ignore[call-arg]


def follower(conversation: str) -> ullage.Compactor:
    return ullage.Compactor("gemini-2.5-flash", session=conversation)


def wrong_follower(conversation: str) -> str:
    return conversation


google = ullage.attach(genai.Client(api_key="any"), follower)
ullage.attach(google, wrong_follower)  # type: ignore[arg-type]


async def main() -> None:
    async with ullage.attach(openai.AsyncOpenAI(api_key="any"), meter) as later:
        created = await later.responses.create(model="gpt-4.1", input="Hello.")
        print(created.output_text.upper())
    asynchronous = ullage.attach(anthropic.AsyncAnthropic(api_key="any"), follower)
    async with asynchronous.messages.stream(
        model="claude-haiku-4-5", max_tokens=9, messages=[]
    ) as stream:
        async for text in stream.text_stream:
            text.strange  # type: ignore[attr-defined]
    generated = await google.aio.models.generate_content(
        model="gemini-2.5-flash", contents="Hello."
    )
    print(generated.text, meter.reading().used.tokens)
