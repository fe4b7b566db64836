"""Edits of JSON with comments, as text: everything outside the edited value stays as it is, to the byte. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ullage.cli.installing.splice import CannotEdit, Splice, newline_of

DEEPEST = 200


@dataclass(slots=True)
class JsonNode:
    """A value and where it stands in the text."""

    start: int
    end: int = 0
    value: Any = None
    members: dict[str, JsonNode] | None = None
    items: list[JsonNode] | None = None
    keys: dict[str, int] = field(default_factory=dict)
    """Where each member's key begins."""
    content_end: int = 0
    """The end of the last member or item, a comma behind it included; the opening bracket's end where there is none."""
    has_trailing_comma: bool = False


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.decoder = json.JSONDecoder()

    def fail(self, expected: str) -> CannotEdit:
        line = self.text.count("\n", 0, self.at) + 1
        return CannotEdit(f"it is not valid JSON: line {line}: expected {expected}")

    def skip(self) -> None:
        """Over blanks, comments and a byte order mark."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r\n\ufeff":
                self.at += 1
            elif self.text.startswith("//", self.at):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", self.at):
                end = self.text.find("*/", self.at)
                if end < 0:
                    raise self.fail("the end of a comment")
                self.at = end + 2
            else:
                return

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def value(self, depth: int = 0) -> JsonNode:
        first = self.peek()
        if depth > DEEPEST:
            raise self.fail("less nesting")
        if first == "{":
            return self.object(depth)
        if first == "[":
            return self.array(depth)
        node = JsonNode(self.at)
        try:
            node.value, self.at = self.decoder.raw_decode(self.text, self.at)
        except (ValueError, RecursionError):
            raise self.fail("a value") from None
        node.end = self.at
        return node

    def object(self, depth: int) -> JsonNode:
        node = JsonNode(self.at, members={}, value={})
        assert node.members is not None
        self.at += 1
        node.content_end = self.at
        while self.peek() != "}":
            start = self.at
            if self.peek() != '"':
                raise self.fail('a key in quotes, or "}"')
            key = self.value(depth + 1).value
            if self.peek() != ":":
                raise self.fail('":"')
            if key in node.members:
                raise CannotEdit(f"the key {key!r} occurs twice")
            self.at += 1
            member = self.value(depth + 1)
            node.members[key] = member
            node.keys[key] = start
            node.value[key] = member.value
            self.comma(node, "}")
        self.at += 1
        node.end = self.at
        return node

    def array(self, depth: int) -> JsonNode:
        node = JsonNode(self.at, items=[], value=[])
        assert node.items is not None
        self.at += 1
        node.content_end = self.at
        while self.peek() != "]":
            item = self.value(depth + 1)
            node.items.append(item)
            node.value.append(item.value)
            self.comma(node, "]")
        self.at += 1
        node.end = self.at
        return node

    def comma(self, node: JsonNode, closing: str) -> None:
        node.content_end = self.at
        node.has_trailing_comma = self.peek() == ","
        if node.has_trailing_comma:
            self.at += 1
            node.content_end = self.at
        elif self.peek() != closing:
            raise self.fail(f'"," or "{closing}"')


def parse(text: str) -> JsonNode:
    """The whole text as nodes. Raises ``CannotEdit`` for what is no JSON object."""
    parser = _Parser(text)
    if not parser.peek():
        raise CannotEdit("it is empty")
    root = parser.value()
    if parser.peek():
        raise parser.fail("the end of the file")
    if root.members is None:
        raise CannotEdit("it holds no JSON object")
    return root


def is_object(text: str) -> bool:
    """Whether a text is empty or a JSON object, comments allowed."""
    try:
        return not text.strip("\ufeff \t\r\n") or parse(text).members is not None
    except CannotEdit:
        return False


def value_at(text: str, path: Sequence[str]) -> Any:
    """The value at a path of keys; ``None`` where there is none."""
    value = parse(text).value if text.strip("\ufeff \t\r\n") else {}
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def setting(text: str, path: Sequence[str], value: object) -> Splice:
    """The change that sets the value at a path, making the objects that are missing on the way."""
    if not text.strip("\ufeff \t\r\n"):
        return Splice(len(text), "", _whole(path, value))
    node = parse(text)
    for depth, key in enumerate(path):
        if node.members is None:
            where = ".".join(path[:depth])
            raise CannotEdit(f"{where!r} is no object")
        if key not in node.members:
            inner = _nested(path[depth + 1 :], value)
            splice = _member(text, node, key, inner)
            return _checked(text, splice, path, value)
        node = node.members[key]
    written = _written(value, text, _indent_before(text, node.start))
    splice = Splice(node.start, text[node.start : node.end], written)
    return _checked(text, splice, path, value)


def appending(text: str, path: Sequence[str], item: object) -> Splice:
    """The change that adds an item to the array at a path, which is made where it is missing."""
    found = value_at(text, path)
    if found is None:
        return setting(text, path, [item])
    node = parse(text)
    for key in path:
        assert node.members is not None
        node = node.members[key]
    if node.items is None:
        where = ".".join(path)
        raise CannotEdit(f"{where!r} is no list")
    unit = _unit(text)
    outer = _indent_before(text, node.start)
    inner = outer + unit
    if node.items:
        inner = _indent_before(text, node.items[0].start)
    splice = _inserted(text, node, inner, outer, _written(item, text, inner))
    return _checked(text, splice, path, [*found, item])


def removing(
    text: str, path: Sequence[str], value: object, before: str, *, is_item: bool
) -> str | None:
    """The text without a value that was set, or with ``before`` again in its place; ``None`` when it is not there."""
    owners = []
    node = parse(text)
    for key in path:
        if node.members is None or key not in node.members:
            return None
        owners.append((node, key))
        node = node.members[key]
    if is_item:
        items = node.items or []
        found = [item for item in items if item.value == value]
        if not found:
            return None
        starts = [item.start for item in items]
        cut = _cut(text, node, starts, items.index(found[0]), found[0])
        is_empty = len(items) == 1
    else:
        if node.value != value:
            return None
        if before:
            return text[: node.start] + before + text[node.end :]
        cut, is_empty = text, True
    while is_empty and owners:
        owner, key = owners.pop()
        assert owner.members is not None
        place = list(owner.members).index(key)
        starts = list(owner.keys.values())
        cut = _cut(text, owner, starts, place, owner.members[key])
        is_empty = len(starts) == 1
    return cut


def _cut(
    text: str, owner: JsonNode, starts: Sequence[int], place: int, value: JsonNode
) -> str:
    """The text without one member or item, and without the comma that this leaves over."""
    if place > 0:
        values = owner.items or list((owner.members or {}).values())
        return text[: values[place - 1].end] + text[value.end :]
    if len(starts) > 1:
        return text[: starts[0]] + text[starts[1] :]
    return text[: owner.start + 1] + text[owner.end - 1 :]


def _member(text: str, node: JsonNode, key: str, value: object) -> Splice:
    outer = _indent_before(text, node.start)
    inner = outer + _unit(text)
    if node.keys:
        inner = _indent_before(text, min(node.keys.values()))
    written = f"{json.dumps(key)}: {_written(value, text, inner)}"
    return _inserted(text, node, inner, outer, written)


def _inserted(text: str, node: JsonNode, inner: str, outer: str, written: str) -> Splice:
    """A further member or item behind the last one, as the text lays them out."""
    newline = newline_of(text)
    is_empty = not node.members and not node.items
    is_one_line = "\n" not in text[node.start : node.end] and not is_empty
    between = " " if is_one_line else newline + inner
    comma = "" if is_empty or node.has_trailing_comma else ","
    behind = "," if node.has_trailing_comma else ""
    if is_empty and "\n" not in text[node.content_end : node.end]:
        behind = newline + outer
    return Splice(node.content_end, "", comma + between + written + behind)


def _indent_before(text: str, at: int) -> str:
    """The blanks that the line of this place begins with."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One level of the text's indentation: that of its first indented line."""
    for line in text.splitlines():
        blanks = line[: len(line) - len(line.lstrip(" \t"))]
        if blanks and line.strip().startswith('"'):
            return "\t" if blanks[0] == "\t" else blanks
    return "  "


def _written(value: object, text: str, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (newline_of(text) + indent).join(lines)


def _nested(path: Sequence[str], value: object) -> object:
    for key in reversed(path):
        value = {key: value}
    return value


def _whole(path: Sequence[str], value: object) -> str:
    return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"


def _checked(text: str, splice: Splice, path: Sequence[str], value: object) -> Splice:
    """The change, when the text after it means what it should and else what it meant before."""
    before = parse(text).value if text.strip("\ufeff \t\r\n") else {}
    expected = before
    for key in path[:-1]:
        expected = expected.setdefault(key, {})
    expected[path[-1]] = value
    if parse(splice.apply(text)).value != before:
        raise CannotEdit("its layout is one that can't be changed safely")
    return splice
