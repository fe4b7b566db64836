"""Readers of setting values from Python, TOML or an environment variable.

A reader returns the value as ``Settings`` holds it; reading its own result changes nothing. It raises ``ValueError``
for an impossible value; the text names the possible ones, as the end of a sentence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from ullage.bounds import value_excess
from ullage.context.choice import ordered
from ullage.context.strategy import Strategy
from ullage.envelope import PARAMS_BYTES, TOML_DEPTH
from ullage.errors import SettingError
from ullage.similar import did_you_mean
from ullage.tokens.text import NAMES as ESTIMATORS

ValueReader = Callable[[object], Any]

MCP: Final = "mcp"
"""In the setting ``approve``: every tool of an MCP server."""

EVERY: Final = "*"
"""In the setting ``approve``: every tool."""

_MULTIPLES: Final = {"k": 1_000, "m": 1_000_000}
_YES: Final = frozenset({"true", "yes", "on", "1"})
_NO: Final = frozenset({"false", "no", "off", "0"})
_SECRET: Final = re.compile(
    r"(^|[_-])(api[_-]?keys?|token|secret|password|passwd|credentials?|authorization|bearer|(access|private|auth)[_-]?key)$",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)")


def is_secret_name(name: str) -> bool:
    """Whether a key, header or variable of this name usually holds a secret: ``api_key``, ``Authorization``."""
    return _SECRET.search(name) is not None


class McpServerSetting(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """How to reach an MCP server: a ``command`` to start, or a ``url``.

    ``env``, ``args`` and ``headers`` may hold ``${NAME}``, which ``with_environment`` fills in. ``cwd`` is relative to
    the root. ``sandbox`` confines a started server like a command. ``enabled=False`` leaves out a server that a file of
    lower rank names.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    enabled: bool = True
    sandbox: Literal["off", "workspace", "workspace+network"] = "off"

    def __repr__(self) -> str:
        """Without what may hold secrets."""
        return f"McpServerSetting({self.command or self.url!r})"

    def with_environment(self, environment: Mapping[str, str]) -> McpServerSetting:
        """The server with every ``${NAME}`` replaced. Raises ``SettingError`` for a name the environment lacks."""

        def fill(value: str) -> str:
            try:
                return Template(value).substitute(environment)
            except KeyError as missing:
                name = missing.args[0]
                raise SettingError(
                    f"An MCP server asks for ${{{name}}}, which is not set in the environment. "
                    "Set it before the program starts."
                ) from None
            except ValueError as problem:
                raise SettingError(
                    f"{value!r} of an MCP server can't be filled in: write $$ for a dollar."
                ) from problem

        return replace(
            self,
            args=tuple(map(fill, self.args)),
            env={name: fill(value) for name, value in self.env.items()},
            headers={name: fill(value) for name, value in self.headers.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """The most a minute to one model; ``None`` is as the provider says."""

    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def per_minute(self) -> dict[str, float]:
        """The limits that are set, by name."""
        limits = asdict(self).items()
        return {name: float(most) for name, most in limits if most is not None}


def text(given: object) -> str:
    """Any text."""
    if not isinstance(given, str):
        raise ValueError("give a text")
    return given


def flag(given: object) -> bool:
    """Yes or no, also in words."""
    if isinstance(given, bool):
        return given
    word = given.strip().lower() if isinstance(given, str) else ""
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError("give true or false")


def one_of(*allowed: str) -> ValueReader:
    """One of these words."""

    def read(given: object) -> str:
        if isinstance(given, str) and given.strip() in allowed:
            return given.strip()
        words = [each or repr(each) for each in allowed]
        raise ValueError(f"there are {', '.join(words)}")

    return read


def whole(lowest: int = 0, highest: int | None = None) -> ValueReader:
    """A whole number in a range, also as ``200k``, ``1M`` or ``200,000``."""

    def read(given: object) -> int:
        value = _number(given)
        if (
            value is None
            or value != math.floor(value)
            or value < lowest
            or (highest is not None and value > highest)
        ):
            top = "" if highest is None else f" and at most {highest:,}"
            raise ValueError(f"give a whole number, at least {lowest:,}{top}")
        return int(value)

    return read


def real(lowest: float, highest: float) -> ValueReader:
    """A number in a range."""

    def read(given: object) -> float:
        value = _number(given)
        if value is None or not lowest <= value <= highest:
            raise ValueError(
                f"give a number, at least {lowest:g} and at most {highest:g}"
            )
        return float(value)

    return read


def trigger(given: object) -> float:
    """A share up to 1, or tokens above."""
    value = _number(given)
    if value is None or value <= 0:
        raise ValueError("give a share of the window up to 1, or tokens above 1")
    return float(value) if value <= 1 else value


def optional(reader: ValueReader) -> ValueReader:
    """The same or ``None``, which a file and the environment write as ``none``."""

    def read(given: object) -> Any:
        if given is None or (isinstance(given, str) and given.strip().lower() == "none"):
            return None
        return reader(given)

    return read


def effort(words: Sequence[str]) -> ValueReader:
    """One of these words, of which ``none`` may be one, a number of tokens, or ``None``."""
    word, tokens = one_of(*words), whole()

    def read(given: object) -> Any:
        if given is None:
            return None
        try:
            return word(given)
        except ValueError as problem:
            if _number(given) is None:
                raise ValueError(f"{problem}, or a number of tokens") from None
            return tokens(given)

    return read


def fields_of(kind: type[Any], readers: Mapping[str, ValueReader]) -> ValueReader:
    """A value with these fields, from a table of them, or in one text: ``usd=5, tokens=2M``."""
    optionals = {name: optional(reader) for name, reader in readers.items()}

    def read(given: object) -> Any:
        if isinstance(given, kind):
            given = {name: getattr(given, name) for name in optionals}
        if isinstance(given, str):
            given = _pairs(given)
        if not isinstance(given, Mapping):
            raise ValueError(f"give a table of {', '.join(optionals)}")
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in optionals:
                meant = did_you_mean(str(name), tuple(optionals))
                raise ValueError(
                    f"{name!r} is none of {', '.join(optionals)}{meant.rstrip('?')}"
                )
            try:
                found[name] = optionals[name](value)
            except ValueError as problem:
                raise ValueError(f"{name}: {problem}") from problem
        return kind(**found)

    return read


def _pairs(given: str) -> dict[str, str] | None:
    """``usd=5, tokens=2M`` as a table; empty for ``none``, and ``None`` for other text."""
    if given.strip().lower() == "none":
        return {}
    pairs = [each.partition("=") for each in split(given)]
    if not all(mark for _, mark, _ in pairs):
        return None
    return {name.strip(): value.strip() for name, _, value in pairs}


def estimator(given: object) -> str | Callable[[str], float]:
    """A name of an estimator, or in Python a function from a text to tokens."""
    if callable(given):
        return given
    if isinstance(given, str) and given.strip() in ESTIMATORS:
        return given.strip()
    raise ValueError(
        f"there are {', '.join(ESTIMATORS)}, and in Python a function from a text to tokens"
    )


def split(given: str) -> tuple[str, ...]:
    """The names in one text with commas, as a variable holds a list."""
    return tuple(each.strip() for each in given.split(",") if each.strip())


def names(given: object) -> tuple[str, ...]:
    """A list of names. One text is none: a name in it would match nothing, or match by accident."""
    if (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(each, str) and each for each in given)
    ):
        return tuple(given)
    raise ValueError("give a list of names")


def tools_to_ask(given: object) -> tuple[str, ...]:
    """A list of names, or true for every tool."""
    if isinstance(given, bool):
        return (EVERY,) if given else ()
    try:
        return names(given)
    except ValueError:
        raise ValueError("give a list of names, or true for every tool") from None


def strategies(given: object) -> tuple[str | Strategy, ...]:
    """Strategies of compaction: a name, a list of names, or one text with commas; in Python also objects."""
    if isinstance(given, str):
        given = split(given)
    if not isinstance(given, Sequence):
        raise ValueError("give a list of names")
    chosen = tuple(given)
    for one in chosen:
        is_own = hasattr(one, "propose") and isinstance(getattr(one, "name", None), str)
        if not isinstance(one, str) and not is_own:
            raise ValueError("give names of strategies, or in Python objects as well")
    written = [one for one in chosen if isinstance(one, str)]
    if len(set(written)) < len(written):
        raise ValueError("name each strategy once")
    ordered(chosen)
    return chosen


def inner_files(given: object) -> tuple[str, ...]:
    """Files below a directory: relative, and without ``..``."""
    files = names(given)
    if any(Path(each).is_absolute() or ".." in Path(each).parts for each in files):
        raise ValueError("give names of files inside the project's root")
    return files


def directory(given: object) -> Path:
    """A place in the file system; ``~`` is the user's home."""
    if isinstance(given, Path) or (isinstance(given, str) and given):
        return Path(given).expanduser()
    raise ValueError("give a directory")


def directories(given: object) -> tuple[Path, ...]:
    """A list of absolute directories."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ValueError("give a list of directories")
    found = tuple(map(directory, given))
    for each in found:
        if not each.is_absolute():
            raise ValueError(
                f"write an absolute path or one that begins with ~/ in the place of {str(each)!r}"
            )
    return found


def table(given: object) -> dict[str, object]:
    """A table of anything."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ValueError("give a table")
    return dict(given)


def params(given: object) -> dict[str, object]:
    """Fields for a request body: a table of JSON values, bounded in depth and size."""
    fields = table(given)
    if value_excess(fields, most=TOML_DEPTH):
        raise ValueError(
            f"give a table that is nested no deeper than {TOML_DEPTH} levels"
        )
    try:
        size = len(msgspec.json.encode(fields))
    except (TypeError, ValueError, msgspec.MsgspecError) as problem:
        raise ValueError("give a table of texts, numbers, lists and tables") from problem
    if size > PARAMS_BYTES:
        raise ValueError(f"give a table of at most {PARAMS_BYTES:,} bytes as JSON")
    return fields


def servers(given: object) -> dict[str, McpServerSetting]:
    """MCP servers by name."""
    return {name: _server(name, value) for name, value in table(given).items()}


_mcp_server: Final = msgspec.json.Decoder(McpServerSetting)


def _server(name: str, given: object) -> McpServerSetting:
    try:
        server = _mcp_server.decode(msgspec.json.encode(given))
    except (TypeError, msgspec.MsgspecError) as problem:
        raise ValueError(f"the server {name!r} can't be read: {problem}") from problem
    if server.enabled and bool(server.command) == bool(server.url):
        raise ValueError(
            f"the server {name!r} has a command or a url, and one of them alone"
        )
    return server


def is_storable(value: object) -> bool:
    """Whether a ledger can hold a setting's value: JSON types and paths, no function, object or lone surrogate."""
    if isinstance(value, tuple) and any(hasattr(one, "propose") for one in value):
        return False
    try:
        msgspec.json.encode(value, enc_hook=_path_text)
    except (TypeError, ValueError):
        return False
    return True


def _path_text(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError


def literal_secrets(given: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths of the secrets in a table, in order; a ``${NAME}`` is none."""
    if isinstance(given, McpServerSetting):
        given = {"env": given.env, "headers": given.headers}
    if not isinstance(given, Mapping):
        return []
    found: list[tuple[str, ...]] = []
    for key, value in given.items():
        here = (*path, str(key))
        if (
            is_secret_name(str(key))
            and isinstance(value, str)
            and value
            and not _REFERENCE.search(value)
        ):
            found.append(here)
        found.extend(literal_secrets(value, here))
    return found


def shown(value: object) -> str:
    """A whole value on one line, with non-ASCII characters escaped."""
    return json.dumps(plain_value(value))


def plain_value(value: object) -> object:
    """A value as JSON types; a strategy of the program's own is its name."""
    if isinstance(value, tuple):
        value = tuple(one.name if hasattr(one, "propose") else one for one in value)
    return msgspec.to_builtins(value, enc_hook=str)


def _number(given: object) -> float | int | None:
    """The finite number, also from text; ``None`` for anything else."""
    if isinstance(given, bool):
        return None
    if isinstance(given, int):
        return given
    if isinstance(given, float):
        return given if math.isfinite(given) else None
    if not isinstance(given, str):
        return None
    written = given.strip().lower().replace(",", "").replace("_", "")
    multiple = _MULTIPLES.get(written[-1:], 1)
    if multiple > 1:
        written = written[:-1]
    try:
        return multiple * int(written)
    except ValueError:
        pass
    try:
        value = multiple * float(written)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
