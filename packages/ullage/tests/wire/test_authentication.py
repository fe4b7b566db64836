"""How a key is sent to a server of one's own, beside what the official client sends there."""

import openai

from tests.wire.local_server import Reply, chat, serving
from ullage.messages import Message, Request, TextPart
from ullage.wire.call import ask
from ullage.wire.client import Client
from ullage.wire.endpoints import endpoint_for

KEY = "sk-gateway-0123456789"
ASIDE = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


def question(wire: str, provider: str, model: str) -> Request:
    message = Message(id="u", role="user", parts=(TextPart(id="u.1", text="How full?"),))
    return Request(
        wire=wire, provider=provider, model=model, messages=(message,), stream=True
    )


async def test_chat_sends_the_key_as_openais_client_does_for_any_model() -> None:
    async with serving(Reply(chat("a"))) as server:
        official = openai.AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=0)
        async with (
            official,
            await official.chat.completions.create(
                model="claude-via",
                messages=[{"role": "user", "content": "How full?"}],
                stream=True,
            ) as chunks,
        ):
            async for _ in chunks:
                pass
        for name in ("claude-via", "gemini-via", "litellm:claude-via", "my-model"):
            environment = {
                "ULLAGE_API_KEY": KEY,
                "LITELLM_PROXY_API_KEY": KEY,
                "ANTHROPIC_API_KEY": "sk-ant",
            }
            endpoint, model = endpoint_for(
                name, wire="chat", base_url=server.url, environment=environment
            )
            async with Client() as client:
                await ask(
                    question(endpoint.wire, endpoint.provider, model),
                    endpoint,
                    client=client,
                )
    sent = [
        {name: asked.headers[name] for name in ASIDE if name in asked.headers}
        for asked in server.asked
    ]
    assert len(sent) == 5
    assert all(one == {"authorization": f"Bearer {KEY}"} for one in sent)
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}
