"""What a loop gives its Meter, checked before anything changes: types, names, and the shape of a request body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from ullage.codec.framework_usage import is_function
from ullage.errors import InputError, InvalidRequest, SettingError, WrongType
from ullage.events import FirstCall, Outcome, Purpose
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


def check_kind(name: str, value: object, kind: type) -> None:
    """Raises ``WrongType`` for a value of another type."""
    if not isinstance(value, kind):
        found = type(value).__name__
        raise WrongType(f"{name} is a {kind.__name__}, and not {found}. {UNCHANGED}")


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
    check_kind(name, value, str)
    if value not in choices:
        listed = ", ".join(choices)
        raise InputError(f"{name} is one of {listed}, and not {value!r:.60}. {UNCHANGED}")


# -- of the Meter --

_TEXT: Final = ((str,), "a text")
_TOKENS: Final = ((int, type(None)), "a number of tokens")
_FUNCTION: Final = ((Callable, type(None)), "a function")
_FIRST_CALLS: Final = ((list, tuple), "a list of FirstCall")

_SETTINGS: Final[Mapping[str, tuple[tuple[Any, ...], str]]] = {
    "model": _TEXT,
    "wire": _TEXT,
    "provider": _TEXT,
    "session": _TEXT,
    "window": _TOKENS,
    "default_window": _TOKENS,
    "reserve": _TOKENS,
    "trigger": ((int, float, type(None)), "a share up to 1, or tokens above 1"),
    "auto": ((bool,), "a bool"),
    "estimator": ((str, Callable), "a name or a function"),
    "calibration": ((Calibration, type(None)), "a Calibration"),
    "policy": ((ReasoningPolicy, type(None)), "a ReasoningPolicy"),
    "client_settings": ((Mapping,), "a table by name"),
    "overhead": _FIRST_CALLS,
    "on_event": _FUNCTION,
}
"""What each argument may be, as types and in words."""


def check_settings(values: Mapping[str, Any]) -> None:
    """Raises ``SettingError`` for an argument of the Meter of a type that it can't be."""
    for name, (kinds, wanted) in _SETTINGS.items():
        value = values[name]
        is_stray_bool = isinstance(value, bool) and bool not in kinds
        if is_stray_bool or not isinstance(value, kinds):
            raise _bad_setting(name, value, wanted)
    for name in ("window", "default_window"):
        if values[name] is not None and values[name] < 1:
            raise SettingError(
                f"{name}={values[name]} is no window: give its tokens, or None."
            )
    for call in values["overhead"]:
        if not isinstance(call, FirstCall):
            raise _bad_setting("overhead", call, _FIRST_CALLS[1])


def _bad_setting(name: str, value: object, wanted: str) -> SettingError:
    found = type(value).__name__
    return SettingError(f"{name} is {wanted}, and not {found}: {value!r:.60}.")
