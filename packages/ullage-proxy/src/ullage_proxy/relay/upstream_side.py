"""The connection to an upstream: opened directly or through the user's proxy, and its bytes given to their owner."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
from typing import Final, Protocol

import h11

from ullage.upstreams import BadUpstream, HttpsProxy, Upstream, https_proxy
from ullage_proxy.relay.heads import HEAD_AT_MOST, problem_of

CONNECT_WITHIN_S: Final = 30.0


class CannotConnect(Exception):
    """No connection to the upstream. The message says why and what to do."""


class UpstreamOwner(Protocol):
    """Whose request the connection carries."""

    def upstream_came(self, data: bytes) -> None: ...

    def upstream_ended(self) -> None: ...

    def upstream_drained(self) -> None: ...


class UpstreamConnection(asyncio.Protocol):
    """One connection, which belongs to one client's connection and ends with it."""

    def __init__(self, owner: UpstreamOwner, upstream: Upstream) -> None:
        self._owner: UpstreamOwner | None = owner
        self._transport: asyncio.Transport | None = None
        self.upstream = upstream
        self.is_full = False
        self.is_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._owner is not None:
            self._owner.upstream_came(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_ended = True
        owner = self._owner
        self._owner = None
        if owner is not None:
            owner.upstream_ended()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self._owner is not None:
            self._owner.upstream_drained()

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def abandon(self) -> None:
        """Close at once. The owner hears nothing more."""
        self._owner = None
        if self._transport is not None:
            self._transport.abort()


class ProxyConnection(asyncio.Protocol):
    """The beginning of a connection through a proxy: until it has answered CONNECT."""

    def __init__(self) -> None:
        self._http = h11.Connection(h11.CLIENT, HEAD_AT_MOST)
        self.connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ask(self, proxy: HttpsProxy, upstream: Upstream) -> bytes:
        """What the proxy is sent."""
        host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
        target = f"{host}:{upstream.port}"
        headers = [("Host", target)]
        if proxy.authorization:
            token = base64.b64encode(proxy.authorization.encode()).decode()
            headers.append(("Proxy-Authorization", f"Basic {token}"))
        request = h11.Request(method="CONNECT", target=target, headers=headers)
        return self._http.send(request) + self._http.send(h11.EndOfMessage())

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        try:
            event = self._http.next_event()
        except h11.RemoteProtocolError as problem:
            self._fail(f"refused the connection ({problem_of(problem)})")
            return
        if not isinstance(event, h11.Response):
            return
        if event.status_code != 200:
            reason = event.reason.decode("ascii", "replace")[:100]
            self._fail(f"refused the connection ({event.status_code} {reason})")
        elif self._http.trailing_data[0]:
            self._fail("sent more than its answer")
        elif not self.connected.done():
            self.connected.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail("closed the connection")

    def _fail(self, what: str) -> None:
        if not self.connected.done():
            self.connected.set_exception(OSError(f"the proxy in HTTPS_PROXY {what}"))


class Connector:
    """Opens connections. The certificates are loaded with the first https upstream that is asked."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    async def connect(
        self, owner: UpstreamOwner, upstream: Upstream
    ) -> UpstreamConnection:
        """Raises ``CannotConnect``."""
        connection = UpstreamConnection(owner, upstream)
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                await self._open(connection)
        except TimeoutError as error:
            raise CannotConnect(
                f"{upstream.origin} did not answer within {CONNECT_WITHIN_S:.0f} s."
                " Check the network, then try again."
            ) from error
        except BadUpstream as error:
            raise CannotConnect(
                f"{error} Correct it and start the proxy again."
            ) from error
        except OSError as error:
            raise CannotConnect(_problem(upstream, error)) from error
        except asyncio.CancelledError:
            connection.abandon()
            raise
        return connection

    async def _open(self, connection: UpstreamConnection) -> None:
        upstream = connection.upstream
        loop = asyncio.get_running_loop()
        proxy = https_proxy(os.environ, upstream)
        if proxy is not None:
            await self._open_through(proxy, connection)
        else:
            await loop.create_connection(
                lambda: connection,
                upstream.host,
                upstream.port,
                ssl=self._tls() if upstream.is_tls else None,
                server_hostname=upstream.host if upstream.is_tls else None,
                happy_eyeballs_delay=0.25,
            )

    async def _open_through(
        self, proxy: HttpsProxy, connection: UpstreamConnection
    ) -> None:
        loop = asyncio.get_running_loop()
        upstream = connection.upstream
        transport, beginning = await loop.create_connection(
            ProxyConnection,
            proxy.host,
            proxy.port,
            ssl=self._tls() if proxy.is_tls else None,
        )
        try:
            transport.write(beginning.ask(proxy, upstream))
            await beginning.connected
            inner = await loop.start_tls(
                transport, connection, self._tls(), server_hostname=upstream.host
            )
        except BaseException:
            transport.abort()
            raise
        if inner is None:
            raise ConnectionResetError("the proxy closed the connection")
        connection.connection_made(inner)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context


def _problem(upstream: Upstream, error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {upstream.origin} is not trusted here: {error.verify_message}."
            " If a company's proxy replaces certificates, set SSL_CERT_FILE to its certificate and start again."
        )
    reason = error.strerror or str(error) or type(error).__name__
    return (
        f"{upstream.origin} can't be reached: {reason}."
        " Check the network and the address of the upstream, then try again."
    )
