"""``typing.NamedTuple`` without ``typing``, whose import takes a fifth of a status line's time."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class _Records(type):
        """Makes each class below ``Record`` a named tuple of its annotated fields."""

        def __new__(made_by, name, bases, content):
            if not bases:
                return super().__new__(made_by, name, bases, content)
            fields = content["__annotations__"]
            defaults = [content.pop(each) for each in fields if each in content]
            made = namedtuple(
                name, fields, defaults=defaults, module=content["__module__"]
            )
            for key in content.keys() - {"__module__", "__qualname__", "__dict__"}:
                setattr(made, key, content[key])
            return made

    class Record(metaclass=_Records):
        """A named tuple."""


__all__ = ["Record"]
