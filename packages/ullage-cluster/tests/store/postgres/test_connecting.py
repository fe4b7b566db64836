import socket
import ssl

import asyncpg
import pytest

from ullage_cluster.postgres.connecting import is_away


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (ConnectionRefusedError("refused"), True),
        (FileNotFoundError("no socket"), True),
        (TimeoutError(), True),
        (asyncpg.CannotConnectNowError("the database system is starting up"), True),
        (socket.gaierror("Name or service not known"), False),
        (ssl.SSLCertVerificationError("self-signed"), False),
        (ConnectionError("PostgreSQL server rejected SSL upgrade"), False),
        (asyncpg.InvalidPasswordError("no"), False),
        (asyncpg.InvalidCatalogNameError("no such database"), False),
    ],
)
def test_a_server_that_may_come_is_told_from_a_place_that_is_wrong(
    problem: Exception, expected: bool
) -> None:
    assert is_away(problem) is expected
