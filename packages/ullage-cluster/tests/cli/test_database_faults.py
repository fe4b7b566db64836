"""What is wrong with a database, as a person sees it: what happened, to what, what to do next."""

import asyncio
import random
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.disks import small_disk
from tests.postgres import NOBODY, SETTINGS, PostgresServer, new_server, shared_server
from ullage.cli import main
from ullage.cli.exit_codes import FAILED
from ullage.events import MessageAdded
from ullage.messages import Message, TextPart
from ullage.store.sqlite.store import SqliteStore
from ullage_cluster.postgres import base
from ullage_cluster.postgres.store import PostgresStore
from ullage_cluster.postgres.tables import VERSION

pytestmark = pytest.mark.slow

PACKAGES = Path(__file__).parents[3]
CERTIFICATE = PACKAGES / "ullage/tests/wire/fixtures/localhost.pem"
OTHER = PACKAGES / "ullage-proxy/tests/relay/fixtures/localhost.pem"

Said = pytest.CaptureFixture[str]


@pytest.fixture
def database() -> Iterator[str]:
    """The name of a database with tables, in the server of this process."""
    server = shared_server()
    name = server.new_database()
    asyncio.run(make_tables(server.url(name)))
    yield name
    server.drop_database(name)


@contextmanager
def another_server() -> Iterator[PostgresServer]:
    """A server whose settings a test may change, on a port of this machine, without TLS."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = SETTINGS.replace("''", "'127.0.0.1'").replace("minimal", "replica")
    folder = Path(tempfile.mkdtemp(prefix="ullage-pg-"))
    server = PostgresServer(folder, settings, port)
    with (server.data / "pg_hba.conf").open("r+") as file:
        usual = file.read()
        file.seek(0)
        file.write(
            f"local all locked scram-sha-256\nhostssl all hidden all trust\n{usual}"
        )
        file.write("host all hidden all reject\n")
    server.start()
    server.sql("CREATE ROLE locked LOGIN PASSWORD 'right'; CREATE ROLE hidden LOGIN")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """One of which tests change only what the others do not meet."""
    with another_server() as server:
        yield server


@pytest.fixture
def standby() -> Iterator[PostgresServer]:
    """One that a test may stop, and leave as what it likes."""
    with another_server() as server:
        yield server


def told(capsys: Said, *words: str) -> str:
    """What a command that fails says."""
    capsys.readouterr()
    assert main(list(words)) == FAILED
    return capsys.readouterr().err


def of_worker(capsys: Said, url: str) -> str:
    """What a program says that uses the store."""
    return told(capsys, "admin", "worker", "--store", url, "--dispatch", "lease")


def test_a_wrong_password(own_server: PostgresServer, capsys: Said) -> None:
    url = own_server.url("postgres").replace("postgres@", "locked:wrong@", 1)
    said = of_worker(capsys, url)
    assert "refused the user or the password" in said
    assert "PGPASSWORD" in said
    assert "waited" not in said
    assert "wrong" not in said.replace("password", "")


def test_a_database_that_is_not_there(capsys: Said) -> None:
    said = of_worker(capsys, shared_server().url("missing"))
    assert "does not exist" in said
    assert "createdb" in said


def test_a_server_without_tls_that_is_asked_for_it(
    own_server: PostgresServer, capsys: Said
) -> None:
    at = f"postgresql://postgres@127.0.0.1:{own_server.port}/postgres"
    said = of_worker(capsys, f"{at}?sslmode=require")
    assert "offers no TLS" in said
    assert "sslmode=prefer" in said


def test_a_server_that_wants_tls(own_server: PostgresServer, capsys: Said) -> None:
    lines = (own_server.data / "pg_hba.conf").read_text().splitlines()
    first = [line for line in lines if "hidden" in line or line.startswith("local")]
    (own_server.data / "pg_hba.conf").write_text("\n".join(first) + "\n")
    own_server.sql("SELECT pg_reload_conf()")
    at = f"postgresql://another@127.0.0.1:{own_server.port}/postgres"
    said = of_worker(capsys, f"{at}?sslmode=disable")
    assert "no encryption" in said
    assert "sslmode=require" in said


@contextmanager
def with_certificate() -> Iterator[int]:
    """The port of a server that does TLS as PostgreSQL does, with a certificate that no authority issued.

    The tests' PostgreSQL is built without TLS. The client leaves before a word of PostgreSQL's is said.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(8)
                    connection.sendall(b"S")
                    try:
                        context.wrap_socket(connection, server_side=True).close()
                    except OSError:
                        continue

        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def test_a_certificate_of_an_unknown_authority(tmp_path: Path, capsys: Said) -> None:
    with with_certificate() as port:
        url = f"postgresql://postgres@localhost:{port}/x?sslmode=verify-full&sslrootcert="
        said = of_worker(capsys, f"{url}{OTHER}")
        assert "certificate" in said
        assert "sslrootcert=FILE" in said
        assert "there is no such file" in of_worker(capsys, f"{url}{tmp_path / 'none'}")


def test_a_role_that_may_not_use_a_table(database: str, capsys: Said) -> None:
    server = shared_server()
    server.sql(
        f"DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN; GRANT CONNECT ON DATABASE {database} TO poor"
    )
    rights = "GRANT ALL ON ALL TABLES IN SCHEMA public TO poor; REVOKE ALL ON sessions FROM poor"
    server.sql(rights, database)
    said = of_worker(capsys, server.url(database).replace("postgres@", "poor@", 1))
    server.sql("DROP OWNED BY poor", database)
    server.sql("DROP OWNED BY poor; DROP ROLE poor")
    assert "permission denied for table sessions" in said
    assert "Grant it" in said


def test_tables_of_another_version(database: str, capsys: Said) -> None:
    server = shared_server()
    server.sql(f"UPDATE schema_versions SET version = {VERSION + 1}", database)
    said = of_worker(capsys, server.url(database))
    assert f"its tables are of version {VERSION + 1}" in said
    assert "JSON lines" in said
    assert "ullage admin store restore" in said


async def make_tables(url: str) -> None:
    store = PostgresStore(url)
    await store.open()
    await store.close()


def test_a_standby_and_a_start(
    standby: PostgresServer, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "WAIT_S", 5.0)  # a busy machine takes long to be refused
    name = standby.new_database()
    url = standby.url(name)
    asyncio.run(make_tables(url))
    standby.stop()
    signal = standby.data / "standby.signal"
    signal.touch()
    standby.start()
    assert "Name the primary server" in of_worker(capsys, url)
    standby.stop()
    with (standby.data / "postgresql.conf").open("a") as file:
        file.write("hot_standby = off\n")
    standby.start()
    said = of_worker(capsys, url)
    assert "takes no connections at the moment" in said
    assert "try again" in said
    assert "It is waited for" in said
    standby.stop()
    said = of_worker(capsys, url)
    assert "can't be reached" in said
    assert said.count("It is waited for") == 1


def test_a_full_disk(tmp_path: Path, capsys: Said) -> None:
    server = new_server()
    name = server.new_database()
    url = server.url(name)
    asyncio.run(make_tables(url))
    with small_disk(server.folder / "small", 4, NOBODY) as place:
        server.sql(f"CREATE TABLESPACE small LOCATION '{place}'")
        server.sql("ALTER TABLE events SET TABLESPACE small", name)
        path = tmp_path / "s.db"
        asyncio.run(fill(path))
        said = told(capsys, "admin", "store", "copy", str(path), url)
        assert "disk" in said
        assert "is full" in said
        assert "Make room there" in said
        server.sql("ALTER TABLE events SET TABLESPACE pg_default", name)
        assert main(["admin", "store", "copy", str(path), url]) == 0
        server.stop()
    server.start()
    server.remove()


async def fill(path: Path) -> None:
    store = SqliteStore(path)
    for number in range(8):
        noise = random.Random(number).randbytes(600_000).hex()
        await store.create(f"s{number}", [MessageAdded(message=said_by(noise))])
    await store.close()


def said_by(text: str) -> Message:
    return Message(id="m", role="user", parts=(TextPart(id="m.0", text=text),))
