"""Golden bodies: histories of all four wires, with what each request of them became when they were recorded.

The fixture holds the histories themselves: random and broken ones, and hand-written turns with thinking, parallel
calls, media, items, late and missing results. ``made_of`` says what is compared. Most requests are compared by
digests; some hand-written ones keep their whole body and their notes, to read what differs.

    uv run python -m tests.codec.golden     # records anew: only when bytes on the wire are to change
"""

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from tests.codec import sessions
from ullage.codec.blocks import CacheMarks, Encoded, Options
from ullage.codec.repair_parts import Repair
from ullage.messages import (
    Message,
    Request,
)
from ullage.reasoning import ReasoningPolicy

FIXTURE: Final = Path(__file__).parent / "fixtures" / "golden_bodies.jsonl.gz"
RAW: Final = "$raw"


Make = Callable[[sessions.Asked], dict[str, Any]]


class Golden(NamedTuple):
    """One recorded session: what was asked in turn, and what each request became."""

    name: str
    asked: list[sessions.Asked]
    made: list[dict[str, Any]]


# -- values as JSON that holds anything: lone surrogates, and bytes that are no JSON --


def plain(value: Any) -> Any:
    """A value of ours as JSON; what is its default is left out."""
    if isinstance(value, msgspec.Struct):
        fields = {
            name: plain(item)
            for name, item in asdict(value).items()
            if item != _default(value, name)
        }
        tag = value.__struct_config__.tag
        return fields if tag is None else {"type": tag, **fields}
    if isinstance(value, msgspec.Raw):
        return {RAW: bytes(value).decode("latin-1")}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _default(value: msgspec.Struct, name: str) -> object:
    return next(
        field.default for field in msgspec.structs.fields(value) if field.name == name
    )


def from_plain(value: Any) -> Any:
    """JSON of ``plain`` with its raw bytes back, for ``msgspec.convert``."""
    if isinstance(value, dict):
        if value.keys() == {RAW}:
            return msgspec.Raw(value[RAW].encode("latin-1"))
        return {key: from_plain(item) for key, item in value.items()}
    return [from_plain(item) for item in value] if isinstance(value, list) else value


def digest(value: object) -> str:
    """A short name for JSON or bytes."""
    data = (
        value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    )
    return blake2b(data, digest_size=12).hexdigest()


# -- what is compared --


def made_of(
    content: bytes,
    encoded: Encoded,
    repairs: Iterable[Repair],
    names: Any,
    counted: Encoded | None,
) -> Any:
    """All that leaves for one request: its body and the rest of it, and the body that asks for a count."""
    return {
        "body": content.decode(),
        "repairs": [list(one) for one in repairs],
        "rest": digest(
            [
                encoded.path,
                encoded.headers,
                list(encoded.body),
                [[one.place, one.data.decode("latin-1")] for one in encoded.blocks],
                encoded.unsent,
                dict(names),
            ]
        ),
        "count": ""
        if counted is None
        else digest([counted.path, counted.headers, counted.content.decode("latin-1")]),
    }


def shortened(made: dict[str, Any]) -> dict[str, Any]:
    """The same with digests for the body and the notes."""
    short = {**made, "body": digest(made["body"].encode())}
    if made["repairs"]:
        return {**short, "repairs": digest(made["repairs"])}
    return short


# -- the file --


def record(make: Make, read: Callable[[str, Request], Any]) -> None:
    """Write the fixture anew: what ``make`` makes of every request now, and how ``read`` reads the last bodies."""
    lines: list[bytes] = []
    for line, session in zip(_lines(), recorded(), strict=True):
        value = json.loads(line)
        is_whole = session.made[0]["body"].startswith("{")
        for one, asked in zip(value["requests"], session.asked, strict=True):
            made = make(asked)
            made["read"] = digest(plain(read(made["body"], asked.request)))
            one["made"] = made if is_whole else shortened(made)
        lines.append(json.dumps(value).encode())
    FIXTURE.write_bytes(gzip.compress(b"\n".join(lines), 9, mtime=0))


def _lines() -> list[bytes]:
    return gzip.decompress(FIXTURE.read_bytes()).splitlines()


def recorded() -> Iterator[Golden]:
    """The fixture's sessions."""
    for line in _lines():
        value = json.loads(line)
        messages = [
            msgspec.convert(from_plain(one), Message) for one in value["messages"]
        ]
        media = {name: base64.b64decode(data) for name, data in value["media"].items()}
        asked = [_asked(one, messages, media) for one in value["requests"]]
        yield Golden(value["name"], asked, [one["made"] for one in value["requests"]])


def _asked(
    value: dict[str, Any], messages: Sequence[Message], media: dict[str, bytes]
) -> sessions.Asked:
    request = msgspec.convert(from_plain(value["request"]), Request)
    options = dict(value["options"])
    options["betas"] = tuple(options["betas"])
    options["cache"] = options["cache"] and CacheMarks(**options["cache"])
    return sessions.Asked(
        replace(request, messages=tuple(messages[at] for at in value["messages"])),
        ReasoningPolicy(**value["policy"]),
        Options(**options, media={name: media[name] for name in value["media"]}),
    )


if __name__ == "__main__":
    from tests.codec.test_golden import made
    from ullage.codec.bodies import read_body
    from ullage.codec.history import History

    def _read(body: str, request: Request) -> Request:
        given = {"wire": request.wire, "provider": request.provider}
        return read_body(json.loads(body), model=request.model, **given)

    record(lambda asked: made(History(), asked), _read)
