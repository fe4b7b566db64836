"""What is no input of a Meter: an error with a clear text, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.cases import case, filled
from tests.processes import run_python
from ullage import Meter
from ullage.errors import InputError, InvalidRequest, SettingError, UllageError

BODY: dict[str, Any] = {
    "model": "nobody-knows-this",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "One"}],
}
USAGE = {"input_tokens": 20, "output_tokens": 5}

VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    float("nan"),
    "x",
    "",
    b"x",
    [],
    ["x"],
    [5],
    {},
    {"a": 1},
    {1: 2},
    (),
    set(),
    object(),
    int,
    len,
    ValueError("x"),
)
"""One value of each type that a program may give by mistake."""

METHODS: Mapping[str, Callable[[Meter, str, Any], object]] = {
    "before(value)": lambda meter, call, value: meter.before(value),
    "before(call)": lambda meter, call, value: meter.before(BODY, call=value),
    "before(purpose)": lambda meter, call, value: meter.before(BODY, purpose=value),
    "before(mark)": lambda meter, call, value: meter.before(BODY, mark=value),
    "before(messages)": lambda meter, call, value: meter.before(
        BODY | {"messages": value}
    ),
    "before(message)": lambda meter, call, value: meter.before(
        BODY | {"messages": [value]}
    ),
    "before(role)": lambda meter, call, value: meter.before(
        BODY | {"messages": [{"role": value, "content": "x"}]}
    ),
    "before(content)": lambda meter, call, value: meter.before(
        BODY | {"messages": [{"role": "user", "content": value}]}
    ),
    "before(block)": lambda meter, call, value: meter.before(
        BODY | {"messages": [{"role": "user", "content": [value]}]}
    ),
    "before(input)": lambda meter, call, value: meter.before({"input": value}),
    "before(contents)": lambda meter, call, value: meter.before({"contents": value}),
    "before(parts)": lambda meter, call, value: meter.before(
        {"contents": [{"parts": value}]}
    ),
    "before(tools)": lambda meter, call, value: meter.before(BODY | {"tools": value}),
    "before(tool)": lambda meter, call, value: meter.before(BODY | {"tools": [value]}),
    "before(system)": lambda meter, call, value: meter.before(BODY | {"system": value}),
    "before(model)": lambda meter, call, value: meter.before(BODY | {"model": value}),
    "counted(body)": lambda meter, call, value: meter.counted(value, 5),
    "counted(tokens)": lambda meter, call, value: meter.counted(BODY, value),
    "after(call)": lambda meter, call, value: meter.after(value, USAGE),
    "after(usage)": lambda meter, call, value: meter.after(call, value),
    "after(output)": lambda meter, call, value: meter.after(call, USAGE, value),
    "after(outcome)": lambda meter, call, value: meter.after(call, USAGE, outcome=value),
    "after(purpose)": lambda meter, call, value: meter.after(call, USAGE, purpose=value),
    "after(context_management)": lambda meter, call, value: meter.after(
        call, USAGE, context_management=value
    ),
    "apply": lambda meter, call, value: meter.apply(value),
    "largest": lambda meter, call, value: meter.largest(value),
    "usage_of": lambda meter, call, value: meter.usage_of(value),
    "request(stream)": lambda meter, call, value: meter.request(stream=value),
    "request(messages)": lambda meter, call, value: meter.request(messages=value),
}


def test_any_value_works_or_is_an_error_that_changes_nothing() -> None:
    for method in filled(METHODS):
        with case(method):
            for value in VALUES:
                meter = Meter("anthropic:nobody-knows-this")
                call = meter.before(BODY).call
                before = meter.reading(), meter.messages
                try:
                    METHODS[method](meter, call, value)
                except InputError as problem:
                    assert len(str(problem)) > 20
                    assert (meter.reading(), meter.messages) == before, value
                    meter.after(call, USAGE, "Yes.")
                    assert meter.reading().basis.last_input == 20


WRONG: Mapping[str, tuple[object, ...]] = {
    "before(value)": (None, [], {}, "x", {"messages": "x"}, {"messages": None}, 5),
    "after(call)": ("", "call-2", "unknown", None, 5, ["call-1"]),
    "after(usage)": ("x", 5, -1, [], [USAGE], True, object()),
    "after(output)": (5, -1.5, True, b"x", [5], {"a": 1}, len),
    "after(outcome)": ("done", None, 5),
    "after(purpose)": ("title", "nothing", 5),
    "counted(tokens)": (-1, "5", None, 1.5, True),
    "apply": (None, {}, "x"),
    "largest": (-1, None, "x"),
}


@pytest.mark.parametrize("method", WRONG)
def test_what_can_only_be_a_mistake_is_an_error(method: str) -> None:
    for value in WRONG[method]:
        meter = Meter("anthropic:nobody-knows-this")
        call = meter.before(BODY).call
        with pytest.raises(InputError):
            METHODS[method](meter, call, value)


def test_a_body_error_names_the_field() -> None:
    meter = Meter("openai:nobody-knows-this")
    body = {
        "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": 5}]
    }
    with pytest.raises(
        InvalidRequest, match=r"messages\[1\]\.content is a text or a list"
    ):
        meter.before(body)
    with pytest.raises(InvalidRequest, match="messages is a list, and not str"):
        meter.before({"messages": "x"})


def test_a_call_ends_once_with_the_purpose_it_began_with() -> None:
    meter = Meter("anthropic:nobody-knows-this")
    call = meter.before(BODY, purpose="summary").call
    with pytest.raises(InputError, match="begun with purpose='summary'"):
        meter.after(call, USAGE, purpose="main")
    meter.after(call, USAGE)
    assert meter.reading().spend.by_purpose["summary"].input == 20
    with pytest.raises(InputError, match="no open call"):
        meter.after(call, USAGE)


def test_a_usage_that_contradicts_itself_gives_a_note() -> None:
    meter = Meter("openai:nobody-knows-this")
    call = meter.before(BODY).call
    reading = meter.after(
        call,
        {
            "input_tokens": 20,
            "output_tokens": 5,
            "total_tokens": 25,
            "input_token_details": {"cache_read": 90},
        },
    )
    assert reading.basis.last_input == 20
    assert any("the cache read is more than the input" in note for note in reading.notes)
    call = meter.before(BODY).call
    reading = meter.after(call, {"prompt_tokens": 20, "completion_tokens": 5})
    assert not any("contradicts" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("usage", "note"),
    [
        ({"input_tokens": -5, "output_tokens": 1}, "is negative"),
        ({"some": "thing"}, "is under no known name: some"),
        ({"requests": 3, "details": {}, "input_tokens": 90}, "sum of several calls"),
    ],
    ids=["negative", "unknown", "sum"],
)
def test_an_unusable_usage_gives_a_note(usage: dict[str, Any], note: str) -> None:
    meter = Meter("anthropic:nobody-knows-this")
    call = meter.before(BODY).call
    reading = meter.after(call, usage)
    assert any(note in one for one in reading.notes), reading.notes


SETTINGS = (
    "model",
    "wire",
    "provider",
    "window",
    "reserve",
    "trigger",
    "auto",
    "default_window",
    "calibration",
    "overhead",
    "estimator",
    "policy",
    "session",
    "endpoints",
    "client_settings",
    "on_event",
)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_argument_of_the_meter_works_or_is_a_setting_error(name: str) -> None:
    refused = 0
    for value in VALUES:
        given: dict[str, Any] = {name: value}
        try:
            Meter(**given)
        except UllageError as problem:
            refused += 1
            assert isinstance(problem, SettingError | InputError)
            assert name in str(problem)
    assert refused >= 10


HOST = """
import ullage
from ullage_agent.runtime.agent import Agent
import logging
meter = ullage.Meter("openai:nobody-knows-this", window=9_000)
body = {"messages": [{"role": "user", "content": "One " * 300}]}
for given in (20, 9, 400, 390):
    call = meter.before(body).call
    meter.after(call, {"prompt_tokens": given, "completion_tokens": 3, "total_tokens": given + 3})
    body["messages"] += [{"role": "assistant", "content": "Yes"}, {"role": "user", "content": "Two"}]
logging.getLogger("ullage.agent").warning("not for the host's standard error")
"""


def test_a_host_without_logging_prints_nothing() -> None:
    done = run_python("-c", HOST)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == 0


def test_a_host_that_asks_for_the_log_gets_it() -> None:
    asked = "import logging; logging.basicConfig(level=logging.INFO)\n" + HOST
    done = run_python("-c", asked)
    assert "WARNING:ullage.agent:not for the host" in done.stderr
    assert "INFO:ullage.meter:Context estimate" in done.stderr
