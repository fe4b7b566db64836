import asyncio
import socket
import urllib.request

import pytest

from tests.everywhere import NetworkUsed


def test_a_name_is_not_looked_up(network_attempts: list[str]) -> None:
    with pytest.raises(NetworkUsed, match=r"example\.com"):
        urllib.request.urlopen("https://example.com")


def test_an_address_is_not_reached(network_attempts: list[str]) -> None:
    with socket.socket() as client, pytest.raises(NetworkUsed):
        client.connect(("192.0.2.1", 80))
    assert network_attempts == ["connect(('192.0.2.1', 80))"]


def test_nothing_is_sent_without_a_connection_either(network_attempts: list[str]) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as client, pytest.raises(NetworkUsed):
        client.sendto(b"x", ("192.0.2.1", 53))


def test_an_async_client_is_held_too(network_attempts: list[str]) -> None:
    async def connect() -> None:
        await asyncio.open_connection("192.0.2.1", 80)

    with pytest.raises(NetworkUsed):
        asyncio.run(connect())


def test_loopback_works() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        client.sendall(b"x")
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1) == b"x"
