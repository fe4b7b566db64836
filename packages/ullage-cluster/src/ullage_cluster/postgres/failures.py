"""Turns PostgreSQL's errors into messages that say what happened and what to do next."""

from __future__ import annotations

import ssl

import asyncpg

from ullage.errors import InputError, LedgerError, StoreUnavailable, UllageError
from ullage_cluster.postgres.connecting import lacks_tls


def failure(problem: BaseException, shown: str) -> UllageError:
    """Our error for one of PostgreSQL, of its driver or of the network. ``shown`` is the place without its password."""
    if isinstance(problem, UllageError):
        return problem
    match problem:
        case asyncpg.IntegrityConstraintViolationError():
            return LedgerError(
                f"The write contradicts the stored data ({problem}). Nothing was written."
            )
        case asyncpg.DataError():
            return InputError(
                f"PostgreSQL can't hold a value of what was sent, for example a text with a NUL ({problem}). "
                "Nothing was written. Correct the value, and try again."
            )
        case asyncpg.InvalidAuthorizationSpecificationError() if "no encryption" in str(
            problem
        ):
            return StoreUnavailable(
                f"{shown} takes this user from here only by TLS, if at all ({problem}). Add sslmode=require to the URL."
            )
        case asyncpg.InvalidAuthorizationSpecificationError():
            return StoreUnavailable(
                f"{shown} refused the user or the password ({problem}). Check the URL; a password may also be in "
                "PGPASSWORD or in ~/.pgpass."
            )
        case asyncpg.InvalidCatalogNameError():
            return StoreUnavailable(
                f"The database of {shown} does not exist ({problem}). Make it: createdb NAME."
            )
        case asyncpg.DiskFullError():
            return StoreUnavailable(
                f"The disk of {shown} is full: nothing more can be stored ({problem}). What was stored is unchanged. "
                "Make room there and try again."
            )
        case asyncpg.TooManyConnectionsError():
            return StoreUnavailable(
                f"{shown} takes no more connections ({problem}). Raise max_connections, or put a pooler in front."
            )
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreUnavailable(
                f"{shown} can't be written ({problem}): it is a standby or read-only. Name the primary server."
            )
        case asyncpg.InsufficientPrivilegeError():
            return StoreUnavailable(
                f"The user of {shown} may not do this ({problem}). Grant it, or name the owner of the tables."
            )
        case (
            asyncpg.DuplicatePreparedStatementError()
            | asyncpg.InvalidSQLStatementNameError()
        ):
            return StoreUnavailable(
                f"Between this program and {shown} is a pooler in transaction mode ({problem}). Say where PostgreSQL "
                "itself is: add ?direct=HOST:PORT to the URL."
            )
        case asyncpg.UndefinedTableError() | asyncpg.UndefinedFunctionError():
            return StoreUnavailable(
                f"The tables of {shown} are not those that Ullage made ({problem}). Restore them from a backup, or "
                "name an empty database."
            )
        case asyncpg.LockNotAvailableError() | asyncpg.DeadlockDetectedError():
            return StoreUnavailable(
                f"Another program has kept rows of {shown} locked ({problem}). Nothing was written. Try again."
            )
        case asyncpg.PostgresSyntaxError() | asyncpg.ClientConfigurationError():
            return StoreUnavailable(
                f"{shown} can't be used as it is named ({problem}). Correct the URL."
            )
        case (
            asyncpg.CannotConnectNowError()
            | asyncpg.AdminShutdownError()
            | asyncpg.CrashShutdownError()
        ):
            return StoreUnavailable(
                f"{shown} takes no connections at the moment ({problem}). Wait until the server has started, "
                "and try again."
            )
        case ssl.SSLCertVerificationError():
            return StoreUnavailable(
                f"The certificate of {shown} is not trusted ({problem.verify_message}). Name the file of the authority "
                "that issued it: add sslrootcert=FILE to the URL."
            )
        case ConnectionError() if lacks_tls(problem):
            return StoreUnavailable(
                f"{shown} offers no TLS, and sslmode in the URL asks for it. Turn on ssl in postgresql.conf, or write "
                "sslmode=prefer on a network that you trust."
            )
        case TimeoutError():
            return StoreUnavailable(
                f"{shown} did not answer in time. Check the server and the network, and try again."
            )
        case (
            OSError()
            | asyncpg.InterfaceError()
            | asyncpg.InternalClientError()
            | asyncpg.PostgresConnectionError()
        ):
            return unreachable(problem, shown)
    return StoreUnavailable(
        f"{shown} failed ({problem}). Nothing was written. Look at its log, and try again."
    )


def unreachable(problem: BaseException, shown: str) -> StoreUnavailable:
    """The error of a server that can't be reached, or that ended."""
    return StoreUnavailable(
        f"{shown} can't be reached ({problem}). Start PostgreSQL, or check host and port in the URL."
    )


def unknown_outcome(shown: str) -> StoreUnavailable:
    """The error of a write whose connection was lost while it was committed, of a server that did not come back."""
    return StoreUnavailable(
        f"The connection to {shown} was lost while it stored a write, and the server did not come back. The write is "
        "stored whole or not at all: read the session again once the server runs."
    )
