"""Sessions in Redis or Valkey: a store of your own in some ninety lines.

    pip install redis
    python examples/redis_store.py redis://localhost:6379      # tries it with ullage.testing.check_store

Each session has a hash of values, with its version, and a list of rows. A script does a write as a whole. Redis keeps
what it has acknowledged through a crash only with `appendonly yes` and `appendfsync always`:
https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/

``wait`` is the inherited one, which looks ten times a second. Redis can publish changes, but a ``wait`` over its
``pubsub`` must end when it is cancelled, and redis-py 8.1 swallows a cancel at times.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from redis.asyncio import Redis

import ullage
from ullage.testing import check_store

WRITE = """
local rows, values, ids = unpack(KEYS)
local session, version, added = ARGV[1], ARGV[2], tonumber(ARGV[3])
if (redis.call('HGET', values, ':version') or '0') ~= version then return 0 end
for at = 4, 3 + added do redis.call('RPUSH', rows, ARGV[at]) end
for at = 4 + added, #ARGV, 3 do
    if ARGV[at + 1] == '1' then redis.call('HSET', values, ARGV[at], ARGV[at + 2])
    else redis.call('HDEL', values, ARGV[at]) end
end
redis.call('HINCRBY', values, ':version', 1)
redis.call('ZADD', ids, 0, session)
return 1
"""

DELETE = """
local rows, values, ids = unpack(KEYS)
if redis.call('HGET', values, ':version') ~= ARGV[2] then return 0 end
redis.call('DEL', rows, values)
redis.call('ZREM', ids, ARGV[1])
return 1
"""


class RedisStore(ullage.Store):
    """Keeps sessions in the Redis at ``url``, under keys that begin with ``ullage:``."""

    def __init__(self, url: str) -> None:
        self._url = url
        # A connection belongs to an event loop, and `run_sync` has one of its own.
        self._clients = WeakKeyDictionary[asyncio.AbstractEventLoop, Redis]()

    def __repr__(self) -> str:
        return f"RedisStore({self._url.rpartition('@')[2]!r})"

    @property
    def _redis(self) -> Any:
        loop = asyncio.get_running_loop()
        return self._clients.setdefault(loop, Redis.from_url(self._url))

    def _keys(self, session: str) -> list[str]:
        names = (f"rows:{session}", f"values:{session}", "ids")
        return [f"ullage:{name}" for name in names]

    async def read_values(
        self, session: str, names: Sequence[str]
    ) -> tuple[int, Mapping[str, bytes]]:
        asked = [":version", *names]
        version, *values = await self._redis.hmget(self._keys(session)[1], asked)
        found = zip(names, values, strict=True)
        return int(version or 0), {n: value for n, value in found if value is not None}

    async def read_rows(self, session: str, *, after: int, limit: int) -> list[bytes]:
        rows = self._keys(session)[0]
        return list(await self._redis.lrange(rows, after, after + limit - 1))

    async def write(
        self,
        session: str,
        version: int,
        rows: Sequence[bytes],
        values: Mapping[str, bytes | None],
    ) -> bool:
        sets: list[str | bytes] = []
        for name, value in values.items():
            sets += [name, "0" if value is None else "1", value or b""]
        said = [session, str(version), str(len(rows)), *rows, *sets]
        return bool(await self._redis.eval(WRITE, 3, *self._keys(session), *said))

    async def delete(self, session: str, version: int) -> bool:
        keys = self._keys(session)
        return bool(await self._redis.eval(DELETE, 3, *keys, session, str(version)))

    async def sessions(self, *, after: str, limit: int) -> list[tuple[str, bytes]]:
        first = f"({after}" if after else "-"
        ids = self._keys("")[2]
        found = await self._redis.zrangebylex(ids, first, "+", start=0, num=limit)
        names = [name.decode() for name in found]
        async with self._redis.pipeline(transaction=False) as asked:
            for name in names:
                asked.hget(self._keys(name)[1], "about")
            abouts = await asked.execute()
        return [(name, about or b"") for name, about in zip(names, abouts, strict=True)]

    async def close(self) -> None:
        if (mine := self._clients.pop(asyncio.get_running_loop(), None)) is not None:
            await mine.aclose()


if __name__ == "__main__":
    asyncio.run(check_store(lambda: RedisStore(sys.argv[1])))
    print(f"{RedisStore(sys.argv[1])} keeps all promises of ullage.Store.")
