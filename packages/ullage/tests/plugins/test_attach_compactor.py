"""The real SDKs with a Compactor attached, on a window of 9,000 tokens: nothing is refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import ullage
from tests.compactor.own_loop import ASKS, SUMMARY
from tests.context.sessions import words
from tests.plugins.sdk_users import (
    CLAUDE,
    GEMINI,
    GPT,
    USERS,
    SdkUser,
    chat,
    converse,
    openai_client,
)
from ullage.errors import Overflow
from ullage.plugins.attach import attach
from ullage_simulators import Scenario, Server, running
from ullage_simulators.scenario import read

WINDOW = 9_000
SAID = tuple(f"Cask {n}: {words(700)}" for n in range(14))


def small(**more: Any) -> Scenario:
    """The models of the users, with a small window."""
    models = [
        {"name": name, "like": name, "window": WINDOW, "max_output": 4_000}
        for name in (GPT, CLAUDE, GEMINI)
    ]
    answers = [
        {"when": {"contains": ASKS}, "text": SUMMARY},
        {"text": "It is as it should be, I think."},
    ]
    return read({"models": models, "answers": answers, **more})


def summaries(server: Server) -> int:
    asked = [one for one in server.app.exchanges if ASKS in json.dumps(one.body)]
    return len(asked)


def talk(server: Server, user: SdkUser, compactor: ullage.Compactor) -> list[Any]:
    async def said() -> list[Any]:
        client = attach(user.client(server), compactor)
        return await converse(client, user.say, SAID)

    return asyncio.run(said())


@pytest.mark.parametrize("name", sorted(USERS))
def test_a_long_session_is_never_refused_and_counted_as_it_is_billed(name: str) -> None:
    user = USERS[name]
    with running(small(), seed=15) as server:
        compactor = ullage.Compactor(user.model, window=WINDOW)
        history = talk(server, user, compactor)
        statuses = [one.status for one in server.app.exchanges]
        assert statuses == [200] * len(statuses)
        assert compactor.compactions > 0
        assert summaries(server) > 0, "the client's own key and address are used"
        spent = compactor.reading().spend.all
        billed = server.truth().bills
        assert spent.input == sum(bill.input for bill in billed)
        assert spent.calls == len(billed)
        compactor.close()
    assert len(history) == 2 * len(SAID)


def test_the_compactor_is_told_the_wire_and_provider_of_the_address() -> None:
    with running(small()) as server:
        for name, wire in (("messages", "messages"), ("chat", "chat")):
            compactor = ullage.Compactor(window=WINDOW)
            client = attach(USERS[name].client(server), compactor)
            asyncio.run(converse(client, USERS[name].say, ("Hello.",)))
            assert compactor.meter.request().wire == wire
            compactor.close()


def test_the_functions_own_client_may_be_the_one_that_is_attached_to() -> None:
    with running(small(), seed=15) as server:
        client = openai_client(server)
        compactor = ullage.Compactor(
            GPT,
            window=WINDOW,
            summarise=lambda body: client.chat.completions.create(**body),
        )
        attach(client, compactor)
        asyncio.run(converse(client, chat, SAID))
        assert compactor.compactions > 0
        spend = compactor.reading().spend
        assert "other" not in spend.by_purpose
        assert spend.all.input == sum(bill.input for bill in server.truth().bills)
        compactor.close()


@pytest.mark.parametrize(
    "name", ["chat", "chat stream async", "messages stream", "gemini async", "responses"]
)
def test_an_overflow_is_compacted_and_sent_once_more(name: str) -> None:
    user = USERS[name]
    with running(small(), seed=15) as server:
        # The program believes in a window that the model does not have.
        compactor = ullage.Compactor(user.model, window=3 * WINDOW)
        history = talk(server, user, compactor)
        refused = [one for one in server.app.exchanges if one.status >= 400]
        assert refused
        assert compactor.compactions > 0
        compactor.close()
    assert len(history) == 2 * len(SAID), "the program has seen no error"


def test_what_can_not_fit_goes_out_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with running(small(), seed=15) as server:
        compactor = ullage.Compactor(GPT, window=WINDOW)
        client = attach(openai_client(server), compactor)
        rules = {"role": "system", "content": words(20_000)}
        asked: Any = [rules, {"role": "user", "content": "go on"}]
        with pytest.raises(Exception, match="context") as caught:
            client.chat.completions.create(model=GPT, messages=asked)
        assert type(caught.value).__name__ == "BadRequestError"
        assert not isinstance(caught.value, Overflow)
        compactor.close()
    assert "sent as it is" in caplog.text
