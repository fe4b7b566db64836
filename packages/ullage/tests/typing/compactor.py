"""A loop of one's own with a Compactor, and one with a Meter."""

from typing import Any

import anthropic
import openai
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

import ullage
from ullage.compaction import Insert, Keep, Replace
from ullage.events import CompactionCommitted, Event

client = openai.OpenAI(api_key="any")
asynchronous = anthropic.AsyncAnthropic(api_key="any")


def summarise(body: dict[str, Any]) -> ChatCompletion:
    answer: ChatCompletion = client.chat.completions.create(**body)
    return answer


async def summarise_later(body: dict[str, Any]) -> object:
    return await asynchronous.messages.create(**body)


def takes_a_number(body: int) -> str:
    return str(body)


def told(event: Event) -> None:
    if isinstance(event, CompactionCommitted):
        print(event.trigger.upper(), event.before.strange)  # type: ignore[attr-defined,union-attr]


compactor = ullage.Compactor(
    "gpt-4.1", wire="chat", window=9_000, summarise=summarise, on_event=told
)
other = ullage.Compactor(
    "claude-haiku-4-5", trigger=0.7, summarise=summarise_later, store="casks.db"
)
ullage.Compactor("gpt-4.1", summarise=takes_a_number)  # type: ignore[arg-type]
ullage.Compactor("gpt-4.1", windows=9_000)  # type: ignore[call-arg]
ullage.Compactor(window="9k")  # type: ignore[arg-type]

messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hello."}]
fitted: ullage.compaction.Fitted = compactor.fit_sync(
    {"model": "gpt-4.1", "messages": messages}
)
answer: ChatCompletion = client.chat.completions.create(**fitted.body)
reading: ullage.Reading = compactor.after(answer.usage, answer)
compactor.fit_sync(messages)  # type: ignore[arg-type]
fitted.bodies  # type: ignore[attr-defined]
fitted.body["model"] = "gpt-5"  # type: ignore[index]
compactor.after(answer.usage, answer, outcome="over")  # type: ignore[arg-type]

for item in fitted.plan:
    match item:
        case Keep(index):
            print(index + 1)
            index.upper()  # type: ignore[attr-defined]
        case Replace(index, body):
            print(index, body["role"])
        case Insert(body):
            print(body["role"])
            body.strange  # type: ignore[attr-defined]
sent: list[str] = fitted.applied(["one"], lambda made: str(made["content"]))
not_sent: list[int] = fitted.applied(["one"], lambda made: str(made["content"]))  # type: ignore[arg-type,list-item,return-value]


async def loop() -> None:
    async with other:
        fitted = await other.fit(
            {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": []}
        )
        try:
            said: anthropic.types.Message = await asynchronous.messages.create(
                **fitted.body
            )
        except anthropic.BadRequestError as problem:
            recovered = await other.recover(problem)
            recovered.body  # type: ignore[union-attr]
            if recovered is None:
                other.after(None, outcome="failed")
                raise
            print(recovered.reading.used.tokens)
            return
        print(other.after(said.usage, said).spend.money.usd + 1)
        fitted.changed.strange  # type: ignore[attr-defined]


meter = ullage.Meter("gpt-4.1", wire="chat")
before = meter.before({"model": "gpt-4.1", "messages": messages}, purpose="main")
if before.should_compact():
    print(before.used.low, before.used.high, before.window.tokens)
after = meter.after(before.call, answer.usage, answer)
for row in after.rows:
    print(row.name.upper(), row.tokens)
meter.before(messages)  # type: ignore[arg-type]
meter.after(answer.usage)  # type: ignore[arg-type,call-arg]
meter.before({"messages": []}, purpose="step")  # type: ignore[arg-type]
limit: int = before.window.tokens  # type: ignore[assignment]
