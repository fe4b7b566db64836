"""Connections of clients are bounded in number and in time, and those whose client has left are noticed."""

import asyncio
import resource
import socket
import time

import pytest

from tests.relay.relays import Reader, Writer, answer, post, read_message, upstream
from ullage.upstreams import parse_upstream
from ullage_proxy.relay import client_side, connections
from ullage_proxy.relay.client_side import ClientConnection
from ullage_proxy.relay.connections import ClientConnections, has_left, most_connections
from ullage_proxy.relay.metering import MeteringChild
from ullage_proxy.relay.passing import RelayState
from ullage_proxy.relay.taps import Taps


class KeptForTest:
    """A connection that notes what is done with it."""

    def __init__(self, waits_since: float | None, address: str = "") -> None:
        self.waits_since = waits_since
        self.address = address
        self.is_aborted = False

    def stop(self) -> None:
        self.is_aborted = True

    def abort(self) -> None:
        self.is_aborted = True

    def look_after(self) -> None:
        self.is_aborted = True


def test_the_connection_that_waits_longest_makes_room_for_a_new_one() -> None:
    kept = ClientConnections(3)
    busy = KeptForTest(None)
    newer = KeptForTest(7.0)
    longest = KeptForTest(3.0)
    for each in (busy, newer, longest, KeptForTest(None)):
        assert kept.add(each)
    assert longest.is_aborted
    assert not busy.is_aborted
    assert not newer.is_aborted
    assert len(kept) == 3


def test_where_all_wait_for_an_upstream_there_is_no_room() -> None:
    kept = ClientConnections(1)
    busy = KeptForTest(None)
    assert kept.add(busy)
    assert not kept.add(KeptForTest(1.0))
    assert not busy.is_aborted


def test_a_client_of_another_machine_has_at_most_half_of_the_connections() -> None:
    kept = ClientConnections(4)
    other = KeptForTest(1.0, "10.0.0.2")
    waiting = KeptForTest(2.0, "10.0.0.1")
    assert all(kept.add(each) for each in (other, waiting, KeptForTest(None, "10.0.0.1")))
    assert kept.add(KeptForTest(None, "10.0.0.1"))
    assert waiting.is_aborted
    assert not kept.add(KeptForTest(9.0, "10.0.0.1"))
    assert not other.is_aborted
    assert kept.add(KeptForTest(None))


@pytest.mark.parametrize(
    ("limits", "most"),
    [((256, 256), 96), ((20, 20), 1), ((100_000, 100_000), connections.MOST)],
)
def test_there_are_never_more_connections_than_open_files_allow(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    assert most_connections() == most


async def test_a_client_that_left_is_noticed_although_nothing_is_read() -> None:
    left, right = socket.socketpair()
    left.setblocking(False)
    transport, _ = await asyncio.get_running_loop().create_connection(
        asyncio.Protocol, sock=left
    )
    right.send(b"unread")
    transport.pause_reading()
    assert not has_left(transport)
    right.close()
    assert has_left(transport)
    transport.abort()


async def served(
    kept: ClientConnections, base: str = "http://127.0.0.1:9"
) -> asyncio.Server:
    """A relay without metering in this process."""
    taps = Taps("r")
    upstreams = [parse_upstream(f"a={base}")]
    state = RelayState(upstreams, taps, MeteringChild([], b"{}", taps))
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: ClientConnection(state, kept), "127.0.0.1", 0)


def pass_time(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let so much time pass at once for all that waits in the event loop."""
    loop = asyncio.get_running_loop()
    ahead_s = loop.time() - time.monotonic() + seconds
    monkeypatch.setattr(loop, "time", lambda: time.monotonic() + ahead_s)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /a/v1/messages HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /ullage/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=["nothing", "half a head", "a request that was answered"],
)
async def test_a_client_that_sends_no_whole_head_in_time_is_closed(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await served(ClientConnections())
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(sent)
    if sent.endswith(b"\r\n\r\n"):
        await read_message(reader)
    while not reader.at_eof() and reader.exception() is None:
        pass_time(monkeypatch, client_side.WAITS_AT_MOST_S)
        await asyncio.sleep(0.01)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    server.close()


async def test_a_head_that_comes_byte_by_byte_gets_no_more_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_side, "WAITS_AT_MOST_S", 0.3)
    server = await served(ClientConnections())
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    sent = 0
    while not reader.at_eof() and reader.exception() is None and sent < 1_000:
        writer.write(b"P")
        sent += 1
        await asyncio.sleep(0.02)
    assert sent < 1_000
    writer.close()
    server.close()


async def test_a_client_that_was_refused_may_go_on_sending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = ClientConnections()
    server = await served(kept)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(post("/x")[:-1])
    assert (await read_message(reader)).startswith(b"HTTP/1.1 404 ")
    pass_time(monkeypatch, 5)
    await asyncio.sleep(0.01)
    assert len(kept) == 1
    writer.close()
    server.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"Content-Length: 100000000\r\n\r\nsix by", b"Content-Length: 6\r\n\r\n"],
)
async def test_clients_that_announce_a_body_and_send_six_bytes_make_room_for_others(
    body: bytes,
) -> None:
    head = b"POST /a/v1/messages HTTP/1.1\r\nHost: localhost\r\n"

    async def never(reader: Reader, writer: Writer) -> None:
        await reader.read()

    async with upstream(never) as base:
        kept = ClientConnections(3)
        server = await served(kept, base)
        address = server.sockets[0].getsockname()
        flood = []
        for _ in range(20):
            flood.append(await asyncio.open_connection(*address))
            flood[-1][1].write(head + body)
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET /ullage/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answered = await read_message(reader)
            assert answered.startswith(b"HTTP/1.1 200 OK")
            writer.close()
        assert len(kept) <= 3
        for _, each in flood:
            each.close()
        server.close()


async def test_clients_that_do_not_read_their_answer_make_room_for_others() -> None:
    async def endless(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(bytes(100_000))
            await writer.drain()

    async with upstream(endless) as base:
        kept = ClientConnections(3)
        server = await served(kept, base)
        address = server.sockets[0].getsockname()
        flood = []
        for _ in range(3):
            flood.append(await asyncio.open_connection(*address, limit=1_000))
            flood[-1][1].write(b"GET /a/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while not all(
            isinstance(each, ClientConnection) and each._full_since for each in kept.all()
        ):
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection(*address)
        writer.write(b"GET /ullage/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await read_message(reader)).startswith(b"HTTP/1.1 200 OK")
        for each in (writer, *(writer for _, writer in flood)):
            each.close()
        server.close()


class FakeTransport(asyncio.Transport):
    """A client that reads all at once."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...


async def test_answers_of_the_relay_s_own_go_by_turns() -> None:
    taps = Taps("r")
    state = RelayState([], taps, MeteringChild([], b"{}", taps))
    connection = ClientConnection(state, ClientConnections())
    transport = FakeTransport()
    connection.connection_made(transport)
    one = b"GET /ullage/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection.data_received(one * 1_000)
    for turn in range(1, 30):
        await asyncio.sleep(0)
        assert len(transport.written) <= turn
    assert len(transport.written) > 10
    connection.pause_writing()
    await asyncio.sleep(0)
    count = len(transport.written)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(transport.written) == count, "the client does not read"
    connection.connection_lost(None)


@pytest.mark.parametrize("piece", [b"x", b"x" * 20_000], ids=["too slow", "quick enough"])
async def test_a_body_gets_as_much_time_as_its_pieces_are_worth(
    piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = asyncio.Semaphore(0)

    async def answers_whole_bodies(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(11):
            await reader.readexactly(len(piece))
            taken.release()
        writer.write(answer(b"whole"))

    async with upstream(answers_whole_bodies) as base:
        server = await served(ClientConnections(), base)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(post("/a/x", piece * 11)[: -10 * len(piece)])
        for _ in range(9):
            await taken.acquire()
            pass_time(monkeypatch, 1.0)
            writer.write(piece)
        await taken.acquire()
        pass_time(monkeypatch, 0.75 * client_side.BODY_S)
        await asyncio.sleep(0.01)
        writer.write(piece)
        came = await read_message(reader)
        if len(piece) == 1:
            assert came.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert b"did not come in time" in came
            assert b"\r\nconnection: close\r\n" in came
        else:
            assert came == answer(b"whole")
        writer.close()
        server.close()


async def test_an_upstream_that_takes_its_time_costs_its_client_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def slow(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        pass_time(monkeypatch, 3_600)
        await asyncio.sleep(0.1)
        writer.write(answer(b"fine"))

    async with upstream(slow) as base:
        server = await served(ClientConnections(), base)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(post("/a/x", b"whole"))
        assert await read_message(reader) == answer(b"fine")
        writer.close()
        server.close()


async def test_connections_above_the_limit_are_told_so_and_calls_that_run_go_on() -> None:
    may_go_on = asyncio.Event()
    has_come = asyncio.Event()

    async def slow(reader: Reader, writer: Writer) -> None:
        await read_message(reader)
        has_come.set()
        await may_go_on.wait()
        writer.write(answer(b"fine"))

    async with upstream(slow) as base:
        server = await served(ClientConnections(1), base)
        address = server.sockets[0].getsockname()
        reader, writer = await asyncio.open_connection(*address)
        writer.write(post("/a/x", b"1", "Connection: close"))
        await has_come.wait()
        other, other_writer = await asyncio.open_connection(*address)
        refusal = await other.read()
        assert refusal.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        may_go_on.set()
        assert await reader.read() == answer(b"fine")
        writer.close()
        other_writer.close()
        server.close()
