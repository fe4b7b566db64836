"""A Restate server on this machine, from its npm package: for `ullage admin cluster --local`, and for tests.

It listens on Unix sockets of its folder alone, which only its own user reaches, and signs its requests to workers.
"""

from __future__ import annotations

import base64
import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from ullage.directories import cache_directory
from ullage.errors import SettingError
from ullage.store.private_file import private_directory, replace_file
from ullage_cluster.restate.client import PUBLIC_KEY, UNIX, answers

PACKAGE: Final = "@restatedev/restate-server"
VERSION: Final = "1.7.12"

INSTALLED_IN_S: Final = 300
STARTED_IN_S: Final = 60.0
LOOPBACK: Final = "127.0.0.1"

SETTINGS: Final = """
node-name = "here"
cluster-name = "ullage-local"
auto-provision = true
base-dir = "{folder}"
listen-mode = "unix"
default-num-partitions = 4
disable-telemetry = true
rocksdb-total-memory-size = "256MB"
[admin]
disable-web-ui = true
[worker.invoker]
concurrent-invocations-limit = 10000
request-identity-private-key-pem-file = "{key}"
"""
"""The sockets are ``ingress.sock`` and ``admin.sock`` of the node's folder
(https://docs.restate.dev/server/networking#unix-domain-sockets)."""

ED25519: Final = bytes.fromhex("302e020100300506032b657004220420")
"""Before the 32 bytes of a private key in PKCS #8 (https://www.rfc-editor.org/rfc/rfc8410#section-7)."""


def is_installed() -> bool:
    """Whether the server's program is in the user's cache."""
    return _program(cache_directory() / f"restate-{VERSION}") is not None


def restate_program(cache: Path | None = None) -> Path:
    """The server's program, installed in the user's cache if it is not there yet. Raises ``SettingError``."""
    shared = cache or cache_directory()
    directory = shared / f"restate-{VERSION}"
    program = _program(directory)
    if program is not None:
        return program
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / "restate.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = _program(directory)
        if program is None:
            _install(directory)
            program = _program(directory)
    if program is None:
        raise SettingError(
            f"{PACKAGE}@{VERSION} brought no Restate server for this machine to {directory}. Use a machine "
            "that its npm page names."
        )
    return program


def _program(directory: Path) -> Path | None:
    """The server itself. What npm links as its command is a script that starts it, and leaves it behind when killed."""
    scope = directory / "node_modules" / "@restatedev"
    return next(scope.glob("restate-server-*/bin/restate-server"), None)


def _install(directory: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SettingError(
            "npm is not installed, and the Restate server comes from there. Install Node.js with npm and repeat this."
        )
    making = directory.with_suffix(".part")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(making)]
    try:
        done = subprocess.run(  # noqa: S603 - npm with a fixed package
            [*command, f"{PACKAGE}@{VERSION}"],
            capture_output=True,
            text=True,
            timeout=INSTALLED_IN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as slow:
        raise SettingError(
            f"npm did not install {PACKAGE}@{VERSION} within {INSTALLED_IN_S // 60} minutes. Check the connection "
            "and repeat this."
        ) from slow
    if done.returncode:
        raise SettingError(
            f"npm could not install {PACKAGE}@{VERSION}. Check the connection and the registry (`npm ping`) and "
            f"repeat this. npm said:\n{done.stderr.strip()[-500:]}"
        )
    making.rename(directory)


class LocalRestate:
    """A Restate server with its data and its sockets in ``folder``.

    ``key`` is the public one by which workers know its requests, once it was started.
    """

    def __init__(self, folder: Path, program: Path) -> None:
        private_directory(folder)
        self._folder = folder
        self._program = program
        self._log = folder / "restate.log"
        self.ingress = f"{UNIX}{folder}/data/here/ingress.sock"
        self.admin = f"{UNIX}{folder}/data/here/admin.sock"
        self.key = ""
        private_key = folder / "key.pem"
        replace_file(private_key, _new_private_key())
        self._settings = folder / "restate.toml"
        self._settings.write_text(
            SETTINGS.format(folder=folder / "data", key=private_key)
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        """Start it, and give its process once it takes requests. Raises ``SettingError``."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - the program that was installed
                [str(self._program), "--config-file", str(self._settings)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=0o077,
            )
        ends = time.monotonic() + STARTED_IN_S
        while not (
            answers(self.admin, "/health") and answers(self.ingress, "/restate/health")
        ):
            if self.process.poll() is not None or time.monotonic() > ends:
                self.kill()
                raise SettingError(
                    f"The Restate server did not start. Its log: {self._log}\n{self._said()}"
                )
            time.sleep(0.05)
        said = re.search(PUBLIC_KEY, self._log.read_text(errors="replace"))
        assert said is not None, "Restate's log does not have the public key"
        self.key = said[0]
        return self.process.pid

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-1000:]

    @property
    def has_ended(self) -> bool:
        """Whether it was killed from elsewhere."""
        return self.process is not None and self.process.poll() is not None

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def forget(self) -> None:
        """Delete its data. It must not run."""
        shutil.rmtree(self._folder / "data", ignore_errors=True)


def _new_private_key() -> bytes:
    encoded = base64.b64encode(ED25519 + os.urandom(32)).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{encoded}\n-----END PRIVATE KEY-----\n".encode()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nothing listens on now."""
    with ExitStack() as stack:
        ports = []
        for _ in range(count):
            taken = stack.enter_context(socket.socket())
            taken.bind((LOOPBACK, 0))
            ports.append(int(taken.getsockname()[1]))
    return ports
