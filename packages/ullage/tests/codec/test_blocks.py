import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import case
from tests.codec.streams import HOSTS, request, user
from ullage.codec.blocks import (
    Block,
    Blocks,
    Encoded,
    Held,
    Options,
    Sending,
    json_object,
    locate,
    stand_in,
)
from ullage.codec.history import encode
from ullage.codec.wires import target_of, wire_named
from ullage.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderData,
    SystemBlock,
    TextPart,
    Tool,
)

WIRES = sorted(HOSTS)


def test_the_same_block_in_another_place_is_another_one() -> None:
    blocks = Blocks()
    assert (
        bytes(blocks.add("user", {"a": 1}))
        == bytes(blocks.add("system", {"a": 1}))
        == b'{"a":1}'
    )
    assert len({block.digest for block in blocks.made}) == 2


def encoded(*blocks: str) -> Encoded:
    return Encoded("/", {}, {}, tuple(Block("user", one.encode()) for one in blocks))


def test_a_request_extends_another_when_its_blocks_begin_with_the_others() -> None:
    assert encoded("a", "b").extends(encoded("a"))
    assert encoded("a").extends(encoded("a"))
    assert not encoded("a").extends(encoded("a", "b"))
    assert not encoded("x", "b").extends(encoded("a"))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("what", ["system", "tools", "text", "order"])
def test_any_change_of_what_was_sent_is_seen_in_the_blocks(wire: str, what: str) -> None:
    def ask(system: str = "S", tool: str = "f", *texts: str) -> Encoded:
        said = texts or ("a", "b")
        messages = [user(text, f"u{at}") for at, text in enumerate(said)]
        block = SystemBlock(text=system)
        return encode(request(wire, *messages, system=(block,), tools=(Tool(name=tool),)))

    changed = {
        "system": ask("T"),
        "tools": ask("S", "g"),
        "text": ask("S", "f", "a", "c"),
        "order": ask("S", "f", "b", "a"),
    }[what]
    assert not changed.extends(ask())


@pytest.mark.parametrize("wire", WIRES)
def test_parameters_are_no_part_of_the_blocks(wire: str) -> None:
    options = Options(max_output=5, temperature=0.1, effort="low")
    one = encode(request(wire, user()), options=options)
    assert one.blocks == encode(request(wire, user(), stream=True)).blocks


def data(content: bytes) -> ProviderData:
    return ProviderData(
        data=msgspec.Raw(content), wire="responses", provider="openai", model="gpt-5"
    )


def sending() -> Sending:
    return Sending(request("responses"), target_of(request("responses")), Options())


def test_fields_are_the_bytes_they_came_in() -> None:
    fields = sending().fields(data(b'{"id": "x",  "other": 1.50}'))
    assert bytes(fields["other"]) == b"1.50"


@given(
    st.text(max_size=40)
    | st.sampled_from(
        ['{"a": 1.0}', '{"a":1}{', "{}", " {} ", "null", '"\ud800"', "\ud800"]
    )
)
def test_arguments_are_always_an_object(written: str) -> None:
    assert isinstance(json.loads(bytes(json_object(written))), dict)


@pytest.mark.parametrize("wire", WIRES)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_text_goes_out_as_it_is(wire: str, text: str) -> None:
    said = Message(id="u", role="user", parts=(TextPart(id="u.1", text=text),))
    assert msgspec.json.encode(text) in encode(request(wire, said)).content


SENDING = Sending(
    request("chat"),
    target_of(request("chat")),
    Options(media={"blake2b:1": b"hi", "https://x/y": b"cached"}),
)


@pytest.mark.parametrize(
    ("part", "held"),
    [
        (
            ImagePart(id="i", mime="image/png", source="blake2b:1"),
            Held("image/png", data="aGk="),
        ),
        (
            ImagePart(id="i", mime="image/*", source="https://x/y"),
            Held("image/png", data="Y2FjaGVk"),
        ),
        (ImagePart(id="i", source="https://x/z"), Held("image/png", url="https://x/z")),
        (FilePart(id="i", source="gs://b/c"), Held("application/pdf", url="gs://b/c")),
        (FilePart(id="i", source="data:text/csv;base64,AA"), Held("text/csv", data="AA")),
        (
            FilePart(id="i", mime="text/csv", source="file-1"),
            Held("text/csv", file_id="file-1"),
        ),
        (FilePart(id="i", source="blake2b:gone"), None),
        (FilePart(id="i"), None),
    ],
)
def test_content_is_found_by_its_source(
    part: ImagePart | FilePart, held: Held | None
) -> None:
    assert locate(SENDING, part) == held


def test_what_is_not_here_is_named_the_same_way_each_time_and_noted_once() -> None:
    blocks = Blocks()
    part = FilePart(id="i", name="a.pdf", mime="application/pdf")
    lines = {stand_in(blocks, part) for _ in range(3)}
    assert lines == {"[file a.pdf, application/pdf: its content is not available]"}
    assert blocks.unsent == ["content of i"]


@pytest.mark.parametrize(
    "source",
    [
        "kept:none",
        "file:///etc/passwd",
        "../../secret",
        "/etc/passwd",
        "a\nb",
        "x" * 300,
        "",
    ],
)
def test_what_names_no_file_of_a_provider_is_not_sent_as_one(source: str) -> None:
    assert locate(SENDING, ImagePart(id="i", mime="image/png", source=source)) is None


def base64(mime: str, data: str) -> dict[str, object]:
    return {"type": "base64", "media_type": mime, "data": data}


PICTURE = ImagePart(id="i", source="data:image/png;base64,AA")
URL = "data:image/png;base64,AA"
PAPER = FilePart(id="i", name="a.pdf", source="data:application/pdf;base64,AA")
PAPER_URL = "data:application/pdf;base64,AA"
INLINE = {"mimeType": "image/png", "data": "AA"}
NOT_HERE = "[image: its content is not available]"
MEDIA: list[tuple[ImagePart | FilePart, dict[str, dict[str, object]]]] = [
    (
        PICTURE,
        {
            "messages": {"type": "image", "source": base64("image/png", "AA")},
            "chat": {"type": "image_url", "image_url": {"url": URL}},
            "responses": {"type": "input_image", "image_url": URL, "detail": "auto"},
            "generateContent": {"inlineData": INLINE},
        },
    ),
    (
        PAPER,
        {
            "messages": {
                "type": "document",
                "source": base64("application/pdf", "AA"),
                "title": "a.pdf",
            },
            "chat": {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": PAPER_URL},
            },
            "responses": {
                "type": "input_file",
                "filename": "a.pdf",
                "file_data": PAPER_URL,
            },
        },
    ),
    (
        ImagePart(id="i", source="https://x/y.png"),
        {
            "messages": {
                "type": "image",
                "source": {"type": "url", "url": "https://x/y.png"},
            }
        },
    ),
    (
        ImagePart(id="i", source="file-1"),
        {
            "messages": {
                "type": "image",
                "source": {"type": "file", "file_id": "file-1"},
            },
            "responses": {"type": "input_image", "file_id": "file-1", "detail": "auto"},
        },
    ),
    (
        ImagePart(id="i", mime="image/gif", source="blake2b:1"),
        {"messages": {"type": "image", "source": base64("image/gif", "aGk=")}},
    ),
    (
        FilePart(id="i", mime="application/pdf", source="blake2b:1"),
        {"messages": {"type": "document", "source": base64("application/pdf", "aGk=")}},
    ),
    (
        FilePart(id="i", mime="audio/wav", source="data:audio/wav;base64,AA"),
        {"chat": {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}},
    ),
    (
        FilePart(id="i", mime="video/mp4", source="https://x/y.mp4"),
        {
            "chat": {"type": "video_url", "video_url": {"url": "https://x/y.mp4"}},
            "generateContent": {
                "fileData": {"mimeType": "video/mp4", "fileUri": "https://x/y.mp4"}
            },
        },
    ),
    (
        FilePart(id="i", source="https://x/y.pdf"),
        {"responses": {"type": "input_file", "file_url": "https://x/y.pdf"}},
    ),
    (
        FilePart(id="i", name="a.md", text="words"),
        {
            "messages": {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "words"},
                "title": "a.md",
            },
            "responses": {"type": "input_text", "text": "[a.md]\nwords"},
            "generateContent": {"text": "[a.md]\nwords"},
        },
    ),
    (
        ImagePart(id="i", source="blake2b:gone"),
        {
            "messages": {"type": "text", "text": NOT_HERE},
            "responses": {"type": "input_text", "text": NOT_HERE},
            "generateContent": {"text": NOT_HERE},
        },
    ),
]
OPTIONS = Options(cache=None, media={"blake2b:1": b"hi"})


def test_media_are_sent_from_their_source_as_each_wire_spells_it() -> None:
    for part, spelt in MEDIA:
        for wire, expected in spelt.items():
            with case(wire, part):
                said = Message(id="u", role="user", parts=(part,))
                made = encode(request(wire, said), options=OPTIONS)
                body = json.loads(made.content)
                listed = body[wire_named(wire).field][0]
                assert listed.get("content", listed.get("parts")) == [expected]
                is_gone = "not available" in str(expected)
                assert made.unsent == (("content of i",) if is_gone else ())


@pytest.mark.parametrize("wire", ["messages", "generateContent"])
def test_a_tool_of_another_provider_is_left_out_and_named(wire: str) -> None:
    other = b'{"googleSearch":{}}' if wire == "messages" else b'{"type":"web_search"}'
    tool = Tool(name="look", kind="look", schema=msgspec.Raw(other))
    bare = encode(request(wire, user()))
    made = encode(request(wire, user(), tools=(tool,)))
    assert (made.content, made.unsent) == (bare.content, ("tool look",))


def thoughts(**config: object) -> dict[str, object]:
    return {"generationConfig": {"thinkingConfig": config}}


SPELT: list[tuple[str, Options, dict[str, object]]] = [
    (
        "messages",
        Options(thinking_budget=2_000),
        {"thinking": {"type": "enabled", "budget_tokens": 2_000}},
    ),
    ("messages", Options(effort="high"), {"output_config": {"effort": "high"}}),
    ("messages", Options(effort="none"), {"thinking": {"type": "disabled"}}),
    ("messages", Options(temperature=0.0), {"temperature": 0.0}),
    ("responses", Options(max_output=9), {"max_output_tokens": 9}),
    ("responses", Options(effort="high"), {"reasoning": {"effort": "high"}}),
    ("responses", Options(temperature=0.1), {"temperature": 0.1}),
    (
        "generateContent",
        Options(max_output=9, temperature=0.1),
        {"generationConfig": {"maxOutputTokens": 9, "temperature": 0.1}},
    ),
    (
        "generateContent",
        Options(thinking_budget=7),
        thoughts(thinkingBudget=7, includeThoughts=True),
    ),
    (
        "generateContent",
        Options(effort="low"),
        thoughts(thinkingLevel="low", includeThoughts=True),
    ),
    ("generateContent", Options(effort="none"), thoughts(thinkingBudget=0)),
]


def test_options_are_spelt_as_each_wire_has_them() -> None:
    for wire, options, expected in SPELT:
        with case(wire, options):
            body = json.loads(encode(request(wire, user()), options=options).content)
            assert {name: body.get(name) for name in expected} == expected
    budget = Options(thinking_budget=5)
    assert encode(request("responses", user()), options=budget).unsent == (
        "thinking_budget",
    )


PATHS = {
    "messages": "/messages",
    "chat": "/chat/completions",
    "responses": "/responses",
    "generateContent": "/models/gemini-3-pro:generateContent",
}


@pytest.mark.parametrize("wire", WIRES)
def test_where_it_goes_and_whether_a_stream_is_asked_for(wire: str) -> None:
    made = encode(request(wire, user()), options=Options(betas=("a-2026", "b-2026")))
    assert made.path == PATHS[wire]
    version = {"anthropic-version": "2023-06-01", "anthropic-beta": "a-2026,b-2026"}
    more = version if wire == "messages" else {}
    assert made.headers == {"content-type": "application/json", **more}
    streamed = encode(request(wire, user(), stream=True))
    is_asked = json.loads(streamed.content).get("stream") is True
    assert is_asked is (wire != "generateContent")
