"""From every extreme a usable next request is reached without anybody's doing, in a bounded number of calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compaction.stage import (
    ANTHROPIC,
    CHAT,
    DEEPSEEK,
    DIALECTS,
    FIVE,
    GEMINI,
    IS_THOROUGH,
    KEYS,
    LLAMACPP,
    OPENROUTER,
    RESPONSES,
    SESSION,
    VLLM,
    Dialect,
    agent_on,
    answered,
    called,
    gave,
    generated,
    heard,
    imported,
    is_accepted,
    is_summary_call,
    refused,
    said,
    scene,
    script,
    turns,
)
from tests.context.sessions import words
from ullage.compactor.summary_calls import SUMMARY_TRIES
from ullage.context.policy import MOST_PIECES
from ullage.errors import ContextUnfixable
from ullage.events import MessageAdded, SessionStarted
from ullage.messages import ImagePart, Message, Part
from ullage.store.sqlite.store import SqliteStore
from ullage_agent.loop.decide import MOST_RECOVERIES
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.outcome import Result
from ullage_simulators import Server, running

WINDOW = 16_000
MOST_CALLS = 1 + MOST_PIECES
"""Model calls of one compaction: on top of the request, or in pieces."""

ASK = "What about cask 7 now?"
LEAKS = "the bung of cask nine leaks a little\n"


class Extreme(NamedTuple):
    """A history that is too long, and the request that comes after it."""

    messages: Callable[[], list[Message]]
    ask: str = ASK
    pins: tuple[str, ...] = ()
    window: int = WINDOW


def endless() -> list[Message]:
    """One turn of 400 steps that is not over."""
    steps = [(called(f"a{n}"), gave(f"r{n}", f"a{n}", words(100, n))) for n in range(400)]
    return [
        said("u", "Look at all casks, one after the other."),
        *(message for step in steps for message in step),
    ]


EXTREMES: Mapping[str, Extreme] = {
    "ten times the window": Extreme(lambda: turns(600)),
    "5M characters in the newest request": Extreme(lambda: turns(2), ask=LEAKS * 135_136),
    "5M characters in an older request": Extreme(
        lambda: [said("u", LEAKS * 135_136), answered("b", "I see."), *turns(2)]
    ),
    "5M characters in an answer": Extreme(
        lambda: [said("u", "Go on."), answered("b", LEAKS * 135_136), *turns(2)]
    ),
    "5M characters without a space": Extreme(
        lambda: [said("u", "x" * 5_000_000), answered("b", "I see."), *turns(2)]
    ),
    "3M characters in a result": Extreme(
        lambda: [said("u", "Look."), called("a"), gave("r", "a", LEAKS * 81_082)]
    ),
    "200 pinned messages": Extreme(
        lambda: turns(600),
        pins=tuple(f"{kind}{n}" for n in range(0, 200, 2) for kind in "ub"),
        window=32_000,
    ),
    "an endless turn": Extreme(endless),
    "a notice of the program alone": Extreme(
        lambda: [answered(f"b{n}", words(200, n)) for n in range(200)]
    ),
}


def rotated(names: Mapping[str, Any], dialects: tuple[Dialect, ...]) -> list[Any]:
    """All pairs in the thorough profile; else each name with one dialect, as many of them as there are names."""
    pairs = []
    for place, name in enumerate(names):
        chosen = dialects if IS_THOROUGH else [dialects[place % len(dialects)]]
        pairs += [
            pytest.param(name, dialect, id=f"{name}, {dialect.name}")
            for dialect in chosen
        ]
    return pairs


def some(dialects: tuple[Dialect, ...], count: int) -> tuple[Dialect, ...]:
    """All in the thorough profile, else so many."""
    return dialects if IS_THOROUGH else dialects[:count]


async def after(
    path: Path, server: Server, dialect: Dialect, extreme: Extreme, **settings: Any
) -> Result:
    """Import the history, say the request, and wait for the end of the turn."""
    store = path / "sessions.db"
    await imported(store, extreme.messages(), pins=extreme.pins)
    settings = {"window": extreme.window, "tries": 1, **settings}
    async with agent_on(server, store, dialect, **settings).session(SESSION) as session:
        await session.send(extreme.ask, id="newest")
        return await session.wait(check=False)


def assert_usable(
    server: Server, result: Result, extreme: Extreme, *, calls: int, refusals: int = 0
) -> None:
    """The next request was accepted and answered, and no more than so many calls were made before it."""
    arrived = generated(server)
    assert result.reason == "finished", (result, refused(server))
    assert is_accepted(arrived[-1]) and not is_summary_call(arrived[-1])
    assert extreme.ask[:30] in heard(arrived[-1]), (
        "the newest request is not in the next call"
    )
    assert len(refused(server)) <= refusals, refused(server)
    assert len(arrived) <= 1 + calls, f"{len(arrived)} calls"


@pytest.mark.parametrize(("name", "dialect"), rotated(EXTREMES, DIALECTS))
async def test_a_usable_request_is_reached_and_no_request_is_refused(
    name: str, dialect: Dialect, tmp_path: Path
) -> None:
    extreme = EXTREMES[name]
    with running(script(dialect, window=extreme.window)) as server:
        result = await after(tmp_path, server, dialect, extreme)
        assert_usable(server, result, extreme, calls=MOST_CALLS)
        assert result.reading.used.high <= (result.reading.input_limit or 0)


@pytest.mark.parametrize("dialect", some(FIVE, 2), ids=lambda dialect: dialect.name)
async def test_summary_calls_that_fail_end_below_in_a_way_without_a_model(
    dialect: Dialect, tmp_path: Path
) -> None:
    """The first requests that come are those of the summary: each is refused as an overloaded server does."""
    extreme = Extreme(lambda: turns(150))
    faults = [
        {"kind": "status", "status": 500, "request": number + 1}
        for number in range(SUMMARY_TRIES)
    ]
    with running(script(dialect, faults=faults)) as server:
        result = await after(tmp_path, server, dialect, extreme)
        assert_usable(server, result, extreme, calls=SUMMARY_TRIES * MOST_CALLS)


@pytest.mark.parametrize("kind", ["no-usage", "zero-usage"])
@pytest.mark.parametrize("dialect", some(FIVE, 2), ids=lambda dialect: dialect.name)
async def test_without_usage_twenty_turns_stay_inside(
    kind: str, dialect: Dialect, tmp_path: Path
) -> None:
    """Nothing is ever reported, so that all is estimated: a request may be refused once, and is cured then."""
    with running(script(dialect, faults=[{"kind": kind}])) as server:
        store = tmp_path / "sessions.db"
        await imported(store, turns(60))
        async with agent_on(server, store, dialect, window=WINDOW, tries=1).session(
            SESSION
        ) as session:
            for number in range(20):
                await session.send(f"Cask {number}? {words(300, number)}")
                result = await session.wait(check=False)
                assert result.reason == "finished", result
        assert len(refused(server)) <= 1, refused(server)


async def pictured(store: Path, messages: int, each: int, size: int) -> None:
    """A session with so many messages of so many images of ``size`` pixels a side."""
    database = SqliteStore(store)
    await database.create(
        SESSION,
        [SessionStarted(model="elsewhere", wire="messages", provider="anthropic")],
    )
    data = png(size)
    source = f"kept:{await database.keep(SESSION, data)}"
    events: list[Message] = []
    for number in range(messages):
        pictures: tuple[Part, ...] = tuple(
            ImagePart(
                id=f"i{number}.{at}",
                mime="image/png",
                width=size,
                height=size,
                size_bytes=len(png(size)),
                source=source,
            )
            for at in range(each)
        )
        events += [
            Message(id=f"i{number}", role="user", parts=pictures),
            answered(f"b{number}", f"Picture {number}."),
        ]
    lease = await database.acquire(SESSION, "importer", ttl_s=600)
    await database.append(
        lease, [MessageAdded(message=message) for message in events], after=1
    )
    await database.release(lease)
    await database.close()


def png(side: int) -> bytes:
    """What begins like a picture of so many pixels a side."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + side.to_bytes(4) * 2 + b"\x08\x02\0\0\0"
    return head + b"\0" * (side * side // 16) + b"IEND"


@pytest.mark.parametrize(
    ("dialect", "most"),
    [(ANTHROPIC, 0), (VLLM, 10), (CHAT, 0), (GEMINI, 0)],
    ids=lambda each: getattr(each, "name", ""),
)
@pytest.mark.parametrize("each", [1, 500])
async def test_500_images_are_brought_down_to_what_the_provider_takes(
    dialect: Dialect, most: int, each: int, tmp_path: Path
) -> None:
    """100 are taken by Anthropic's simulator, ten by vLLM's; the others refuse what is too many tokens alone."""
    store = tmp_path / "sessions.db"
    await pictured(store, 500 // each, each, 200)
    with running(
        script(
            dialect,
            window=1_000_000 if dialect is GEMINI else 200_000,
            server={"max_images": most},
        )
    ) as server:
        agent = agent_on(server, store, dialect, window=200_000, tries=1)
        async with agent.session(SESSION) as session:
            await session.send(ASK)
            result = await session.wait(check=False)
        assert_usable(server, result, Extreme(list), calls=1 + MOST_CALLS, refusals=1)


async def test_500_images_in_one_request_are_cut_to_what_fits(tmp_path: Path) -> None:
    async with scene(tmp_path, ANTHROPIC, window=200_000, tries=1) as (server, session):
        await session.send(ASK, *[png(200)] * 500)
        result = await session.wait(check=False)
    assert_usable(server, result, Extreme(list), calls=1 + MOST_CALLS, refusals=1)
    assert heard(generated(server)[-1]).count('"type": "image"') == 100


async def test_a_large_image_among_many_is_cured_where_nothing_is_documented_of_the_model(
    tmp_path: Path,
) -> None:
    store = tmp_path / "sessions.db"
    await pictured(store, 30, 1, 200)
    with running(script(ANTHROPIC, window=200_000)) as server:
        async with agent_on(server, store, ANTHROPIC, window=200_000, tries=1).session(
            SESSION
        ) as session:
            await session.send(ASK, png(2_001))
            result = await session.wait(check=False)
        assert_usable(server, result, Extreme(list), calls=1 + MOST_CALLS, refusals=1)
        assert [rule for _, rule, _ in refused(server)] == ["image_too_large_among_many"]
        assert 1 <= heard(generated(server)[-1]).count('"type": "image"') <= 20


@pytest.mark.parametrize(
    ("other", "variable", "image"),
    [
        (GEMINI, "GOOGLE_GEMINI_BASE_URL", '"inlineData"'),
        (OPENROUTER, "OPENROUTER_BASE_URL", '"image_url": {'),
    ],
    ids=["another wire", "the same wire"],
)
async def test_what_was_met_of_one_model_is_not_held_against_another(
    other: Dialect, variable: str, image: str, tmp_path: Path
) -> None:
    """Four images are taken at first, any number afterwards; the one that takes four is not asked for more again."""
    few = script(VLLM, window=200_000, server={"max_images": 4})
    with running(few) as first, running(script(other, window=200_000)) as second:
        addresses = {
            "VLLM_BASE_URL": first.url(VLLM.serves),
            variable: second.url(other.serves),
        }
        environment = {**KEYS, **addresses, "ULLAGE_DATA": str(tmp_path / "data")}
        models = [f"{dialect.provider}:small" for dialect in (VLLM, other)]
        agent = Agent(
            models[0],
            window=200_000,
            tries=1,
            store=tmp_path / "s.db",
            environment=environment,
            config=False,
        )
        async with agent.session(SESSION) as session:
            await session.ask(ASK, *[png(100)] * 8)
            await session.set(model=models[1])
            await session.ask(ASK, *[png(100)] * 8)
            await session.set(model=models[0])
            result = await session.ask(ASK)
        assert_usable(first, result, Extreme(list), calls=3 + MOST_CALLS, refusals=1)
        assert [rule for _, rule, _ in refused(first)] == ["too_many_images"]
        assert not refused(second)
        assert heard(generated(second)[-1]).count(image) >= 8


@pytest.mark.parametrize("limit", [300_000, 60_000])
@pytest.mark.parametrize(
    "dialect", some((*FIVE, OPENROUTER), 3), ids=lambda dialect: dialect.name
)
async def test_a_body_over_the_byte_limit_gets_below_it(
    dialect: Dialect, limit: int, tmp_path: Path
) -> None:
    """Text that the window has room for. Each refusal halves what is sent, unless it says more."""
    extreme = Extreme(lambda: turns(250), window=1_000_000)
    with running(
        script(dialect, window=1_000_000, server={"max_body_bytes": limit})
    ) as server:
        result = await after(tmp_path, server, dialect, extreme)
        assert_usable(
            server,
            result,
            extreme,
            calls=MOST_RECOVERIES * (1 + MOST_CALLS),
            refusals=2 * MOST_RECOVERIES,
        )


async def test_images_over_the_byte_limit_leave_before_text(tmp_path: Path) -> None:
    store = tmp_path / "sessions.db"
    await pictured(store, 40, 1, 1_000)
    with running(
        script(ANTHROPIC, window=200_000, server={"max_body_bytes": 1_000_000})
    ) as server:
        async with agent_on(server, store, ANTHROPIC, window=200_000, tries=1).session(
            SESSION
        ) as session:
            await session.send(ASK)
            result = await session.wait(check=False)
        assert_usable(server, result, Extreme(list), calls=4, refusals=3)
        assert "Picture 0." in heard(generated(server)[-1])


@pytest.mark.parametrize("dialect", some(FIVE, 2), ids=lambda dialect: dialect.name)
async def test_a_switch_from_1m_to_32k_goes_on(dialect: Dialect, tmp_path: Path) -> None:
    tiny = dialect.model(32_000, 2_000, "tiny")
    store = tmp_path / "sessions.db"
    with running(script(dialect, window=1_000_000, models=[tiny])) as server:
        await imported(store, turns(400))
        models = {"small": {"window": 1_000_000}, "tiny": {"window": 32_000}}
        given = dialect.settings(server)
        agent = Agent(
            store=store, environment=KEYS, config=False, models=models, tries=1, **given
        )
        async with agent.session(SESSION) as session:
            found = (await session.ask("How many casks are there?")).reading.used.tokens
            assert found > 100_000
            await session.set(model=dialect.settings(server, "tiny")["model"])
            before = len(generated(server))
            await session.send(ASK)
            result = await session.wait(check=False)
        assert result.reading.window.tokens == 32_000
        assert_usable(server, result, Extreme(list), calls=before + MOST_CALLS)


@pytest.mark.parametrize(
    "dialect", [RESPONSES, LLAMACPP, ANTHROPIC], ids=lambda dialect: dialect.name
)
async def test_an_unknown_window_is_met_by_halving_or_learnt(
    dialect: Dialect, tmp_path: Path
) -> None:
    """Responses and llama.cpp name no numbers when they refuse; Anthropic names both."""
    extreme = EXTREMES["ten times the window"]
    with running(script(dialect)) as server:
        result = await after(tmp_path, server, dialect, extreme, window=None)
        most = MOST_RECOVERIES if dialect is not ANTHROPIC else 1
        assert_usable(
            server, result, extreme, calls=most * (1 + MOST_CALLS), refusals=2 * most
        )
        if dialect is ANTHROPIC:
            assert result.reading.window.tokens == WINDOW
        else:
            assert result.reading.window.tokens is None


@pytest.mark.parametrize(
    "dialect", [ANTHROPIC, DEEPSEEK], ids=lambda dialect: dialect.name
)
async def test_it_is_unfixable_only_where_what_must_stay_does_not_fit_and_the_error_names_it(
    dialect: Dialect, tmp_path: Path
) -> None:
    pins = tuple(f"u{n}" for n in range(300))
    with running(script(dialect)) as server:
        result = await after(
            tmp_path, server, dialect, Extreme(lambda: turns(400), pins=pins)
        )
        assert result.reason == "too_large"
        error = result.error
        assert isinstance(error, ContextUnfixable)
        assert error.needed > error.limit == result.reading.input_limit
        assert "(pinned)" in error.largest[0][0]
        assert not generated(server), "no call is made that can't help"


async def test_a_system_prompt_that_is_too_large_is_unfixable(tmp_path: Path) -> None:
    with running(script(ANTHROPIC)) as server:
        result = await after(
            tmp_path, server, ANTHROPIC, Extreme(lambda: turns(2)), system=words(20_000)
        )
        assert isinstance(result.error, ContextUnfixable)
        assert result.error.largest[0][0] == "system prompt and tools"
