"""Upstreams over TLS, directly and through the user's proxy; and what is said when one can't be reached."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.relay.relays import Reader, Writer, answer, post, read_message, relay

CERTIFICATE = Path(__file__).with_name("fixtures") / "localhost.pem"
"""Made by hand for localhost and upstream.example, with its key; valid until 2126."""

TRUSTED = {"SSL_CERT_FILE": str(CERTIFICATE), "NO_PROXY": "", "HTTPS_PROXY": ""}
REQUEST = post("/a/v1/messages", b"{}", "Connection: close")


class TlsUpstream:
    """Answers over TLS, and notes the name and the protocol that it was asked for."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.protocols: list[str | None] = []
        self.port = 0

    async def handle(self, reader: Reader, writer: Writer) -> None:
        connection = writer.get_extra_info("ssl_object")
        self.protocols.append(connection.selected_alpn_protocol())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await read_message(reader)
                writer.write(answer(b"fine over TLS"))
        writer.close()

    def _named(
        self, connection: ssl.SSLObject, name: str, context: ssl.SSLContext
    ) -> None:
        self.names.append(name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.sni_callback = self._named
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()


class ConnectProxy:
    """A proxy that connects everything to one port, or refuses."""

    def __init__(
        self, target: int, reply: bytes = b"HTTP/1.1 200 Connected\r\n\r\n"
    ) -> None:
        self.target = target
        self.reply = reply
        self.heads: list[bytes] = []

    async def handle(self, reader: Reader, writer: Writer) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.reply)
            onward_reader, onward = await asyncio.open_connection(
                "127.0.0.1", self.target
            )
            await asyncio.gather(pump(reader, onward), pump(onward_reader, writer))
        writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
        try:
            yield f"http://user:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()


async def pump(reader: Reader, writer: Writer) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
    writer.close()


def message_of(raw: bytes) -> str:
    assert raw.startswith(b"HTTP/1.1 502 ")
    found: str = json.loads(raw.partition(b"\r\n\r\n")[2])["error"]["message"]
    return found


async def test_an_upstream_over_tls_is_asked_by_its_name_for_http_1() -> None:
    source = TlsUpstream()
    async with source.running():
        address = f"a=https://localhost:{source.port}"
        async with relay(address, environment=TRUSTED) as running:
            assert await running.ask(REQUEST) == answer(b"fine over TLS")
    assert source.names == ["localhost"]
    assert source.protocols == ["http/1.1"]


async def test_a_certificate_that_is_not_trusted_is_said_with_what_to_do() -> None:
    source = TlsUpstream()
    async with source.running():
        address = f"a=https://localhost:{source.port}"
        environment = {**TRUSTED, "SSL_CERT_FILE": "/dev/null"}
        async with relay(address, environment=environment) as running:
            message = message_of(await running.ask(REQUEST))
    assert "is not trusted here: self-signed certificate." in message
    assert "SSL_CERT_FILE" in message


async def test_https_goes_through_the_users_proxy_by_connect() -> None:
    source = TlsUpstream()
    async with source.running():
        proxy = ConnectProxy(source.port)
        async with proxy.running() as address:
            environment = {**TRUSTED, "HTTPS_PROXY": address}
            async with relay(
                "a=https://upstream.example", environment=environment
            ) as running:
                reader, writer = await running.connect()
                for _ in range(2):
                    writer.write(post("/a/v1/messages", b"x" * 400_000))
                    assert await read_message(reader) == answer(b"fine over TLS")
                writer.close()
    (head,) = proxy.heads
    assert head.startswith(b"CONNECT upstream.example:443 HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n" in head
    assert source.names == ["upstream.example"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "407 Proxy Auth"),
        (b"SSH-2.0-x\r\n\r\n", "SSH-2.0-x"),
        (b"HTTP/1.1 200 OK\r\n\r\nand more", "more than its answer"),
        (b"x" * 70_000, "refused"),
    ],
)
async def test_a_proxy_that_refuses_is_said(reply: bytes, problem: str) -> None:
    async with ConnectProxy(9, reply).running() as address:
        environment = {**TRUSTED, "HTTPS_PROXY": address}
        async with relay(
            "a=https://upstream.example", environment=environment
        ) as running:
            message = message_of(await running.ask(REQUEST))
    assert problem in message
    assert "HTTPS_PROXY" in message
    assert "p%40ss" not in message


async def test_a_proxy_that_closes_the_connection_is_said() -> None:
    async def close(reader: Reader, writer: Writer) -> None:
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    environment = {**TRUSTED, "HTTPS_PROXY": f"http://127.0.0.1:{port}"}
    async with (
        server,
        relay("a=https://upstream.example", environment=environment) as running,
    ):
        assert "closed the connection" in message_of(await running.ask(REQUEST))


async def test_an_upstream_that_speaks_no_tls_is_said() -> None:
    async def plain(reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        relay(f"a=https://localhost:{port}", environment=TRUSTED) as running,
    ):
        message = message_of(await running.ask(REQUEST))
    assert f"https://localhost:{port} can't be reached" in message
