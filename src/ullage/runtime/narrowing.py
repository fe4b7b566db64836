"""What counts of the values that a project's file or a session sets, by the ``Authority`` of each setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ullage.codec.params import unowned
from ullage.runtime.settings import Settings, meaning_of


class Beyond(NamedTuple):
    """A value, or a part of it, that does not count. ``may_be_asked``: it counts once the user agrees to the file."""

    key: str
    what: str
    may_be_asked: bool = False


class Counting(NamedTuple):
    """The values that count, and what does not."""

    said: dict[str, object]
    beyond: list[Beyond]


def of_project(said: Mapping[str, object], *, is_agreed: bool, wire: str) -> Counting:
    """What a project's file may set; with ``is_agreed``, the user has looked at the file and agreed to it."""
    counting, harmless = Counting({}, []), Settings()
    for key, value in said.items():
        who = meaning_of(key).who
        if who.project == "any":
            counting.said[key] = value
        elif who.project == "never" or (who.project == "asked" and not is_agreed):
            counting.beyond.append(Beyond(key, shown(value), who.project == "asked"))
        elif is_agreed or who.narrow is None:
            counting.said[key] = _without_owned(key, value, wire)
        else:
            kept = who.narrow(value, getattr(harmless, key), wire)
            counting.said[key] = kept.value
            if kept.dropped:
                counting.beyond.append(Beyond(key, kept.dropped, may_be_asked=True))
    return counting


def of_session(said: Mapping[str, object], ceiling: Settings, wire: str) -> Counting:
    """What a session may set within the operator's settings."""
    counting = Counting({}, [])
    for key, value in said.items():
        who = meaning_of(key).who
        if who.session == "any":
            counting.said[key] = value
        elif who.session == "never" or who.narrow is None:
            counting.beyond.append(Beyond(key, shown(value)))
        else:
            kept = who.narrow(value, getattr(ceiling, key), wire)
            counting.said[key] = kept.value
            if kept.dropped:
                counting.beyond.append(Beyond(key, kept.dropped))
    return counting


def _without_owned(key: str, value: object, wire: str) -> object:
    """The encoder's own fields are nobody's to set, agreed or not."""
    if key == "params" and isinstance(value, Mapping):
        return dict(unowned(value, wire))
    if key == "models" and isinstance(value, Mapping):
        return {
            model: {name: _without_owned(name, one, wire) for name, one in table.items()}
            for model, table in value.items()
        }
    return value


def shown(value: object) -> str:
    """A value on one line, whole, with everything that is not plain ASCII escaped."""
    return json.dumps(plain_value(value))


def plain_value(value: object) -> object:
    """A value as JSON has it."""
    return _without_empty(msgspec.to_builtins(value, enc_hook=str))


def _without_empty(value: object) -> object:
    """MCP servers have a field for everything; what is empty says nothing."""
    if isinstance(value, dict) and {"command", "url", "enabled"} <= value.keys():
        return {name: one for name, one in value.items() if one not in ("", [], {}, True)}
    if isinstance(value, dict):
        return {name: _without_empty(one) for name, one in value.items()}
    return value
