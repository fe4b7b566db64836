from pathlib import Path

from tests.processes import run_python
from ullage.store.places import store_at
from ullage.store.sqlite.store import SqliteStore
from ullage.store.urls import is_database_url
from ullage_cluster.postgres.store import PostgresStore


def test_a_path_is_a_file_of_sqlite(tmp_path: Path) -> None:
    store = store_at(str(tmp_path / "s.db"))
    assert isinstance(store, SqliteStore)
    assert store.path == tmp_path / "s.db"
    assert not (tmp_path / "s.db").exists()


def test_a_url_of_postgresql_is_no_file_name() -> None:
    assert is_database_url("postgresql://localhost/ullage")
    assert isinstance(store_at("postgresql://localhost/ullage"), PostgresStore)


def test_without_its_driver_the_command_that_installs_it_is_said() -> None:
    program = (
        "import sys; sys.modules['asyncpg'] = None\n"
        "from ullage.store.places import store_at\n"
        "store_at('postgresql://localhost/ullage')"
    )
    done = run_python("-c", program)
    assert "MissingExtra: This needs asyncpg. Install it: " in done.stderr
