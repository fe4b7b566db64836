"""The relay's command line, which Ullage's own command line fills in."""

from __future__ import annotations

import argparse
import json
import os
from typing import Final, NamedTuple

from ullage_relay.tokens import guessable
from ullage_relay.upstreams import BadUpstream, Upstream, is_loopback, parse_upstream

TOKEN_VARIABLE: Final = "ULLAGE_PROXY_TOKEN"  # noqa: S105 - the name of the variable
TOKEN_AT_MOST: Final = 4_096


class BadOption(ValueError):
    """An option that can't be used. The message says why and what to do."""


class RelayOptions(NamedTuple):
    """What the relay was started with."""

    host: str
    port: int
    upstreams: list[Upstream]
    token: bytes
    metering: list[str]
    metering_settings: bytes
    guard: bool
    version: str
    ready_message: str
    until_stdin_closes: bool


def read_options(arguments: list[str]) -> RelayOptions:
    """Raises ``BadOption``; ends the program for an option that is not known."""
    given = _parser().parse_args(arguments)
    token = _token(given.token_file)
    if not is_loopback(given.host) and not token:
        raise BadOption(
            f"Listening on {given.host} lets other machines use your keys, and no token is set."
            f" Set {TOKEN_VARIABLE} or give --token-file, or listen on 127.0.0.1."
        )
    try:
        upstreams = [parse_upstream(text) for text in given.upstream]
    except BadUpstream as error:
        raise BadOption(str(error)) from error
    if not upstreams:
        raise BadOption("No upstream is given. Add one with --upstream NAME=URL.")
    return RelayOptions(
        host=given.host,
        port=given.port,
        upstreams=upstreams,
        token=token,
        metering=_command(given.metering),
        metering_settings=_settings(given.metering_settings),
        guard=given.guard,
        version=given.version,
        ready_message=given.ready_message,
        until_stdin_closes=given.until_stdin_closes,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ullage_relay",
        description="Passes requests on to model providers, and has them metered.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument(
        "--port", type=_port, default=4141, help="the port to listen on; 0 for a free one"
    )
    parser.add_argument("--upstream", action="append", default=[], metavar="NAME=URL")
    parser.add_argument(
        "--token-file", default="", help=f"holds the token; else {TOKEN_VARIABLE} does"
    )
    parser.add_argument(
        "--metering", default="[]", help="the command that meters: a JSON list"
    )
    parser.add_argument(
        "--metering-settings", default="{}", help="its settings: a JSON object"
    )
    parser.add_argument(
        "--guard", action="store_true", help="ask metering before a call goes on"
    )
    parser.add_argument("--version", default="", help="shown by /ullage/health")
    parser.add_argument(
        "--ready-message",
        default="",
        help="printed in place of the JSON line; {address} is filled in",
    )
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end when stdin ends"
    )
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise ValueError(text)
    return port


def _token(path: str) -> bytes:
    token = os.environ.get(TOKEN_VARIABLE, "").encode()
    if path:
        try:
            with open(path, "rb") as file:
                token = file.read(TOKEN_AT_MOST)
        except OSError as error:
            raise BadOption(
                f"The token file {path} can't be read: {error.strerror}."
            ) from error
    token = token.strip()
    if path and not token:
        raise BadOption(f"The token file {path} is empty. Write a token into it.")
    if token and (problem := guessable(token)):
        raise BadOption(problem)
    return token


def _command(text: str) -> list[str]:
    try:
        command = json.loads(text)
    except ValueError as error:
        raise BadOption(f"--metering is no JSON: {error}.") from error
    if not isinstance(command, list) or not all(
        isinstance(word, str) for word in command
    ):
        raise BadOption("--metering is no JSON list of words.")
    return command


def _settings(text: str) -> bytes:
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise BadOption(f"--metering-settings is no JSON: {error}.") from error
    if not isinstance(settings, dict):
        raise BadOption("--metering-settings is no JSON object.")
    return text.encode()
