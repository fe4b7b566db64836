"""The requests that newer versions of Claude Code write into their log, word for word.

Version 2.1.330 writes three kinds of lines. Its 31 requests of two sessions were compared with the bodies that a
simulator received: messages and tools are equal, and the system prompt but for a billing line of 74 characters.

* ``api-request-shape``: system prompt and tools, named by a hash.
* ``api-request-blob``: one message, named by the SHA-256 of its JSON with sorted keys. A message that the log holds
  already (an answer, or the lines of a prompt or of tool results) has no blob.
* ``api-request``: parameters, the shape, and the messages by their hashes: the first ``keep`` of the request ``base``,
  then ``tail``. The lines of the answer name it as ``requestRef``. Summaries and titles are not logged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Final, NamedTuple, TypeVar

import msgspec

import ullage.importers.fields as f
from ullage.codec.parts import tool
from ullage.codec.reminders import CLOSE, OPEN, is_tagged
from ullage.envelope import COPY_STEPS
from ullage.importers.fields import JsonObject, Unusable
from ullage.importers.parts import LogParts
from ullage.importers.rows import EventWriter
from ullage.messages import (
    Message,
    Origin,
    Part,
    Role,
    SystemBlock,
    TextPart,
    Tool,
    ToolResultPart,
    clean_text,
)

T = TypeVar("T")

WIRE = "messages"

MOST_SHAPES: Final = 32
MOST_REQUESTS: Final = 8
MOST_BLOBS: Final = 4_096
MOST_REMINDERS: Final = 1_024
MOST_LOADED: Final = 1_024
"""Shapes, requests, messages that no request has asked for yet, reminders and loaded tools: older ones are
forgotten."""

MOST_MESSAGES: Final = 100_000
"""Messages of a request; a longer list is not believed."""

LONGEST_HEADING: Final = 60
"""Characters of a heading that name a row."""

NAMES_PER_STEP: Final = 100
"""Hashes that cost as much as one message to go through: they are only copied and compared."""

SEARCHED_PER_STEP: Final = 4_000
"""Characters that are searched for a reminder at the cost of going through one message."""

_HEADING: Final = re.compile(r"(?m)^# (?=\S)")


class RequestShape(NamedTuple):
    """What the requests of a run have in common."""

    system: tuple[SystemBlock, ...]
    tools: tuple[Tool, ...]


class LoggedRequest(NamedTuple):
    """One request: its shape, and the hashes of its messages in order."""

    shape: str
    digests: tuple[str, ...]


class SentMessage(NamedTuple):
    """One message of a request, and the messages of the view that hold its content."""

    digest: str
    ids: tuple[str, ...]


class ClaudeRequests:
    """Follows the logged requests, and makes the view what each of them sent."""

    def __init__(self, rows: EventWriter) -> None:
        self._rows = rows
        self._shapes: dict[str, RequestShape] = {}
        self._blobs: dict[str, JsonObject] = {}
        self._requests: dict[str, LoggedRequest] = {}
        self._known: dict[str, tuple[str, ...]] = {}
        """The messages of the session that hold the content of each hash."""
        self._sent: list[SentMessage] = []
        self._digests: list[str] = []
        """The hashes of ``_sent``."""
        self._in_step = False
        """Whether the view is exactly ``_sent``."""
        self._loaded: dict[str, str] = {}
        """The deferred tools that a search has loaded: the answer to it refers to them."""
        self._reminders: dict[str, str] = {}
        """What the program calls its reminders, by their text."""

    @property
    def are_logged(self) -> bool:
        """Whether this log holds requests."""
        return bool(self._requests)

    # -- lines --

    def read_shape(self, entry: JsonObject) -> None:
        """Keep a system prompt and its tools. Raises ``Unusable``."""
        shape = f.mapping(entry, "shape")
        name = f.text(entry, "shapeHash")
        if not name or not shape:
            raise Unusable("api-request-shape without a shape")
        system: list[SystemBlock] = []
        for block in f.objects(shape, "system"):
            text = clean_text(f.text(block, "text"))
            system.extend(_sections(text.text))
        tools = [_declared(each) for each in f.objects(shape, "tools")]
        kept = RequestShape(tuple(system), tuple(tools))
        _keep(self._shapes, name, kept, MOST_SHAPES)

    def read_blob(self, entry: JsonObject) -> None:
        """Keep a message until a request asks for it. Raises ``Unusable``."""
        message = f.mapping(entry, "message")
        name = f.text(entry, "hash")
        if not name or not isinstance(message.get("content"), str | list):
            raise Unusable("api-request-blob without a message")
        self.note_loaded(message["content"])
        if name not in self._known:
            _keep(self._blobs, name, message, MOST_BLOBS)

    def read_request(self, entry: JsonObject) -> None:
        """Keep a request until its answer comes. Raises ``Unusable``."""
        name = f.text(entry, "id")
        tail = f.items(entry, "tail")
        if not name or not all(isinstance(each, str) for each in tail):
            raise Unusable("api-request without messages")
        keep = f.count(entry, "keep") or 0
        before: tuple[str, ...] = ()
        base = self._requests.get(f.text(entry, "base"))
        if base is not None:
            before = base.digests[:keep]
        self._rows.spend(len(before) // NAMES_PER_STEP)
        if len(before) < keep:
            raise Unusable("api-request on top of one that was not read")
        if keep + len(tail) > MOST_MESSAGES:
            raise Unusable("api-request with too many messages")
        shape = f.text(entry, "shapeHash")
        request = LoggedRequest(shape, (*before, *tail))
        _keep(self._requests, name, request, MOST_REQUESTS)

    def note_loaded(self, content: object) -> None:
        """The content of a message may hold the result of a search for tools."""
        for result in f.objects({"blocks": content}, "blocks"):
            for found in f.objects(result, "content"):
                if found.get("type") == "tool_reference":
                    name = f.text(found, "tool_name")
                    _keep(self._loaded, name, name, MOST_LOADED)

    def note_reminder(self, text: str, name: str) -> None:
        """A text that the program puts into its requests, and what it calls it."""
        if text and name:
            _keep(self._reminders, text, name.replace("_", " "), MOST_REMINDERS)

    # -- the view --

    def is_known(self, name: str) -> bool:
        """Whether the request of this name was read."""
        return name in self._requests

    def answered(self, message: str, content: object) -> None:
        """An answer of this content was added to the view as ``message``."""
        self._remember(_digest("assistant", content), (message,))

    def summarised(self, message: str, content: object) -> None:
        """A compaction has put a summary in the place of earlier messages."""
        self._known[_digest("user", content)] = (message,)
        self._in_step = False

    def lose_step(self) -> None:
        """The view was changed by lines instead of by a request."""
        self._in_step = False

    def write(self, name: str, waiting: Sequence[JsonObject]) -> bool:
        """Make the view what the request of this name sent; False where part of it is not in the log.

        ``waiting`` are the messages of lines that came since the last request.
        """
        request = self._requests[name]
        self._rows.spend(len(request.digests) // NAMES_PER_STEP)
        shape = self._shapes.get(request.shape)
        if shape is None or not self._is_complete(request, waiting):
            return False
        self._rows.use_system(shape.system)
        self._rows.use_tools(self._tools(shape))
        if not self._in_step:
            self._find_step(request)
        start = self._keep_common(request)
        for digest in request.digests[start:]:
            self._add(digest)
        self._in_step = True
        return True

    def _tools(self, shape: RequestShape) -> list[Tool]:
        tools: list[Tool] = []
        for each in shape.tools:
            is_deferred = each.deferred and each.name not in self._loaded
            tools.append(msgspec.structs.replace(each, deferred=is_deferred))
        return tools

    def _is_complete(self, request: LoggedRequest, waiting: Sequence[JsonObject]) -> bool:
        """Whether all messages are known. One that has no blob is made of the lines before the request."""
        if request.digests[: len(self._digests)] == tuple(self._digests):
            new = request.digests[len(self._digests) :]
        else:
            new = request.digests
        missing: list[str] = []
        for digest in new:
            is_held = digest in self._known or digest in self._blobs
            if not is_held:
                missing.append(digest)
        if not missing:
            return True
        merged = _merged(waiting)
        if len(missing) > 1 or not merged:
            return False
        self._blobs[missing[0]] = {"role": "user", "content": merged}
        return True

    def _find_step(self, request: LoggedRequest) -> None:
        """Start over with the messages at the begin of the view that are those of the request."""
        view = list(self._rows.view)
        self._rows.spend(len(request.digests) // COPY_STEPS)
        self._sent, self._digests = [], []
        place = 0
        for digest in request.digests:
            ids = self._known.get(digest)
            if ids is None and not self._content_of(digest):
                ids = ()  # a message that only changes parameters
            if ids is None:
                break
            end = place + len(ids)
            if tuple(view[place:end]) != ids:
                break
            self._remember(digest, ids)
            place = end
        if not place and self._fill_summary(request, view):
            place = 1
        if place < len(view):
            self._rows.rewind(view[place - 1] if place else "")

    def _fill_summary(self, request: LoggedRequest, view: Sequence[str]) -> bool:
        """After a compaction the first message may hold reminders beside the summary: then it takes its place."""
        summary = self._rows.messages[view[0]] if view else None
        if summary is None or summary.origin != "summary" or not request.digests:
            return False
        parts: list[Part] = []
        for message in self._content_of(request.digests[0]):
            parts.extend(message.parts)
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        if _text_of(summary) not in texts:
            return False
        whole = msgspec.structs.replace(
            summary,
            parts=tuple(parts),
            revision=summary.revision + 1,
        )
        whole = _renamed(whole, summary.id)
        self._rows.replace(whole)
        self._blobs.pop(request.digests[0], None)
        self._remember(request.digests[0], (summary.id,))
        return True

    def _keep_common(self, request: LoggedRequest) -> int:
        """How many messages of the request are in the view now; what differs is replaced, or leaves the view."""
        if request.digests[: len(self._digests)] == tuple(self._digests):
            return len(self._digests)
        place = 0
        for digest, sent in zip(request.digests, list(self._sent), strict=False):
            if digest != sent.digest and not self._replace(place, digest):
                break
            place += 1
        self._cut(place)
        return place

    def _replace(self, place: int, digest: str) -> bool:
        """Put an edited message into the place of the old one: an answer without its reasoning, a cleared result.

        False where it is another message.
        """
        old = self._sent[place]
        made = self._content_of(digest)
        if len(old.ids) != 1 or len(made) != 1:
            return False
        before = self._rows.messages[old.ids[0]]
        now = made[0]
        if now.role == "user" or now.role != before.role:
            return False
        if _calls(now) != _calls(before):
            return False
        edited = _renamed(now, before.id)
        edited = msgspec.structs.replace(
            edited, revision=before.revision + 1, call=before.call
        )
        self._rows.replace(edited)
        self._blobs.pop(digest, None)
        self._sent[place] = SentMessage(digest, old.ids)
        self._digests[place] = digest
        self._known[digest] = old.ids
        return True

    def _cut(self, place: int) -> None:
        """What follows the first messages leaves the view."""
        del self._sent[place:], self._digests[place:]
        last = ""
        for sent in reversed(self._sent):
            if sent.ids:
                last = sent.ids[-1]
                break
        self._rows.rewind(last)

    def _add(self, digest: str) -> None:
        """Add a message of the request to the end of the view."""
        made = self._content_of(digest)
        self._blobs.pop(digest, None)
        for message in made:
            self._rows.add(message)
        self._remember(digest, tuple(message.id for message in made))

    def _content_of(self, digest: str) -> list[Message]:
        """A new message, or copies of those that hold its content."""
        blob = self._blobs.get(digest)
        if blob is not None:
            return self._messages(blob)
        made: list[Message] = []
        for known in self._known.get(digest, ()):
            message = self._rows.messages[known]
            self._rows.spend(len(message.parts) * COPY_STEPS)
            original = known.partition("@")[0]
            copy = _renamed(message, self._rows.unique(original))
            made.append(msgspec.structs.replace(copy, call=None))
        return made

    def _remember(self, digest: str, ids: tuple[str, ...]) -> None:
        self._sent.append(SentMessage(digest, ids))
        self._digests.append(digest)
        self._known[digest] = ids

    # -- content --

    def _messages(self, blob: JsonObject) -> list[Message]:
        """The messages that a message of the wire is in our types: results, reminders and what a person wrote apart."""
        role: Role = "assistant" if blob.get("role") == "assistant" else "user"
        is_note = blob.get("role") == "system"
        wanted = self._rows.unique("")
        rows = self._rows
        reader = LogParts(
            wanted,
            WIRE,
            provider=rows.provider,
            model=rows.model,
        )
        parts = reader.read(blob.get("content"), rows.tool_names)
        if role == "assistant":
            return [Message(id=wanted, role=role, parts=tuple(parts))]
        results: list[Part] = []
        reminders: list[Part] = []
        written: list[Part] = []
        for part in parts:
            if isinstance(part, ToolResultPart):
                results.append(part)
            elif isinstance(part, TextPart) and (is_note or is_tagged(part.text)):
                reminders.extend(self._named(part))
            else:
                written.append(part)
        made: list[Message] = []
        own = wanted
        kinds: list[tuple[list[Part], Role, Origin]] = [
            (results, "tool", "said"),
            (reminders, "user", "injected"),
            (written, "user", "said"),
        ]
        for chosen, kind, origin in kinds:
            if chosen:
                message = Message(
                    id=own,
                    role=kind,
                    parts=tuple(chosen),
                    origin=origin,
                )
                made.append(message)
                own = f"{wanted}.{len(made)}"
        return made

    def _named(self, part: TextPart) -> list[TextPart]:
        """A text as its reminders, each with its name. Newer models get several in one text, without their tags."""
        name = self._reminders.get(part.text)
        if name:
            return [msgspec.structs.replace(part, name=name)]
        searched = len(self._reminders) * len(part.text)
        self._rows.spend(searched // SEARCHED_PER_STEP)
        found: dict[int, tuple[str, str]] = {}
        for text, called in self._reminders.items():
            inner = text.removeprefix(OPEN).removesuffix(CLOSE).strip()
            place = part.text.find(inner) if inner else -1
            if place >= 0:
                found[place] = (inner, called)
        pieces: list[TextPart] = []
        end = 0
        for place in sorted(found):
            inner, called = found[place]
            if place < end:
                continue
            between = part.text[end:place]
            pieces.append(_piece(part, len(pieces), between, ""))
            pieces.append(_piece(part, len(pieces), inner, called))
            end = place + len(inner)
        rest = part.text[end:]
        pieces.append(_piece(part, len(pieces), rest, ""))
        return [each for each in pieces if each.text]


def _piece(part: TextPart, number: int, text: str, name: str) -> TextPart:
    own = part.id
    if number:
        own = f"{part.id}.{number}"
    return TextPart(id=own, text=text, name=name)


def _text_of(message: Message) -> str:
    return "".join(part.text for part in message.of_type(TextPart))


def _renamed(message: Message, name: str) -> Message:
    """The message and its parts under another name."""
    parts: list[Part] = []
    for place, part in enumerate(message.parts):
        parts.append(msgspec.structs.replace(part, id=f"{name}/{place}"))
    return msgspec.structs.replace(message, id=name, parts=tuple(parts))


def _calls(message: Message) -> list[str]:
    """The tool calls that a message makes or answers."""
    return [
        part.call_id
        for part in message.parts
        if not isinstance(part, TextPart) and hasattr(part, "call_id")
    ]


def _merged(waiting: Sequence[JsonObject]) -> list[object]:
    """The content of consecutive lines as the one message that is sent of them."""
    merged: list[object] = []
    for message in waiting:
        content = message.get("content")
        if isinstance(content, str):
            merged.append({"type": "text", "text": content})
        elif isinstance(content, list):
            merged.extend(content)
    return merged


def _digest(role: str, content: object) -> str:
    """The name of a message: of its JSON with sorted keys, a text as a list of one block."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    message = {"role": role, "content": content}
    try:
        data = msgspec.json.encode(message, order="sorted")
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError):
        data = f.raw_json(message)
    return sha256(data).hexdigest()


def _sections(text: str) -> list[SystemBlock]:
    """A system prompt by its headings."""
    blocks: list[SystemBlock] = []
    starts = [0]
    for found in _HEADING.finditer(text):
        starts.append(found.start())
    starts.append(len(text))
    for start, end in pairwise(starts):
        section = text[start:end]
        if not section:
            continue
        heading = ""
        if section.startswith("# "):
            first_line = section[2:].splitlines()[0]
            heading = first_line.strip()[:LONGEST_HEADING]
        blocks.append(SystemBlock(text=section, name=heading))
    return blocks


def _declared(one: JsonObject) -> Tool:
    deferred = one.get("defer_loading") is True
    schema = f.mapping(one, "input_schema")
    return tool(one.get("name"), one.get("description"), schema, deferred=deferred)


def _keep(kept: dict[str, T], name: str, value: T, most: int) -> None:
    """Keep a value as the newest; the oldest makes way for it."""
    kept.pop(name, None)
    kept[name] = value
    if len(kept) > most:
        del kept[next(iter(kept))]
