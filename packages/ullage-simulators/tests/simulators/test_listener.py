"""The simulators' socket: what the HTTP server makes of it depends on what it says of itself."""

import socket

from ullage_simulators.server import listener


def test_the_socket_says_that_it_is_tcp() -> None:
    listening = listener()
    try:
        assert listening.proto == socket.IPPROTO_TCP
        assert listening.getsockname()[0] == "127.0.0.1"
    finally:
        listening.close()
