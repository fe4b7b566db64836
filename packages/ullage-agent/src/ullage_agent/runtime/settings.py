# ruff: noqa: RUF009  (each default is a dataclass field, made by _setting)
"""Every setting of an agent: its default, meaning and unit, how it is read, and who may set it.

    settings = Settings(model="anthropic:claude-haiku-4-5", trigger=0.9)
    settings = dataclasses.replace(settings, window="200k")

``precedence.resolve`` makes them from arguments, a session, files and the environment. The table in docs/settings.md
is made from this file. Pure but for ``~`` in a directory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from ullage.codec.blocks import Effort, Options
from ullage.codec.wires import WIRES
from ullage.context.choice import ordered
from ullage.context.policy import KEEP, REATTACH_TOKENS
from ullage.context.strategy import Strategy
from ullage.display.text import quoted
from ullage.errors import SettingError
from ullage.meter.counting import CountMode
from ullage.models.endpoints import read_endpoints
from ullage.models.providers import ProviderRow
from ullage.reasoning import ReasoningPolicy, Strip
from ullage.wire.endpoints import Destination, Endpoint, destination_of, endpoint_for
from ullage_agent.loop.budgets import Budget
from ullage_agent.runtime import authority
from ullage_agent.runtime import setting_values as values
from ullage_agent.runtime.authority import Authority
from ullage_agent.runtime.policy import LARGEST_SETTING
from ullage_agent.runtime.setting_values import McpServerSetting, RateLimits, ValueReader
from ullage_agent.tools.other_names import explained

Place = Literal[
    "argument", "session", "environment", "project file", "user file", "default"
]
"""Where a setting can be set; ``default`` is what the program takes where nothing else sets it."""


class Meaning(NamedTuple):
    """The documentation of a setting, how its value is read, and who may set it."""

    meaning: str
    read: ValueReader
    unit: str = ""
    who: Authority = authority.ANYONE
    """Who may set it besides the operator, and how far."""
    default: str = ""
    """The default in words, if the value alone does not show it."""
    per_model: bool = False
    """Whether a table of one model may set it."""


def _setting(
    default: Any,
    meaning: str,
    read: ValueReader,
    *,
    unit: str = "",
    who: Authority = authority.ANYONE,
    default_text: str = "",
    per_model: bool = False,
) -> Any:
    described = {"setting": Meaning(meaning, read, unit, who, default_text, per_model)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=described)
    return dataclasses.field(default=default, metadata=described)


_COUNT: Final = values.whole(1, LARGEST_SETTING)
_FROM_NONE: Final = values.whole(0, LARGEST_SETTING)
_SECONDS: Final = values.real(0.001, 7 * 86_400)
_USD: Final = values.real(0.000001, 1_000_000)

_SHARE: Final = values.real(0.001, 0.999)

BUDGET: Final = values.fields_of(
    Budget,
    {
        "calls": _COUNT,
        "tool_calls": _COUNT,
        "tokens": _COUNT,
        "input": _COUNT,
        "output": _COUNT,
        "usd": _USD,
        "seconds": _SECONDS,
    },
)
RATES: Final = values.fields_of(
    RateLimits, {"requests": _COUNT, "input_tokens": _COUNT, "output_tokens": _COUNT}
)
REASONING: Final[Mapping[str, Strip]] = {
    "all": "none",
    "last": "all_but_last",
    "none": "all",
}
"""The words of the setting ``reasoning``, and what each leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each key. Raises ``SettingError`` for a value that a key can't take.

    ``None`` means "not set": docs/settings.md has the default, and the meaning of each key.
    """

    # -- the model --
    model: str = _setting(
        "",
        "the model, with its provider before it: `anthropic:claude-haiku-4-5`",
        values.text,
        who=authority.CHOICE,
    )
    fallback: tuple[str, ...] = _setting(
        (),
        "models that continue a turn, one after the other, where the one before fails "
        "([fallback models](agent.md#fallback-models))",
        values.names,
        who=authority.CHOICE,
    )
    base_url: str = _setting(
        "", "another address of the provider, a gateway or a local server", values.text,
        default_text="the provider's", who=authority.BASE_URL,
    )  # fmt: skip
    wire: str = _setting(
        "",
        "the API format of the requests",
        values.one_of("", *WIRES),
        default_text="the provider's usual one",
        who=authority.CHOICE,
    )
    endpoints: Mapping[str, ProviderRow] = _setting(
        {}, "servers of your own by name: `base_url`, `wire`, `key_env`, `auth`; their models are `NAME:model`",
        lambda table: read_endpoints(table, WIRES), who=authority.ENDPOINTS,
    )  # fmt: skip
    system: str = _setting("", "the system prompt", values.text)
    instruction_files: tuple[str, ...] = _setting(
        (), "instruction files below the root that follow the system prompt, such as `AGENTS.md`",
        values.inner_files, who=authority.INSTRUCTIONS,
    )  # fmt: skip
    params: Mapping[str, object] = _setting(
        {}, "further fields of the request, as the API spells them; they pass through", values.params,
        per_model=True, who=authority.PARAMS,
    )  # fmt: skip
    max_output: int | None = _setting(
        None, "the largest answer", values.optional(_COUNT),
        unit="tokens", default_text="the wire's own", per_model=True,
    )  # fmt: skip
    effort: Effort | int | None = _setting(
        None, "how much the model reasons: a word of the API, or the most tokens where it has a budget for that",
        values.effort(get_args(Effort)), default_text="the provider's", per_model=True,
    )  # fmt: skip
    temperature: float | None = _setting(
        None, "the sampling temperature", values.optional(values.real(0, 2)),
        default_text="the provider's", per_model=True,
    )  # fmt: skip
    output_by: Literal["schema", "tool"] = _setting(
        "schema",
        "how the answer of an `output_type` is asked for: by a `schema` in the request's own field, or by a `tool` "
        "whose arguments are the answer ([answers of a type](agent.md#answers-of-a-type))",
        values.one_of("schema", "tool"),
    )
    stream: bool = _setting(
        True, "whether an answer is shown while it streams", values.flag
    )
    background: bool = _setting(
        False,
        "whether the provider keeps an answer and finishes it where its reader dies, so that it is fetched and not "
        "paid again ([a kill costs nothing twice](loop.md#a-kill-costs-nothing-twice))",
        values.flag,
        who=authority.RETENTION,
    )
    reasoning: Literal["all", "last", "none"] = _setting(
        "all",
        "which earlier reasoning is sent back, and so counted: `all`, that of the `last` message that has any, `none`",
        values.one_of(*REASONING),
    )
    models: Mapping[str, Mapping[str, object]] = _setting(
        {},
        "settings of single models, by name with or without the provider",
        values.table,
        who=authority.MODELS,
    )

    # -- the window --
    window: int | None = _setting(
        None, "the model's context window; wins over provider, error and catalogue",
        values.optional(_COUNT), unit="tokens", default_text="the model's, else *unknown*", per_model=True,
    )  # fmt: skip
    reserve: int | None = _setting(
        None, "tokens kept free for the answer", values.optional(_FROM_NONE), unit="tokens",
        default_text="16,000, at most the model's maximum output and a fifth of the window", per_model=True,
    )  # fmt: skip
    trigger: float | int = _setting(
        0.8,
        "where compaction starts",
        values.trigger,
        unit="share of the window up to 1, tokens above",
        per_model=True,
    )
    auto: bool = _setting(True, "whether compaction starts by itself", values.flag)
    estimator: str | Callable[[str], float] = _setting(
        "auto", "how text is counted: `auto` (`bpe` where installed, else `pretoken`), `bpe`, `pretoken`, `quarter` "
        "(length/4), `gemini-cli`; in Python also a function", values.estimator,
    )  # fmt: skip
    count: CountMode = _setting(
        "auto",
        "when the provider is asked to count a request: `auto` (before a first call, with new images or files, and "
        "where the interval leaves a decision open; never by a gateway), `always`, `never`",
        values.one_of(*get_args(CountMode)),
        who=authority.EFFORT,
    )

    # -- compaction --
    strategy: tuple[str | Strategy, ...] = _setting(
        ("hybrid",),
        "how a session is compacted: `hybrid` (every way), `llm` (a summary), `prune` (tool results), `noop` (never), "
        "or strategies in the order in which they are tried; in Python also objects",
        values.strategies, default_text="`hybrid`",
    )  # fmt: skip
    keep: float = _setting(
        KEEP, "how much of the newest messages a summary leaves unchanged",
        _SHARE, unit="share of their tokens",
    )  # fmt: skip
    protect_tokens: int = _setting(
        40_000, "how much of the newest tool results is never cleared, at most a quarter of the input limit",
        _FROM_NONE, unit="tokens",
    )  # fmt: skip
    reattach_tokens: int = _setting(
        REATTACH_TOKENS,
        "how much of the files last read or edited follows a summary, at most a tenth of the input limit; 0: nothing",
        _FROM_NONE,
        unit="tokens",
    )
    room_note: bool = _setting(
        False,
        "whether the model is told before each compaction how much room is left, and asked to write down what it needs "
        "([the agent knows its room](agent.md#the-agent-knows-its-room))",
        values.flag,
    )
    summary_model: str = _setting(
        "",
        "the model that summarises",
        values.text,
        default_text="the session's",
        who=authority.CHOICE,
    )
    summary_instructions: str = _setting(
        "", "further instructions for summaries", values.text
    )

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
        "how often the same tool call, or a cycle of up to three, may repeat before the turn ends",
        values.whole(1, 1_000_000),
        unit="calls",
        who=authority.EFFORT,
    )
    tries: int = _setting(
        4,
        "how often a request is sent until an answer begins, including the first time; after an answer that broke off, "
        "at most three times",
        values.whole(1, 100),
        who=authority.EFFORT,
    )
    rates: RateLimits = _setting(
        RateLimits(), "the most a minute to a model, of all processes of a store together: `requests`, `input_tokens` "
        "that were not read from a cache, `output_tokens`", RATES,
        default_text="as the provider says", who=authority.RATES,
    )  # fmt: skip
    timeout: float = _setting(
        600.0,
        "how long an answer may take to begin, and a tool call to end; a pause in an answer may last three tenths of "
        "it, an answer six times as long",
        _SECONDS,
        unit="seconds",
    )
    budget: Budget = _setting(
        Budget(), "what a turn may use, counted from zero when it is resumed: `usd`, `tokens`, `input`, `output`, "
        "`calls` of models (with those of subagents and summaries), `tool_calls`, `seconds`", BUDGET,
        default_text="no limit", who=authority.BUDGET,
    )  # fmt: skip
    session_budget: Budget = _setting(
        Budget(), "what the whole session may use: the same without `seconds`", BUDGET,
        default_text="no limit", who=authority.BUDGET,
    )  # fmt: skip
    cancel_tools: Literal["stop", "finish"] = _setting(
        "stop",
        "the effect of a cancel on running tools: `stop` ends them, `finish` lets them end and starts no others",
        values.one_of("stop", "finish"),
    )  # fmt: skip

    cancel_queue: Literal["return", "keep"] = _setting(
        "return",
        "the effect of a cancel on queued messages: `return` gives them back, `keep` leaves them in the queue",
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
        "tools that need a person's approval before each call, by name; `mcp` is every tool of an MCP server, and `*`, "
        "or `true`, every tool",
        values.tools_to_ask,
        who=authority.APPROVE,
    )
    mcp: Mapping[str, McpServerSetting] = _setting(
        {}, "MCP servers by name: `command`, `args`, `env`, `cwd`; or `url`, `headers`; `enabled`",
        values.servers, who=authority.MCP,
    )  # fmt: skip
    root: Path | None = _setting(
        None, "the directory that file tools are confined to; in a file, relative to the file",
        values.optional(values.directory), default_text="where the program was started", who=authority.ROOT,
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
        values.directories,
        who=authority.SANDBOX_PLACES,
    )
    sandbox_write: tuple[Path, ...] = _setting(
        (),
        "further directories that commands may write, absolute or from `~/`; one is a repository's `.git` in the root",
        values.directories,
        who=authority.SANDBOX_PLACES,
    )
    defer_tools: Literal["auto", "always", "never"] = _setting(
        "auto",
        "whether tools are declared only after the model has searched for them: `auto` if they exceed a tenth of the "
        "window, `always`, `never`",
        values.one_of("auto", "always", "never"),
    )
    always_declare: tuple[str, ...] = _setting(
        (), "tools that are never deferred, by name", values.names
    )
    file_history: bool = _setting(
        True,
        "whether what tools change in the root is kept, so that a rewind can restore it ([rewind](rewind.md))",
        values.flag,
    )
    recall: Literal["auto", "always", "never"] = _setting(
        "auto",
        "whether the model can ask for what left its window: `auto` from the first compaction on, if it has other "
        "tools, `always`, `never`",
        values.one_of("auto", "always", "never"),
    )
    sequential_tools: bool = _setting(
        False, "whether tools run one after another", values.flag
    )
    result_tokens: int = _setting(
        10_000, "how much of one result the model gets at once; the rest is stored and can be read", _COUNT,
        unit="tokens",
    )  # fmt: skip

    # -- storing --
    lease_ttl_s: float = _setting(
        10.0,
        "how long a driver that no longer responds holds its session",
        values.real(1, 3_600),
        unit="seconds",
    )

    def __post_init__(self) -> None:
        for key, meaning in _MEANINGS.items():
            object.__setattr__(self, key, read_value(key, getattr(self, key), meaning))
        for model in self.fallback:
            destination_of(model, endpoints=self.endpoints)

    def destination(self) -> Destination:
        """The provider of the model that is set. Raises ``SettingError``."""
        return destination_of(
            self.model,
            base_url=self.base_url,
            wire=self.wire,
            endpoints=self.endpoints,
        )

    def endpoint(
        self, environment: Mapping[str, str], model: str = ""
    ) -> tuple[Endpoint, str]:
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
    def compacts(self) -> bool:
        """Whether a session compacts by itself: ``auto``, with a strategy that may run."""
        return self.auto and bool(ordered(self.strategy))

    @property
    def policy(self) -> ReasoningPolicy:
        """Which earlier reasoning is sent."""
        return ReasoningPolicy(strip=REASONING[self.reasoning])

    @property
    def options(self) -> Options:
        """The parameters of a call besides its content."""
        return Options(
            max_output=self.max_output,
            temperature=self.temperature,
            effort=self.effort if isinstance(self.effort, str) else None,
            thinking_budget=self.effort if isinstance(self.effort, int) else None,
            background=self.background,
        )


_MEANINGS: Final[Mapping[str, Meaning]] = {
    one.name: cast(Meaning, one.metadata["setting"])
    for one in dataclasses.fields(Settings)
}
KEYS: Final = tuple(_MEANINGS)
"""Every key, in the order of the documentation."""
PER_MODEL: Final = tuple(key for key, meaning in _MEANINGS.items() if meaning.per_model)
"""The keys that a table of one model may set."""
TABLES: Final = ("params", "mcp", "models", "endpoints")
"""Settings whose entries are looked up one by one."""
LISTS: Final = frozenset(
    one.name for one in dataclasses.fields(Settings) if isinstance(one.default, tuple)
)
"""Settings that hold a list."""


def meaning_of(key: str) -> Meaning:
    """What a key means. Raises ``SettingError`` for an unknown one, with the nearest."""
    meaning = _MEANINGS.get(key)
    if meaning is None:
        raise SettingError(explained(key, KEYS))
    return meaning


def environment_name(key: str) -> str:
    """The environment variable of a key; empty for a table, which none can hold."""
    meaning_of(key)
    return "" if key in TABLES else f"ULLAGE_{key.upper()}"


def read_value(key: str, given: object, meaning: Meaning | None = None) -> Any:
    """A key's value as ``Settings`` holds it. Raises ``SettingError``, which names the possible values."""
    try:
        read = (meaning or meaning_of(key)).read(given)
    except ValueError as problem:
        raise SettingError(
            f"{key}={_shown(given)} is not possible: {problem}."
        ) from problem
    return _read_models(read) if key == "models" else read


def from_text(key: str, text: str) -> object:
    """A value that was written as one text, in a variable or a terminal, where commas part the names of a list."""
    return values.split(text) if key in LISTS else text


def _read_models(tables: Mapping[str, object]) -> dict[str, dict[str, object]]:
    read: dict[str, dict[str, object]] = {}
    for model, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(
                f"models.{model} can't be {_shown(table)}: give a table of {', '.join(PER_MODEL)}."
            )
        for key in table:
            if key not in PER_MODEL:
                raise SettingError(f"models.{model}: {explained(str(key), PER_MODEL)}")
        read[model] = {key: read_value(key, value) for key, value in table.items()}
    return read


def _shown(given: object) -> str:
    if isinstance(given, Mapping):
        return "{…}"  # a table may hold secrets
    return quoted(given)
