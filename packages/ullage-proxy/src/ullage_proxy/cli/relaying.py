"""How the command line starts the relay (``ullage_proxy.relay``): its options, where it listens, and its end."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from ullage.cli.stores import own_file
from ullage.errors import SettingError, StoreUnavailable
from ullage.store.urls import is_database_url
from ullage.upstreams import is_loopback
from ullage_programs.marks import NAMED_SESSION, mark_headers
from ullage_proxy.relay.options import TOKEN_VARIABLE

RELAY: Final = (sys.executable, "-P", "-m", "ullage_proxy.relay")
METERING: Final = (sys.executable, "-P", "-m", "ullage_proxy.metering.metering_process")
"""``-P``: the directory where it starts is the user's project, whose modules are none of ours."""

ENDS_IN_S: Final = 35
"""The relay gives the last answers and their storing ten seconds each."""

LOG_BYTES: Final = 4_000


def metering_settings(
    options: argparse.Namespace, upstreams: Mapping[str, str], *, lines: bool
) -> dict[str, Any]:
    """What the user wants of metering. ``lines``: one is printed for each call. Raises ``StoreUnavailable``."""
    local = []
    for name, url in upstreams.items():
        if is_loopback(urlsplit(url).hostname or ""):
            local.append(name)
    settings: dict[str, Any] = {
        "is_stored": not options.no_store,
        "content": not options.no_content,
        "keep_days": options.keep_days,
        "lines": lines,
        "local": local,
    }
    if options.store:
        if is_database_url(options.store):
            raise StoreUnavailable(
                "The proxy stores its sessions in a file. Name one with --store, or leave the option out."
            )
        settings["store"] = str(own_file(options.store).absolute())
    return settings


def relay_command(
    upstreams: Mapping[str, str],
    metering: Mapping[str, Any],
    *,
    log_format: str = "",
    **more: object,
) -> list[str]:
    """The relay's command line. ``more``: members of its ``RelayOptions``."""
    options = {
        "version": version("ullage"),
        "upstreams": dict(upstreams),
        "metering": (*METERING, log_format) if log_format else METERING,
        "marks": [each for each in sorted(mark_headers()) if each != NAMED_SESSION],
        "metering_settings": dict(metering),
        "log_format": log_format,
        **more,
    }
    return [*RELAY, json.dumps(options)]


class RelayRun:
    """A relay for one client, on a free port. It ends when nothing holds ``kept_open`` any more.

    So it ends with the client and this process, whatever ends them. Raises ``SettingError`` when it can't start.
    """

    def __init__(
        self, upstreams: Mapping[str, str], metering: Mapping[str, Any], log: Path
    ) -> None:
        self._log = log
        command = relay_command(upstreams, metering, port=0, until_stdin_closes=True)
        environment = {**os.environ}
        environment.pop(TOKEN_VARIABLE, None)
        held, self.kept_open = os.pipe()
        try:
            with log.open("wb") as errors:
                self._process = subprocess.Popen(  # noqa: S603 - this package's own program
                    command,
                    env=environment,
                    stdin=held,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
        finally:
            os.close(held)
        self._ready = self._first_line()

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self._ready["listening"])

    @property
    def name(self) -> str:
        """What the ids of its calls begin with."""
        return str(self._ready["relay"])

    def end(self) -> str:
        """Wait until all calls are stored. Gives what the relay has to say."""
        self.close()
        return _shown(self._log)

    def close(self) -> None:
        """End it, however it goes on."""
        if self.kept_open >= 0:
            os.close(self.kept_open)
            self.kept_open = -1
        try:
            self._process.wait(ENDS_IN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _first_line(self) -> dict[str, Any]:
        output = self._process.stdout
        assert output is not None
        with output:
            line = output.readline()
        try:
            ready: dict[str, Any] = json.loads(line)
        except ValueError:
            self.close()
            raise SettingError(
                f"The proxy did not start, and neither did the client. {_shown(self._log)}"
            ) from None
        return ready


def _shown(log: Path) -> str:
    with log.open("rb") as file:
        return file.read(LOG_BYTES).decode(errors="replace").strip()
