# ruff: noqa: RUF009  (each default is a dataclass field, made by _setting)
"""Every setting of an agent: its default, what it means, its unit, and where it may be set.

    settings = Settings(model="anthropic:claude-haiku-4-5", trigger=0.9)
    settings = changed(settings, {"window": "200k"})

``precedence.resolve`` makes them from arguments, a session, files and the environment. The table in docs/settings.md
is made from this file. Pure but for ``~`` in a directory.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from ullage.codec.blocks import Effort, Options
from ullage.codec.wires import WIRES
from ullage.context.rules import KEEP
from ullage.envelope import CALL_S, LOADING_S
from ullage.errors import SettingError
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import Provider
from ullage.reasoning import ReasoningPolicy, Strip
from ullage.runtime import authority
from ullage.runtime import setting_values as values
from ullage.runtime.authority import Authority
from ullage.runtime.setting_values import McpServerSetting, ValueReader
from ullage.wire.endpoints import Destination, Endpoint, destination_of, endpoint_for

Place = Literal["argument", "session", "user file", "project file", "environment"]
"""Where a setting may be said, highest rank first; a project's file wins over the user's."""


class Meaning(NamedTuple):
    """What the documentation says of a setting, and how its value is read."""

    meaning: str
    read: ValueReader
    unit: str = ""
    who: Authority = authority.ANYONE
    """Who may set it besides the operator, and how far."""
    default: str = ""
    """The default in words, where the value alone does not say it."""
    per_model: bool = False
    """Whether a table of one model may say it."""
    has_variable: bool = True
    """Whether a variable of the environment can hold it: not a table."""


def _setting(
    default: Any,
    meaning: str,
    read: ValueReader,
    *,
    unit: str = "",
    who: Authority = authority.ANYONE,
    said: str = "",
    per_model: bool = False,
) -> Any:
    has_variable = not isinstance(default, dict)
    described = {"setting": Meaning(meaning, read, unit, who, said, per_model, has_variable)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=described)
    return dataclasses.field(default=default, metadata=described)


_MOST: Final = 10**12
_COUNT: Final = values.whole(1, _MOST)
_FROM_NONE: Final = values.whole(0, _MOST)
_SECONDS: Final = values.real(0, 7 * 86_400, above=True)
_SHARE: Final = values.real(0, 1, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each key. Raises ``SettingError`` for a value that a key can't take.

    ``None`` is "not said": what then happens is the default in docs/settings.md, which also says what each key means.
    """

    # -- the model --
    model: str = _setting(
        "",
        "the model, with its provider before it: `anthropic:claude-haiku-4-5`",
        values.text,
        who=authority.CHOICE,
    )
    base_url: str = _setting(
        "", "another address of the provider, a gateway or a local server", values.text,
        said="the provider's", who=authority.BASE_URL,
    )  # fmt: skip
    wire: str = _setting(
        "",
        "the wire that is spoken",
        values.one_of("", *WIRES),
        said="the provider's usual one",
        who=authority.CHOICE,
    )
    endpoints: Mapping[str, Provider] = _setting(
        {}, "servers of your own by name: `base_url`, `wire`, `key_env`, `auth`; their models are `NAME:model`",
        lambda table: read_endpoints(table, WIRES), who=authority.ENDPOINTS,
    )  # fmt: skip
    system: str = _setting("", "the system prompt", values.text)
    instructions: tuple[str, ...] = _setting(
        (), "instruction files that are read from the root and put behind the system prompt, such as `AGENTS.md`",
        values.inner_files, who=authority.INSTRUCTIONS,
    )  # fmt: skip
    params: Mapping[str, object] = _setting(
        {}, "what else the wire takes, in its own spelling; it passes through", values.params,
        per_model=True, who=authority.PARAMS,
    )  # fmt: skip
    max_output: int | None = _setting(
        None, "the most an answer may have", values.optional(_COUNT),
        unit="tokens", said="the wire's own", per_model=True,
    )  # fmt: skip
    effort: Effort | None = _setting(
        None, "how much the model thinks", values.or_none(values.one_of(*get_args(Effort))),
        said="the provider's", per_model=True,
    )  # fmt: skip
    thinking_budget: int | None = _setting(
        None, "the most it may think, where the wire has a budget", values.optional(_FROM_NONE),
        unit="tokens", said="the provider's", per_model=True,
    )  # fmt: skip
    temperature: float | None = _setting(
        None, "how freely the model chooses", values.optional(values.real(0, 2)),
        said="the provider's", per_model=True,
    )  # fmt: skip
    stream: bool = _setting(True, "whether an answer is shown as it is written", values.flag)
    include_in_context: bool = _setting(True, "whether earlier reasoning is sent back at all", values.flag)
    strip: Strip = _setting(
        "none", "which of it is left out: `none`, `all`, `all_but_last`", values.one_of(*get_args(Strip))
    )
    models: Mapping[str, Mapping[str, object]] = _setting(
        {},
        "keys for one model alone, by its name with or without the provider",
        values.table,
        who=authority.MODELS,
    )

    # -- the window --
    window: int | None = _setting(
        None, "the model's context window, as the user's word; wins over provider, error and catalogue",
        values.optional(_COUNT), unit="tokens", said="what is known of the model, else *unknown*", per_model=True,
    )  # fmt: skip
    default_window: int | None = _setting(
        None, "the window where nobody knows it", values.optional(_COUNT),
        unit="tokens", said="it stays unknown", per_model=True,
    )  # fmt: skip
    reserve: int | None = _setting(
        None, "kept free for the answer", values.optional(_FROM_NONE), unit="tokens",
        said="16,000, at most the model's maximum output and a fifth of the window", per_model=True,
    )  # fmt: skip
    trigger: float | int = _setting(
        0.8, "where compaction starts", values.trigger, unit="share of the window up to 1, tokens above", per_model=True
    )
    auto: bool = _setting(True, "whether there is a compaction point at all", values.flag)
    estimator: str | Callable[[str], float] = _setting(
        "auto", "how text is counted: `auto` (`bpe` where installed, else `pretoken`), `bpe`, `pretoken`, `quarter` "
        "(length/4), `gemini-cli`; in Python also a function", values.estimator,
    )  # fmt: skip
    near_limit: float = _setting(
        0.8, "from where on the status says that the limit is near", _SHARE, unit="share of the compaction point"
    )
    near_limit_off: float = _setting(
        0.75, "below where it says so no longer", values.real(0, 1, below=True), unit="share of the compaction point"
    )

    # -- compaction --
    keep: float = _setting(
        KEEP, "how much of the messages a summary leaves as they are, the newest",
        values.real(0, 1, above=True, below=True), unit="share of their tokens",
    )  # fmt: skip
    protect_tokens: int = _setting(
        40_000, "how much of the newest tool results is never cleared, at most a quarter of the input limit",
        _FROM_NONE, unit="tokens",
    )  # fmt: skip
    summary_model: str = _setting(
        "",
        "the model that summarises",
        values.text,
        said="the session's",
        who=authority.CHOICE,
    )
    summary_instructions: str = _setting("", "what a summary must look at, added to what is always asked", values.text)
    background_at: float | None = _setting(
        None, "from where on a summary is prepared while the model answers",
        values.optional(values.real(0, 1, above=True, below=True)), unit="share of the compaction point", said="never",
    )  # fmt: skip

    # -- the loop --
    max_steps: int = _setting(
        100,
        "model calls in one turn",
        values.whole(1, 100_000),
        unit="calls",
        who=authority.EFFORT,
    )
    max_repeats: int = _setting(
        5,
        "how often the same tool call with the same arguments may come before the turn ends",
        values.whole(1, 1_000_000),
        unit="calls",
        who=authority.EFFORT,
    )
    drop_retries: int = _setting(
        2,
        "how often a call is made again whose answer broke off",
        values.whole(0, 100),
        unit="calls",
        who=authority.EFFORT,
    )
    tries: int = _setting(
        4,
        "how often a request is sent until an answer begins, the first included",
        values.whole(1, 100),
        who=authority.EFFORT,
    )
    connect_s: float = _setting(10.0, "the longest a connection may take", _SECONDS, unit="seconds")
    first_byte_s: float = _setting(600.0, "the longest until an answer begins", _SECONDS, unit="seconds")
    between_s: float = _setting(180.0, "the longest silence inside an answer", _SECONDS, unit="seconds")
    call_s: float = _setting(CALL_S, "the longest an answer may take, from its first byte on", _SECONDS, unit="seconds")
    loading_s: float = _setting(
        LOADING_S, "how long a server that is loading its model is waited for; 0 is not at all", values.real(0),
        unit="seconds",
    )  # fmt: skip
    budget_tokens: int | None = _setting(
        None, "what a turn may use, input and output of all its calls together; counted anew when it is resumed",
        values.optional(_COUNT), unit="tokens", said="no end", who=authority.BUDGET,
    )  # fmt: skip
    budget_usd: float | None = _setting(
        None,
        "what a turn may cost",
        values.optional(values.real(0, 1_000_000, above=True)),
        unit="US dollars",
        said="no end",
        who=authority.BUDGET,
    )
    budget_calls: int | None = _setting(
        None,
        "how many model calls a turn may make, those of children and summaries among them",
        values.optional(_COUNT),
        unit="calls",
        said="no end",
        who=authority.BUDGET,
    )
    budget_s: float | None = _setting(
        None,
        "how long a turn may take",
        values.optional(_SECONDS),
        unit="seconds",
        said="no end",
        who=authority.BUDGET,
    )
    cancel_tools: Literal["stop", "finish"] = _setting(
        "stop", "what a cancel does to a running tool: `stop` ends it, `finish` lets it end and starts no other",
        values.one_of("stop", "finish"),
    )  # fmt: skip
    cancel_queue: Literal["return", "keep"] = _setting(
        "return", "what a cancel does to waiting messages: `return` gives them back, `keep` leaves them waiting",
        values.one_of("return", "keep"),
    )  # fmt: skip

    # -- tools --
    tools: tuple[str, ...] = _setting(
        (),
        "the built-in tools, by name",
        values.names,
        who=authority.TOOLS,
    )
    approve: tuple[str, ...] = _setting(
        (),
        "tools that need a person's approval before each call, by name; `mcp` is every tool of an MCP server",
        values.names,
        who=authority.APPROVE,
    )
    mcp: Mapping[str, McpServerSetting] = _setting(
        {}, "MCP servers by name: `command`, `args`, `env`, `cwd`; or `url`, `headers`; `enabled`",
        values.servers, who=authority.MCP,
    )  # fmt: skip
    root: Path | None = _setting(
        None, "the directory that file tools are confined to; in a file, relative to the file",
        values.optional(values.directory), said="where the program was started", who=authority.ROOT,
    )  # fmt: skip
    sandbox: Literal["off", "workspace", "workspace+network"] = _setting(
        "workspace",
        "what commands may reach: `workspace` (the root and a private temporary directory), `workspace+network`, `off`",
        values.one_of(*authority.SANDBOXES),
        who=authority.SANDBOX,
    )
    sandbox_read: tuple[Path, ...] = _setting(
        (),
        "further directories that commands may read, absolute or from `~/`, beside the root, system and toolchains",
        values.absolute_directories,
        who=authority.SANDBOX_PLACES,
    )
    sandbox_write: tuple[Path, ...] = _setting(
        (),
        "further directories that commands may write, absolute or from `~/`; one is a repository's `.git` in the root",
        values.absolute_directories,
        who=authority.SANDBOX_PLACES,
    )
    sequential_tools: bool = _setting(False, "whether tools run one after the other", values.flag)
    tool_timeout_s: float = _setting(600.0, "the longest a call of a tool may take", _SECONDS, unit="seconds")
    result_tokens: int = _setting(
        10_000, "the most of one result that the model gets at once; the rest is kept and can be read", _COUNT,
        unit="tokens",
    )  # fmt: skip

    # -- storing --
    lease_ttl_s: float = _setting(
        10.0, "how long a driver that is no longer heard of holds its session", values.real(1, 3_600), unit="seconds"
    )
    flush_s: float = _setting(
        0.05, "the longest that shown text waits to be stored", values.real(0, 0.1), unit="seconds, at most 0.1"
    )
    flush_bytes: int = _setting(
        1024, "the most of it that waits to be stored", values.whole(1, 1024), unit="bytes, at most 1,024"
    )
    trusted: tuple[Path, ...] = _setting(
        (),
        "directories in and below which an `ullage.toml` may say what only the user's may",
        values.directories,
        who=authority.TRUSTED,
    )

    def __post_init__(self) -> None:
        for key, meaning in _MEANINGS.items():
            object.__setattr__(self, key, read_value(key, getattr(self, key), meaning))
        if self.near_limit_off >= self.near_limit:
            raise SettingError(
                f"near_limit_off={self.near_limit_off} must be below near_limit={self.near_limit}: "
                "else the status would change with every token. Set both."
            )

    def destination(self, model: str = "") -> Destination:
        """Who is asked for a model, by default for the one that is set. Raises ``SettingError``."""
        return destination_of(model or self.model, base_url=self.base_url, wire=self.wire, endpoints=self.endpoints)

    def endpoint(self, environment: Mapping[str, str], model: str = "") -> tuple[Endpoint, str]:
        """Where a model is reached and its own name there. Raises ``SettingError`` and ``BadKey``.

        The address and the wire that are set belong to the model that is set: another one (a summary's) is reached by
        its own name alone.
        """
        is_own = model in ("", self.model)
        return endpoint_for(
            model or self.model,
            base_url=self.base_url if is_own else "",
            wire=self.wire if is_own else "",
            environment=environment,
            endpoints=self.endpoints,
        )

    @property
    def policy(self) -> ReasoningPolicy:
        """Which earlier reasoning is sent."""
        return ReasoningPolicy(include_in_context=self.include_in_context, strip=self.strip)

    @property
    def options(self) -> Options:
        """What a call asks for besides its content."""
        return Options(
            max_output=self.max_output,
            temperature=self.temperature,
            effort=self.effort,
            thinking_budget=self.thinking_budget,
        )


_MEANINGS: Final[Mapping[str, Meaning]] = {
    one.name: cast(Meaning, one.metadata["setting"]) for one in dataclasses.fields(Settings)
}
KEYS: Final = tuple(_MEANINGS)
"""Every key, in the order of the documentation."""
PER_MODEL: Final = tuple(key for key, meaning in _MEANINGS.items() if meaning.per_model)
"""The keys that a table of one model may say."""


def meaning_of(key: str) -> Meaning:
    """What a key means. Raises ``SettingError`` for an unknown one, with the nearest."""
    meaning = _MEANINGS.get(key)
    if meaning is None:
        raise SettingError(f"There is no setting {key!r}.{nearest(key, KEYS)}")
    return meaning


def environment_name(key: str) -> str:
    """The environment variable of a key; empty where it has none."""
    return f"ULLAGE_{key.upper()}" if meaning_of(key).has_variable else ""


def read_value(key: str, given: object, meaning: Meaning | None = None) -> Any:
    """A key's value as ``Settings`` holds it. Raises ``SettingError`` with what would be right."""
    try:
        read = (meaning or meaning_of(key)).read(given)
    except ValueError as problem:
        raise SettingError(f"{key}={_shown(given)} can't be: {problem}.") from problem
    return _read_models(read) if key == "models" else read


def changed(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """The settings with these values in their place; the given ones stay as they are.

    What a model's own table says of another ``model`` is not looked up: for that, resolve again with the change.
    Raises ``SettingError`` for an unknown key, with the nearest known one, and for a value that a key can't take.
    """
    read = {key: read_value(key, value, meaning_of(key)) for key, value in changes.items()}
    return dataclasses.replace(settings, **read)


def nearest(name: str, known: tuple[str, ...]) -> str:
    """The end of a message: which known name was probably meant, or where to find them all."""
    close = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.0)
    return f" Did you mean {close[0]!r}?" if close else ""


def _read_models(tables: Mapping[str, object]) -> dict[str, dict[str, object]]:
    read: dict[str, dict[str, object]] = {}
    for model, said in tables.items():
        if not isinstance(said, Mapping):
            raise SettingError(f"models.{model} can't be {_shown(said)}: give a table of {', '.join(PER_MODEL)}.")
        for key in said:
            if key not in PER_MODEL:
                raise SettingError(f"models.{model} can't set {key!r}.{nearest(str(key), PER_MODEL)}")
        read[model] = {key: read_value(key, value) for key, value in said.items()}
    return read


def _shown(given: object) -> str:
    if isinstance(given, Mapping):
        return "{…}"  # a table may hold what must not be printed
    written = repr(given)
    return written if len(written) <= 60 else f"{written[:57]}..."
