"""What a loop gives its Meter, checked before anything changes: types, names, and the shape of a request body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from ullage.codec.framework_usage import is_function
from ullage.errors import InputError, InvalidRequest, SettingError, WrongType
from ullage.events import Envelope, FirstCall, Outcome, Purpose
from ullage.messages import Message, Request
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration

UNCHANGED: Final = "Nothing was changed."

_PLAIN = (str, bytes, bytearray, bool, int, float, list, tuple, set, frozenset)
"""Types that are no object of an SDK."""

_TEXT_OR_LIST: Final = (str, list, tuple, type(None))
_LIST: Final = (list, tuple, type(None))

_ITEM_FIELDS: Final[Mapping[str, tuple[type, ...]]] = {
    "messages": (list, tuple),
    "input": (str, list, tuple),
    "contents": (str, list, tuple),
}
"""The field of a wire that holds the conversation, and what it may be."""

_HEAD_FIELDS: Final[Mapping[str, tuple[type, ...]]] = {
    "model": (str, type(None)),
    "system": _TEXT_OR_LIST,
    "instructions": _TEXT_OR_LIST,
    "tools": _LIST,
}

_ANSWER_FIELDS: Final = frozenset(
    (
        "candidates",
        "choices",
        "content",
        "delta",
        "function_call",
        "message",
        "output",
        "parts",
        "reasoning_content",
        "refusal",
        "role",
        "text",
        "tool_calls",
        "type",
    )
)
"""Fields that an answer of a wire, or its content, has at least one of."""


# -- of a request --


def check_body(body: object) -> None:
    """Raises ``InvalidRequest`` for a body whose conversation no wire could be sent; an SDK checks its own objects."""
    if isinstance(body, Request) or not isinstance(body, Mapping):
        return
    for name, kinds in _HEAD_FIELDS.items():
        if name in body and not isinstance(body[name], kinds):
            raise _bad_field(name, body[name], kinds)
    for name in ("tools", "system"):
        _check_objects(body.get(name), f"{name}[{{}}]")
    for name, kinds in _ITEM_FIELDS.items():
        if name not in body:
            continue
        items = body[name]
        if isinstance(items, list | tuple):
            _check_items(name, items)
        elif not isinstance(items, kinds):
            raise _bad_field(name, items, kinds)


def _check_items(field: str, items: Sequence[Any]) -> None:
    _check_objects(items, f"{field}[{{}}]")
    inner = "parts" if field == "contents" else "content"
    for place, item in enumerate(items):
        if not isinstance(item, Mapping):
            continue
        role = item.get("role", "")
        if not isinstance(role, str) or (field == "messages" and not role):
            raise InvalidRequest(
                f"{field}[{place}].role is the speaker's name, such as 'user', and not {role!r:.60}. {UNCHANGED}"
            )
        content = item.get(inner)
        kinds = _LIST if field == "contents" else _TEXT_OR_LIST
        if not isinstance(content, kinds):
            raise _bad_field(f"{field}[{place}].{inner}", content, kinds)
        _check_objects(content, f"{field}[{place}].{inner}[{{}}]")


def _check_objects(items: object, name: str) -> None:
    """Raise where an item of a list is no object: it would not be counted."""
    if not isinstance(items, list | tuple):
        return
    for place, item in enumerate(items):
        if item is None or isinstance(item, _PLAIN):
            raise InvalidRequest(
                f"{name.format(place)} is an object (a dict or an SDK's), and not {type(item).__name__}. {UNCHANGED}"
            )


def _bad_field(name: str, value: object, kinds: tuple[type, ...]) -> InvalidRequest:
    wanted = "a list"
    if str in kinds:
        wanted = "a text" if list not in kinds else "a text or a list"
    found = type(value).__name__
    return InvalidRequest(f"{name} is {wanted}, and not {found}. {UNCHANGED}")


# -- of an answer --


def check_answer(output: object) -> None:
    """Raises ``InputError`` for what is no answer, and no content of one."""
    if output is None or isinstance(output, str | Message):
        return
    if isinstance(output, Mapping):
        if output and not _ANSWER_FIELDS.intersection(output):
            listed = ", ".join(sorted(map(str, output))[:8])
            raise InputError(
                f"output is the answer or its content; this has none of their fields, but {listed}. {UNCHANGED}"
            )
        return
    if isinstance(output, list | tuple):
        for place, item in enumerate(output):
            if item is None or isinstance(item, _PLAIN):
                raise WrongType(
                    f"output[{place}] is a block of the answer, and not {type(item).__name__}. {UNCHANGED}"
                )
        return
    if not _is_object(output):
        raise WrongType(
            f"output is the answer or its content, and not {type(output).__name__}. {UNCHANGED}"
        )


def check_context_management(value: object) -> None:
    """Raises ``WrongType`` for what is no such field of an answer."""
    if value is not None and not isinstance(value, Mapping) and not _is_object(value):
        raise WrongType(
            f"context_management is that field of the answer, and not {type(value).__name__}. {UNCHANGED}"
        )


def _is_object(value: object) -> bool:
    """Whether it is an object with fields: of an SDK, not a plain value, class or function."""
    if isinstance(value, (*_PLAIN, type, BaseException)) or is_function(value):
        return False
    has_fields = hasattr(value, "model_dump") or hasattr(value, "to_dict")
    return has_fields or bool(getattr(value, "__dict__", None))


# -- names and numbers --


def check_text(name: str, value: object) -> None:
    """Raises ``WrongType`` for what is no text."""
    if not isinstance(value, str):
        raise WrongType(f"{name} is a str, and not {type(value).__name__}. {UNCHANGED}")


def check_flag(name: str, value: object) -> None:
    """Raises ``WrongType`` for what is neither True nor False."""
    if not isinstance(value, bool):
        raise WrongType(f"{name} is a bool, and not {type(value).__name__}. {UNCHANGED}")


def check_count(name: str, value: object, unit: str) -> None:
    """Raises ``WrongType`` for what is no whole number, ``InputError`` for one below zero."""
    if isinstance(value, bool) or not isinstance(value, int):
        found = type(value).__name__
        raise WrongType(f"{name} is a number of {unit}, and not {found}. {UNCHANGED}")
    if value < 0:
        raise InputError(f"{name} is {value}: there are no {unit} below 0. {UNCHANGED}")


def check_purpose(value: object) -> None:
    """Raises ``InputError`` for no known purpose of a call."""
    _check_choice("purpose", value, get_args(Purpose))


def check_outcome(value: object) -> None:
    """Raises ``InputError`` for no known outcome of a call."""
    _check_choice("outcome", value, get_args(Outcome))


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise WrongType(f"{name} is a str, and not {type(value).__name__}. {UNCHANGED}")
    if value not in choices:
        listed = ", ".join(choices)
        raise InputError(f"{name} is one of {listed}, and not {value!r:.60}. {UNCHANGED}")


def check_event(event: object) -> None:
    """Raises ``WrongType`` for what is no event."""
    if not isinstance(event, Envelope):
        raise WrongType(f"apply takes an event, and not {type(event).__name__}.")


def check_message(message: object) -> None:
    """Raises ``WrongType`` for what is no ``Message``."""
    if not isinstance(message, Message):
        raise WrongType(f"This takes a Message, and not {type(message).__name__}.")


def check_messages(messages: object) -> None:
    """Raises ``WrongType`` for what is no tuple of messages."""
    if messages is None:
        return
    if not isinstance(messages, tuple):
        found = type(messages).__name__
        raise WrongType(f"messages is a tuple of Message, and not {found}.")
    if messages:
        check_message(messages[0])


# -- of the Meter --


def check_settings(values: Mapping[str, object]) -> None:
    """Raises ``SettingError`` for an argument of the Meter of a type that it can't be."""
    for name in ("model", "wire", "provider", "session"):
        _check_setting(name, values[name], isinstance(values[name], str), "a text")
    for name in ("window", "default_window", "reserve"):
        value = values[name]
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        _check_setting(name, value, value is None or is_whole, "a number of tokens")
        if isinstance(value, int) and value < 1 and name != "reserve":
            raise SettingError(f"{name}={value} is no window: give its tokens, or None.")
    trigger = values["trigger"]
    is_number = isinstance(trigger, int | float) and not isinstance(trigger, bool)
    wanted = "a share up to 1, or tokens above 1"
    _check_setting("trigger", trigger, trigger is None or is_number, wanted)
    _check_setting("auto", values["auto"], isinstance(values["auto"], bool), "a bool")
    estimator = values["estimator"]
    is_estimator = isinstance(estimator, str) or callable(estimator)
    _check_setting("estimator", estimator, is_estimator, "a name or a function")
    _check_kind("calibration", values["calibration"], Calibration)
    _check_kind("policy", values["policy"], ReasoningPolicy)
    settings = values["client_settings"]
    is_table = isinstance(settings, Mapping)
    _check_setting("client_settings", settings, is_table, "a table by name")
    _check_overhead(values["overhead"])
    on_event: Callable[..., object] | object | None = values["on_event"]
    is_function = on_event is None or callable(on_event)
    _check_setting("on_event", on_event, is_function, "a function")


def _check_overhead(overhead: object) -> None:
    is_list = isinstance(overhead, list | tuple)
    _check_setting("overhead", overhead, is_list, "a list of FirstCall")
    assert isinstance(overhead, list | tuple)
    for call in overhead:
        is_call = isinstance(call, FirstCall)
        _check_setting("overhead", call, is_call, "a list of FirstCall")


def _check_kind(name: str, value: object, kind: type) -> None:
    is_right = value is None or isinstance(value, kind)
    _check_setting(name, value, is_right, f"a {kind.__name__}")


def _check_setting(name: str, value: object, is_right: bool, wanted: str) -> None:
    if not is_right:
        found = type(value).__name__
        raise SettingError(f"{name} is {wanted}, and not {found}: {value!r:.60}.")
