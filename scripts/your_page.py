"""The pages of examples/web in Vite, with the packages of npm that they name, before a server of Ullage."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from ullage.directories import cache_directory

PAGES: Final = Path(__file__).parents[1] / "examples" / "web"
CACHE: Final = cache_directory()
"""The user's, as it was before tests got homes of their own."""

WAIT_S: Final = 60
INSTALLED_IN_S: Final = 300


def packages(npm: str) -> Path:
    """The folder with the packages, which are installed once for each ``package.json``. Fails in npm's words."""
    names = PAGES / "package.json"
    folder = CACHE / f"pages-{blake2b(names.read_bytes(), digest_size=8).hexdigest()}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=CACHE, prefix="pages-part-"))
        shutil.copy(names, making)
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(
            [*command, "--prefix", str(making)],
            capture_output=True,
            text=True,
            timeout=INSTALLED_IN_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"npm could not install {names}:\n{done.stderr[-500:]}")
        with contextlib.suppress(OSError):  # another process was first
            making.rename(folder)
    return folder


@contextmanager
def served_pages(npm: str, url: str, token: str) -> Iterator[str]:
    """Vite's address while it shows the pages and passes ``/v1`` on to the server at ``url``."""
    installed = packages(npm)
    with tempfile.TemporaryDirectory(prefix="ullage-pages-") as folder:
        place = Path(folder, "web")
        shutil.copytree(PAGES, place, ignore=shutil.ignore_patterns("node_modules"))
        # a copy of its own: Vite writes what it has prepared beside the packages
        shutil.copytree(installed / "node_modules", place / "node_modules", symlinks=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        vite = [str(place / "node_modules" / ".bin" / "vite"), "--host", "127.0.0.1"]
        process = subprocess.Popen(
            [*vite, "--port", str(port), "--strictPort"],
            cwd=place,
            env={**os.environ, "ULLAGE_URL": url, "ULLAGE_TOKEN": token},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address)
            yield address
        finally:
            process.terminate()
            process.wait(WAIT_S)


def _wait_for(address: str) -> None:
    end = monotonic() + WAIT_S
    while True:
        try:
            with urllib.request.urlopen(address, timeout=WAIT_S):  # noqa: S310 - our own
                return
        except OSError:
            if monotonic() > end:
                raise
            sleep(0.1)
