"""Whether a store keeps what ``ullage.Store`` promises, and whether agents can live on it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Final, cast

from ullage.display.text import counted
from ullage.errors import UllageError, WrongType
from ullage.events import MessageAdded
from ullage.messages import Request
from ullage.store.adapter import StoreAdapter
from ullage.store.protocol import ABOUT, METHODS, Store
from ullage.tasks import start
from ullage_agent.runtime.agent import Agent
from ullage_agent.testing.answers import tool_call
from ullage_agent.testing.models import FunctionModel
from ullage_agent.testing.policy import (
    LARGE_BYTES,
    LONGEST_S,
    WOKEN_S,
    WRITERS,
    WRITES,
)

EVERY_BYTE: Final = bytes(range(256)) + "é\0\ud800".encode("utf-8", "surrogatepass")

IDS: Final = (
    "é",
    "e\u0301",
    "A",
    "a",
    "a*",
    "a?[b]",
    "a/b",
    "a:b",
    "a'\"\\;--",
    "😀",
    " b ",
)
"""Ends of ids that a database may take for the same, or for a pattern."""


class _Bench:
    """Stores and ids for one check."""

    def __init__(self, make_store: Callable[[], Store]) -> None:
        self._make = make_store
        self._opened: list[Store] = []
        self.prefix = f"check-{secrets.token_hex(4)}-"
        self._numbers = count(1)
        self._ids: list[str] = []

    def store(self) -> Store:
        """Another store of the same database."""
        self._opened.append(self._make())
        return self._opened[-1]

    def new(self) -> tuple[Store, str]:
        """Another store, and the id of a session that there is not yet."""
        return self.store(), self.new_id()

    def new_id(self, end: str = "") -> str:
        """The id of a session that there is not yet."""
        self._ids.append(f"{self.prefix}{next(self._numbers):03}{end}")
        return self._ids[-1]

    async def end(self) -> None:
        """Leave the database as it was."""
        store = self.store()
        for session in self._ids:
            version, _ = await store.read_values(session, ())
            if version:
                await store.delete(session, version)
        for opened in self._opened:
            await opened.close()


def _expect(holds: object, words: str) -> None:
    if not holds:
        raise AssertionError(words)


async def _all_rows(store: Store, session: str) -> list[bytes]:
    return list(await store.read_rows(session, after=0, limit=100_000))


async def _unknown(bench: _Bench) -> None:
    """A session that is not there has version 0, no rows, and can't be written with another version."""
    store, session = bench.new()
    version, values = await store.read_values(session, ["a"])
    _expect(version == 0 and not values, f"read_values gave {version!r}, {values!r}")
    _expect(not await _all_rows(store, session), "read_rows gave rows of it")
    _expect(not await store.delete(session, 0), "delete said that it removed it")
    is_written = await store.write(session, 1, [b"x"], {})
    _expect(not is_written, "a write with version 1 was accepted")
    _expect(not await _all_rows(store, session), "a refused write left a row")


async def _written(bench: _Bench) -> None:
    """A write adds rows, sets and removes values, and makes the version one higher."""
    store, session = bench.new()
    _expect(
        await store.write(session, 0, [b"1"], {"a": b"A", "b": b"B"}), "it was refused"
    )
    _expect(await store.write(session, 1, [], {"a": None, "c": b"C"}), "it was refused")
    _expect(await store.write(session, 2, [b"2", b"3"], {}), "it was refused")
    version, values = await store.read_values(session, ["a", "b", "c", "d"])
    _expect(version == 3, f"after three writes its version is {version!r}")
    _expect(dict(values) == {"b": b"B", "c": b"C"}, f"its values are {dict(values)!r}")
    version, values = await store.read_values(session, ["b"])
    _expect(
        dict(values) == {"b": b"B"}, "read_values gave values that were not asked for"
    )
    found = await _all_rows(store, session)
    _expect(found == [b"1", b"2", b"3"], f"its rows are {found!r}")


async def _old_version(bench: _Bench) -> None:
    """A write or delete with another version than the present one is refused and changes nothing."""
    store, session = bench.new()
    for version in range(3):
        await store.write(session, version, [b"kept"], {"a": b"kept"})
    for version in (0, 1, 2, 4):
        is_written = await store.write(session, version, [b"late"], {"a": b"late"})
        _expect(
            not is_written, f"a write with version {version} was accepted at version 3"
        )
        is_deleted = await store.delete(session, version)
        _expect(
            not is_deleted, f"a delete with version {version} was accepted at version 3"
        )
    version, values = await store.read_values(session, ["a"])
    rows = await _all_rows(store, session)
    is_same = (version, dict(values), rows) == (3, {"a": b"kept"}, [b"kept"] * 3)
    _expect(is_same, "a write that was refused has changed something")


async def _other_store(bench: _Bench) -> None:
    """What a write has accepted, other stores read at once, also where the first one dies before it is closed."""
    first, session = bench.new()
    for version in range(5):
        data = b"%d" % version
        await first.write(session, version, [data], {"a": data})
        other = bench.store()
        found, values = await other.read_values(session, ["a"])
        _expect(
            found == version + 1,
            f"another one sees version {found!r}. make_store must give stores of the same database each time; for one "
            "in memory give the same object: check_store(lambda: memory)",
        )
        rows = await _all_rows(other, session)
        is_there = rows[-1:] == [data] == [values.get("a")]
        _expect(
            is_there,
            f"the last row or value is missing: {len(rows)} of {version + 1} rows",
        )


async def _no_lost_update(bench: _Bench) -> None:
    """Of many writers at once none is lost: each write that was accepted counts, with all of its rows and values."""
    session = bench.new_id()
    accepted = 0

    async def write(store: Store, writer: int) -> None:
        nonlocal accepted
        left = WRITES
        while left:
            version, values = await store.read_values(session, ["n"])
            number = int(values.get("n", b"0"))
            await asyncio.sleep(0)
            rows = [f"{number} {each}".encode() for each in range(3)]
            if await store.write(session, version, rows, {"n": b"%d" % (number + 1)}):
                accepted += 1
                left -= 1

    stores = [bench.store(), bench.store()]
    await asyncio.gather(*(write(stores[each % 2], each) for each in range(WRITERS)))
    version, values = await stores[0].read_values(session, ["n"])
    _expect(
        int(values["n"]) == version == accepted,
        f"{accepted} writes were accepted, and the value counts {int(values['n'])} at version {version}: a lost update",
    )
    wanted = [f"{n} {each}".encode() for n in range(accepted) for each in range(3)]
    _expect(
        await _all_rows(stores[1], session) == wanted,
        "rows of two writes are mixed, missing, or there twice",
    )


async def _in_order(bench: _Bench) -> None:
    """Rows are read in the order of writing, from any place on and as many as wanted."""
    store, session = bench.new()
    rows = [b"%d" % each for each in range(230)]
    for version in range(23):
        await store.write(session, version, rows[10 * version : 10 * version + 10], {})
    _expect(await _all_rows(store, session) == rows, "the order of the rows has changed")
    for after, limit in ((0, 1), (7, 5), (99, 3), (225, 100), (230, 5), (999, 5)):
        found = list(await store.read_rows(session, after=after, limit=limit))
        wanted = rows[after : after + limit]
        _expect(
            found == wanted, f"read_rows(after={after}, limit={limit}): {found!r:.200}"
        )


async def _exact_bytes(bench: _Bench) -> None:
    """Rows and values come back byte for byte: empty, large, and with bytes that are no text."""
    store, session = bench.new()
    large = secrets.token_bytes(LARGE_BYTES)
    for version, data in enumerate((b"", EVERY_BYTE, b"\r\n \n", large)):
        await store.write(session, version, [data], {"a": data})
        _, values = await store.read_values(session, ["a"])
        rows = await store.read_rows(session, after=version, limit=1)
        shown = f"{len(data)} bytes {data[:20]!r}"
        _expect(values.get("a") == data, f"a value of {shown} came back as another one")
        _expect(list(rows) == [data], f"a row of {shown} came back as another one")


async def _ids(bench: _Bench) -> None:
    """Every id is a session of its own, and every name a value, whatever characters it has."""
    store = bench.store()
    first = bench.new_id()
    ids = [first + end for end in ("", *IDS, "x" * (1_000 - len(first)))]
    bench._ids += ids
    names = {f"message/{end}": end.encode() for end in IDS}
    for each in ids:
        written = {ABOUT: each.encode(), **names}
        is_new = await store.write(each, 0, [each.encode()], written)
        _expect(is_new, f"the id {each!r:.80} is taken for that of another session")
    for each in ids:
        found = await _all_rows(store, each)
        _expect(found == [each.encode()], f"the id {each!r:.80} has rows {found!r:.80}")
        _, values = await store.read_values(each, list(names))
        _expect(
            dict(values) == names, f"values of other names came back: {values!r:.300}"
        )
    listed = dict(await _listed(store, 5))
    for each in ids:
        _expect(each in listed, f"the id {each!r:.80} is not listed as it was written")


async def _listed(store: Store, limit: int) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    after, is_more = "", True
    while is_more:
        page = await store.sessions(after=after, limit=limit)
        _expect(len(page) <= limit, f"a page of {limit} holds {len(page)}")
        found += page
        is_more = len(page) == limit
        _expect(not is_more or page[-1][0] != after, "the list does not get on")
        after = page[-1][0] if page else ""
    return found


async def _pages(bench: _Bench) -> None:
    """The pages of the list hold each session once, with its value ``about``."""
    store = bench.store()
    ids = [bench.new_id() for _ in range(17)]
    for each in ids:
        await store.write(each, 0, [], {ABOUT: each.encode(), "other": b"x"})
    await store.delete(ids[3], 1)
    await store.write(ids[4], 1, [], {ABOUT: b"changed"})
    found = [row for row in await _listed(store, 4) if row[0].startswith(bench.prefix)]
    wanted = {each: each.encode() for each in ids if each != ids[3]}
    wanted[ids[4]] = b"changed"
    _expect(len(found) == len(dict(found)), "a session is on two pages")
    lacking = wanted.keys() - dict(found).keys()
    _expect(not lacking, f"these sessions are on no page: {sorted(lacking)}")
    _expect(ids[3] not in dict(found), "a deleted session is still listed")
    _expect(dict(found) == wanted, "a session is listed with another value than `about`")


async def _deleted(bench: _Bench) -> None:
    """A deleted session leaves nothing, and one of the same id begins anew."""
    store, session = bench.new()
    await store.write(session, 0, [b"old"] * 5, {"a": b"old"})
    _expect(await store.delete(session, 1), "the delete was refused")
    version, values = await store.read_values(session, ["a"])
    _expect(version == 0 and not values, "its values are still there")
    _expect(not await _all_rows(store, session), "its rows are still there")
    _expect(await store.write(session, 0, [b"new"], {}), "it can't begin again")
    found = await _all_rows(store, session), await store.read_values(session, ["a"])
    _expect(found == ([b"new"], (1, {})), "the new one has something of the old one")


async def _woken(bench: _Bench) -> None:
    """A wait ends soon after a write or delete of any store, at once where it is late, and at its timeout."""
    store, other, session = bench.store(), bench.store(), bench.new_id()
    await store.write(session, 0, [], {})
    changes: tuple[tuple[str, Callable[[], Awaitable[object]]], ...] = (
        ("a write of the same store", lambda: store.write(session, 1, [], {})),
        ("a write of another store", lambda: other.write(session, 2, [b"x"], {})),
        ("a delete", lambda: other.delete(session, 3)),
    )
    for version, (name, change) in enumerate(changes, 1):
        waiting = start(store.wait(session, version, LONGEST_S))
        await asyncio.sleep(0.05)
        await change()
        done, _ = await asyncio.wait([waiting], timeout=WOKEN_S)
        waiting.cancel()
        _expect(done, f"{name} does not end a wait within {WOKEN_S:.0f} s")
        await waiting
    for what, timeout_s in (("for an old version", LONGEST_S), ("of 0.2 s", 0.2)):
        version = 1 if timeout_s > 1 else 0
        begun = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(WOKEN_S + 1):
                await store.wait(session, version, timeout_s)
        took = time.monotonic() - begun
        _expect(took < WOKEN_S, f"a wait {what} did not end within {WOKEN_S:.0f} s")
    waiting = start(store.wait(session, 0, LONGEST_S))
    await asyncio.sleep(0.05)
    waiting.cancel()
    done, _ = await asyncio.wait([waiting], timeout=WOKEN_S)
    _expect(done, f"a wait that was cancelled did not end within {WOKEN_S:.0f} s")
    returns, end = 0, time.monotonic() + 0.5
    while (left := end - time.monotonic()) > 0:
        await store.wait(session, 0, left)
        returns += 1
    _expect(returns < 20, f"waits for nothing returned {returns} times in half a second")


async def _closed(bench: _Bench) -> None:
    """Closing twice is quiet, and other stores of the database go on."""
    store, other, session = bench.store(), bench.store(), bench.new_id()
    await store.write(session, 0, [b"row"], {})
    await store.close()
    await store.close()
    _expect(await _all_rows(other, session) == [b"row"], "a row is gone after the close")
    _expect(await other.write(session, 1, [], {}), "the other one can't write any more")


def _answer(request: Request) -> object:
    last = request.messages[-1]
    if last.role == "tool":
        return "Done."
    return tool_call("work") if last.text == "Work." else f"Heard: {last.text}"


def _agent(store: Store, work: Callable[[], str]) -> Agent[str, Any]:
    """An agent that calls the tool ``work`` if it is told to."""
    return Agent(
        FunctionModel(_answer),
        tools=[work],
        store=store,
        config=False,
        environment={},
        lease_ttl_s=1.0,
    )


def work() -> str:
    """Work."""
    return "worked"


async def _turn(bench: _Bench) -> None:
    """An agent has a turn with a tool, and another process finds all of it, to the byte."""
    session, text = bench.new_id(), "Hello \u2028 é 😀."
    agent = _agent(bench.store(), work)
    done = await agent.ask("Work.", session=session)
    _expect(done.text == "Done.", f"it answered {done.text!r}")
    heard = await agent.ask(text, session=session)
    _expect(heard.text == f"Heard: {text}", f"it answered {heard.text!r}")
    events = await StoreAdapter(bench.store()).read(session)
    numbers = [event.seq for event in events]
    _expect(numbers == list(range(1, len(events) + 1)), f"its events are {numbers!r}")
    answer = await _agent(bench.store(), work).ask("And now?", session=session)
    _expect(answer.text == "Heard: And now?", f"a second agent answered {answer.text!r}")


class _Killed:
    """A store whose process is killed once ``dies`` is set: nothing reaches the database any more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dies = False

    def __repr__(self) -> str:
        return "whose process check_store has killed"

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        return partial(self._asked, name)

    async def _asked(self, name: str, *values: Any, **options: Any) -> Any:
        if self.dies:
            raise ConnectionError("This process was killed.")
        return await getattr(self._store, name)(*values, **options)


async def _resumed(bench: _Bench) -> None:
    """What an agent has begun when its process dies, another one finishes, and nothing is lost or done twice."""
    session = bench.new_id()
    dying = _Killed(bench.store())
    runs: list[str] = []

    def work() -> str:
        """Work."""
        runs.append("work")
        dying.dies = True
        return "worked"

    with suppress(UllageError):
        await _agent(cast(Store, dying), work).ask("Work.", session=session)
    _expect(dying.dies, "the turn ended before its tool ran")
    async with _agent(bench.store(), work).session(session) as resumed:
        result = await resumed.wait()
    _expect(result.text == "Done.", f"the second agent ended with {result!r}")
    _expect(len(runs) == 1, "a tool that had begun was run a second time")
    events = await StoreAdapter(bench.store()).read(session)
    asked = [
        each
        for each in events
        if isinstance(each, MessageAdded) and each.message.text == "Work."
    ]
    _expect(len(asked) == 1, f"the question is there {len(asked)} times")


CHECKS: Final = (
    _unknown,
    _written,
    _old_version,
    _other_store,
    _no_lost_update,
    _in_order,
    _exact_bytes,
    _ids,
    _pages,
    _deleted,
    _woken,
    _closed,
    _turn,
    _resumed,
)
"""Each says in its docstring what must hold."""


async def check_store(make_store: Callable[[], Store]) -> None:
    """Try all that ``ullage.Store`` promises with stores of your own, and then whole agents over them.

    It works in sessions of its own and deletes them, so the database may be in use; it takes some seconds. In a test
    that is not async: ``asyncio.run(check_store(make_store))``.

    Args:
        make_store: Gives another store of the same database each time, as another process would open it.

    Raises:
        AssertionError: With a line for each promise that is broken, and what was seen.
        WrongType: ``make_store`` is no function.
    """
    if not callable(make_store):
        raise WrongType(
            "check_store takes a function that opens a store, as in check_store(lambda: store)."
        )
    broken: list[str] = []
    for check in CHECKS:
        bench = _Bench(make_store)
        try:
            async with asyncio.timeout(LONGEST_S):
                await check(bench)
                await bench.end()
        except AssertionError as problem:
            broken.append(f"{check.__doc__}\n    But {problem}.")
        except TimeoutError:
            broken.append(
                f"{check.__doc__}\n    But it did not end within {LONGEST_S:.0f} s."
            )
        except Exception as problem:  # noqa: BLE001 - whatever a store raises is told
            broken.append(
                f"{check.__doc__}\n    But it raised {type(problem).__name__}: {problem}"
            )
    if broken:
        lines = "\n- ".join(broken)
        raise AssertionError(
            f"The store breaks {counted(len(broken), 'promise')} of {len(CHECKS)}:\n- {lines}"
        )
