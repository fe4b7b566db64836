"""SDKs and frameworks that leave their conversation with the provider: counted is billed, and nothing is edited."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from agents import Agent, OpenAIResponsesModel, Runner
from anthropic import beta_tool
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

import ullage
from tests.context.sessions import words
from tests.promises.holding import KINDS, Provider
from ullage.meter.reading import Reading
from ullage.plugins.langchain import UllageMiddleware
from ullage.plugins.openai_agents import instrument
from ullage.plugins.pydantic_ai import Ullage

QUESTIONS = [words(200, step) for step in range(5)]
SMALL = 900
"""Tokens of a window that all of them together do not fit."""


def assert_billed(reading: Reading, provider: Provider) -> None:
    """The reading rests on the last bill, and counts each."""
    spent = reading.spend.all
    assert (spent.input, spent.output) == provider.spent
    assert spent.calls == len(provider.bills) >= len(QUESTIONS)
    assert reading.basis.last_input == provider.bills[-1][0]
    assert reading.used.low - 20 <= provider.next_input <= reading.used.high + 20
    assert reading.compactions == 0 and reading.used.tokens > SMALL


def transport(provider: Provider) -> httpx2.MockTransport:
    return httpx2.MockTransport(provider.handle)


def openai_over(provider: Provider) -> openai.OpenAI:
    client = httpx2.Client(transport=transport(provider))
    return openai.OpenAI(api_key="any", max_retries=0, http_client=client)


def openai_async_over(provider: Provider) -> openai.AsyncOpenAI:
    client = httpx2.AsyncClient(transport=transport(provider))
    return openai.AsyncOpenAI(api_key="any", max_retries=0, http_client=client)


def anthropic_over(provider: Provider) -> anthropic.Anthropic:
    client = httpx2.Client(transport=transport(provider))
    return anthropic.Anthropic(api_key="any", max_retries=0, http_client=client)


@beta_tool
def look(cask: str) -> str:
    """Look at a cask.

    Args:
        cask: Which one.
    """
    return words(200, len(cask))


@pytest.fixture
def chained() -> Provider:
    return Provider(KINDS["previous_response_id"])


@pytest.fixture
def thread() -> Provider:
    return Provider(KINDS["thread"])


FOLLOWERS = pytest.mark.parametrize("follower", [ullage.Meter, ullage.Compactor])


@FOLLOWERS
def test_openais_sdk_with_stored_responses(chained: Provider, follower: Any) -> None:
    followed = follower("gpt-5", window=SMALL)
    client = ullage.attach(openai_over(chained), followed)
    before: Any = openai.omit
    for text in QUESTIONS:
        answer = client.responses.create(
            model="gpt-5", input=text, previous_response_id=before
        )
        before = answer.id
    assert_billed(followed.reading(), chained)


@FOLLOWERS
def test_openais_sdk_with_a_conversation(follower: Any) -> None:
    provider = Provider(KINDS["conversation"])
    followed = follower("gpt-5", window=SMALL)
    client = ullage.attach(openai_over(provider), followed)
    for text in QUESTIONS:
        client.responses.create(
            model="gpt-5", input=text, conversation={"id": "conv_cellar"}
        )
    assert_billed(followed.reading(), provider)


@FOLLOWERS
def test_anthropics_sdk_with_a_thread(thread: Provider, follower: Any) -> None:
    followed = follower("claude-haiku-4-5", window=SMALL)
    client = ullage.attach(anthropic_over(thread), followed)
    talk = client.beta.messages.thread(model="claude-haiku-4-5", max_tokens=50)
    for text in QUESTIONS:
        talk.send({"role": "user", "content": text})
    assert_billed(followed.reading(), thread)


@FOLLOWERS
def test_anthropics_sdk_with_its_tool_runner(thread: Provider, follower: Any) -> None:
    thread.calls = 6
    followed = follower("claude-haiku-4-5", window=100_000)
    client = ullage.attach(anthropic_over(thread), followed)
    runner = client.beta.messages.tool_runner(
        model="claude-haiku-4-5",
        max_tokens=50,
        tools=[look],
        messages=[{"role": "user", "content": words(1_200)}],
    )
    runner.until_done()
    assert_billed(followed.reading(), thread)


def test_openai_agents_with_stored_responses(chained: Provider) -> None:
    compactor = ullage.Compactor("gpt-5", wire="responses", window=SMALL)
    model = OpenAIResponsesModel("gpt-5", openai_async_over(chained))
    agent = Agent("keeper", model=instrument(model, compactor=compactor))

    async def talk() -> None:
        before = None
        for text in QUESTIONS:
            done = await Runner.run(agent, text, previous_response_id=before)
            before = done.last_response_id

    asyncio.run(talk())
    assert_billed(compactor.reading(), chained)


def test_conversations_are_told_apart_by_what_they_continue(chained: Provider) -> None:
    made: list[ullage.Compactor] = []

    def make(_: str) -> ullage.Compactor:
        made.append(ullage.Compactor("gpt-5", wire="responses"))
        return made[-1]

    model = OpenAIResponsesModel("gpt-5", openai_async_over(chained))
    agent = Agent("keeper", model=instrument(model, compactor=make))

    async def talk() -> None:
        before: list[str | None] = [None, None]
        for step in range(3):
            for number in range(2):
                text = "Go on." if step else f"This is question {number} of the cellar."
                done = await Runner.run(agent, text, previous_response_id=before[number])
                before[number] = done.last_response_id

    asyncio.run(talk())
    assert [each.reading().spend.all.calls for each in made] == [3, 3]


def test_pydantic_ai_with_stored_responses(chained: Provider) -> None:
    compactor = ullage.Compactor("gpt-5", window=SMALL)
    model = PydanticModel(
        "gpt-5", provider=OpenAIProvider(openai_client=openai_async_over(chained))
    )
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    agent = PydanticAgent(
        model, model_settings=settings, capabilities=[Ullage(compactor=compactor)]
    )

    async def talk() -> None:
        history = None
        for text in QUESTIONS:
            done = await agent.run(text, message_history=history)
            history = done.all_messages()

    asyncio.run(talk())
    assert_billed(compactor.reading(), chained)


def test_langchain_with_stored_responses(chained: Provider) -> None:
    compactor = ullage.Compactor("gpt-5", wire="responses", window=SMALL)
    client = httpx2.Client(transport=transport(chained))
    model = ChatOpenAI(
        model="gpt-5",
        api_key=SecretStr("any"),
        use_previous_response_id=True,
        http_client=client,
        max_retries=0,
    )
    agent = create_agent(model, middleware=[UllageMiddleware(compactor=compactor)])
    history: list[Any] = []
    for text in QUESTIONS:
        asked = [*history, {"role": "user", "content": text}]
        history = agent.invoke({"messages": asked})["messages"]
    assert_billed(compactor.reading(), chained)
