"""Golden bodies: histories of all four wires, with what each request of them became when they were recorded.

The fixture holds the histories themselves, so that it stays comparable when the generators of random ones change. It
was recorded with the code that repaired and encoded a request in one piece, before there was one history codec for
requests made at once and requests that grow. ``made_of`` says what is compared. Most requests are compared by digests;
the hand-written ones keep their whole body and their notes, to read what differs.

    uv run python -m tests.codec.golden     # records anew: only when bytes on the wire are to change
"""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from tests.codec import histories, sessions
from ullage.codec.blocks import CacheMarks, Encoded, Options
from ullage.codec.repair_parts import Repair
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    Part,
    ProviderItem,
    ReasoningPart,
    Request,
    SystemBlock,
    TextPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
)
from ullage.reasoning import ReasoningPolicy

FIXTURE: Final = Path(__file__).parent / "fixtures" / "golden_bodies.jsonl.gz"
RAW: Final = "$raw"
BROKEN: Final = 260
SESSIONS: Final = 26


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


# -- histories --


def broken(seed: int) -> Iterator[sessions.Asked]:
    """Prefixes of a history with everything wrong with it."""
    whole, chosen = histories.broken_request(seed), Random(seed)
    policy, options = chosen.choice(sessions.POLICIES), chosen.choice(sessions.OPTIONS)
    at = 0
    yield sessions.Asked(replace(whole, messages=()), policy, options)
    while at < len(whole.messages):
        at = min(at + chosen.choice((1, 1, 2, 3)), len(whole.messages))
        yield sessions.Asked(
            replace(whole, messages=whole.messages[:at]), policy, options
        )


def chained(seed: int) -> Iterator[sessions.Asked]:
    """The same behind an answer that the provider keeps."""
    for asked in broken(seed):
        yield asked._replace(
            request=replace(asked.request, chained=("resp_1", "conv_1")[seed % 2])
        )


def by_hand(target: sessions.Target, by: sessions.Target) -> Iterator[sessions.Asked]:
    """Turns with thinking, parallel calls, media, items, late and missing results, by this model or another one."""
    fields = {
        "messages": {"signature": "c2ln"},
        "responses": {
            "type": "reasoning",
            "id": "rs_1",
            "encrypted_content": "gAAA",
            "summary": [],
        },
        "chat": {"reasoning_content": None},
        "generateContent": {"thoughtSignature": "c2ln"},
    }[by[0]]
    sealed = histories.data(fields, by)
    named = histories.data({"id": "msg_1", "phase": "final"}, by)

    def text(name: str, words: str) -> TextPart:
        return TextPart(id=name, text=words)

    def thought(name: str) -> ReasoningPart:
        return ReasoningPart(id=name, text="I look.", provider=sealed)

    def call(name: str, call_id: str, **given: Any) -> ToolCallPart:
        return ToolCallPart(
            id=name,
            call_id=call_id,
            name="read",
            **{"arguments": '{"path": "a"}', **given},
        )

    def result(name: str, call_id: str, *content: Any) -> ToolResultPart:
        return ToolResultPart(
            id=name, call_id=call_id, content=content or (text(f"{name}.t", "found"),)
        )

    def message(name: str, role: Any, *parts: Part, **given: Any) -> Message:
        return Message(id=name, role=role, parts=parts, **given)

    image = ImagePart(id="i", mime="image/png", source="blake2b:1", width=3, height=4)
    lost = FilePart(id="f", mime="application/pdf", name="a.pdf", source="blake2b:2")
    item = ProviderItem(
        id="p",
        kind="server_tool_use",
        provider=histories.data({"type": "x", "id": "s"}, by),
    )
    custom = histories.data({"type": "custom_tool_call"}, by)
    messages = [
        message("u1", "user", text("u1.t", "What is in the cask?"), image, lost),
        message(
            "a1",
            "assistant",
            thought("th1"),
            text("a1.t", "I look."),
            call("c1", "call_1"),
            call("c2", "call_2"),
        ),
        message(
            "t1",
            "tool",
            result("r1", "call_1"),
            result("r2", "call_2", text("r2.t", '{"a": 1}'), image),
        ),
        message(
            "a2",
            "assistant",
            thought("th2"),
            call("c3", "call 3", arguments="{broken"),
            call("c4", ""),
        ),
        message("t2", "tool", result("r3", "call 3")),
        message("u2", "user", text("u2.t", "Faster, please.")),
        message("s1", "system", text("s1.t", "The clock says noon.")),
        message(
            "a3",
            "assistant",
            thought("th3"),
            TextPart(id="a3.t", text="It is full. ", provider=named),
        ),
        message("u3", "user", text("u3.t", "And the other? \0")),
        message(
            "a4",
            "assistant",
            thought("th4"),
            call("c5", "call_1", provider=custom),
            item,
            interrupted="cancelled",
        ),
        message("t3", "tool", result("r5", "call_1"), result("r6", "call_9")),
        message("a5", "assistant", text("a5.t", "Half "), thought("th5")),
        message("u4", "user", text("u4.t", "Thanks.")),
    ]
    asked = Request(
        wire=target[0],
        provider=target[1],
        model=target[2],
        system=(SystemBlock(text="Be kind."), SystemBlock(text="Be brief.")),
        tools=(
            Tool(
                name="read", description="reads", schema=msgspec.Raw(b'{"type":"object"}')
            ),
        ),
        params={"thinking": {"type": "enabled", "budget_tokens": 1024}}
        if target[0] == "messages"
        else {},
        stream=True,
    )
    options = Options(media={"blake2b:1": b"picture"})
    for at in range(len(messages) + 1):
        given = replace(asked, messages=tuple(messages[:at]))
        yield sessions.Asked(given, ReasoningPolicy(), options)
    for policy in (ReasoningPolicy(strip="all"), ReasoningPolicy(strip="all_but_last")):
        for at in range(2, len(messages) + 1, 2):
            yield sessions.Asked(
                replace(asked, messages=tuple(messages[:at])), policy, options
            )


def all_histories() -> Iterator[tuple[str, list[sessions.Asked]]]:
    """Every history that is recorded, under its name."""
    for target in sessions.MOST_TARGETS:
        for by in {
            target: None,
            sessions.MOST_TARGETS[0]: None,
            sessions.MOST_TARGETS[2]: None,
        }:
            yield f"by hand: {target[2]} after {by[2]}", list(by_hand(target, by))
    for seed in range(BROKEN):
        yield f"broken: {seed}", list(broken(seed))
    for seed in range(BROKEN, BROKEN + 40):
        yield f"chained: {seed}", list(chained(seed))
    for oddness in (0.0, 0.02, 0.1, 0.3):
        for seed in range(SESSIONS):
            yield (
                f"session: {seed}, oddness {oddness}",
                list(sessions.Session(seed, oddness=oddness).requests(10)),
            )


# -- the file --


def record(
    make: Callable[[sessions.Asked], dict[str, Any]], read: Callable[[str, Request], Any]
) -> None:
    """Write the fixture: what ``make`` makes of every request, and how ``read`` reads the last body of a session."""
    lines: list[bytes] = []
    for name, listed in all_histories():
        held: dict[str, int] = {}
        media: dict[str, str] = {}
        requests = []
        for one in listed:
            made = make(one)
            made["read"] = digest(plain(read(made["body"], one.request)))
            head = plain(replace(one.request, messages=()))
            places = [
                held.setdefault(json.dumps(plain(message)), len(held))
                for message in one.request.messages
            ]
            options = dataclasses.asdict(one.options)
            media |= plain(options.pop("media"))
            said = {
                "request": head,
                "messages": places,
                "policy": dataclasses.asdict(one.policy),
                "options": options,
                "media": sorted(one.options.media),
                "made": made if "opus" in name and "by hand" in name else shortened(made),
            }
            requests.append(said)
        line = {
            "name": name,
            "messages": list(map(json.loads, held)),
            "media": media,
            "requests": requests,
        }
        lines.append(json.dumps(line, default=sorted).encode())
    FIXTURE.write_bytes(gzip.compress(b"\n".join(lines), 9, mtime=0))


def recorded() -> Iterator[Golden]:
    """The fixture's sessions."""
    for line in gzip.decompress(FIXTURE.read_bytes()).splitlines():
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
    from ullage.codec.bodies import read_body
    from ullage.codec.history import History, encode_count
    from ullage.codec.repair import repair

    def _made(asked: sessions.Asked) -> dict[str, Any]:
        counted = encode_count(
            repair(asked.request, policy=asked.policy).request, options=asked.options
        )
        repaired, encoded, content = History().prepare(
            asked.request, policy=asked.policy, options=asked.options
        )
        made: dict[str, Any] = made_of(
            content, encoded, repaired.repairs, repaired.names, counted
        )
        return made

    def _read(body: str, request: Request) -> Request:
        return read_body(
            json.loads(body),
            wire=request.wire,
            provider=request.provider,
            model=request.model,
        )

    record(_made, _read)
