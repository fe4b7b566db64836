"""Bytes and files that a person sends: the part of a message they become, their bytes, and what is refused."""

import base64
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.agents import haiku
from tests.codec.test_dimensions import IMAGES
from tests.promises.stage import (
    CHAT,
    CLAUDE,
    GEMINI,
    RESPONSES,
    SIX,
    Speaker,
    agent_for,
    generated,
    script,
)
from ullage.errors import InputError
from ullage.messages import FilePart, ImagePart
from ullage_agent.runtime.agent import Agent
from ullage_agent.runtime.policy import FILE_BYTES
from ullage_agent.runtime.session_runtime import BLOB_SOURCE
from ullage_simulators import running
from ullage_simulators.server import Server

WHOLE = [data + b"\xff\xd9 IEND" for data in IMAGES if not data.startswith(b"BM")]
MIMES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/webp", "image/webp"]
PDF = b"%PDF-1.4\n" + b"<< /Type /Page >>\n" * 7 + b"<< /Type /Pages /Count 7 >>"
PACKED = (
    b"%PDF-1.7\n1 0 obj <</Type /ObjStm /Filter /FlateDecode>>\nstream\n"
    + zlib.compress(b"<< /Type /Pages /Count 12 >>")
    + b"\nendstream"
)
BOMB = (
    b"%PDF-1.7\n1 0 obj <</Type /ObjStm>>\nstream\n"
    + zlib.compress(b"\0" * 300_000_000)
    + b"\nendstream"
)
WAV = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + (8_000).to_bytes(4, "little") * 2
SOUND = WAV.ljust(16_000, b"\0")


def agent(place: Path) -> Agent:
    return haiku(place / "s.db")


def agent_of(server: Server, place: Path, speaker: Speaker) -> Agent:
    return agent_for(place / "s.db", server=server, **speaker.settings())


async def part_of(place: Path, piece: Any) -> Any:
    async with agent(place).session("one") as session:
        (part,) = (await session._message(piece, id="m")).parts
    return part


async def test_bytes_of_an_image_are_an_image_with_its_pixels_and_are_kept_beside_the_session(
    tmp_path: Path,
) -> None:
    async with agent(tmp_path).session("one") as session:
        message = await session._message(*WHOLE, id="m")
        store = (await session._look()).ledger.store
        kept = [
            await store.kept("one", part.source.removeprefix(BLOB_SOURCE))
            for part in message.of_type(ImagePart)
        ]
    assert kept == WHOLE
    assert message.parts == tuple(
        ImagePart(
            id=f"m.{place}",
            mime=mime,
            width=640,
            height=480,
            size_bytes=len(data),
            source=part.source,
        )
        for place, (data, mime, part) in enumerate(
            zip(WHOLE, MIMES, message.of_type(ImagePart), strict=True)
        )
    )


@pytest.mark.parametrize(
    ("data", "pages"),
    [(PDF, 7), (PACKED, 12), (b"%PDF-1.7 nothing that can be read", None), (BOMB, None)],
    ids=["plain", "packed", "unknown", "bomb"],
)
async def test_the_pages_of_a_pdf_are_counted_and_a_bomb_is_not_unfolded(
    data: bytes, pages: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(data)
    part = await part_of(tmp_path, path)
    assert part == FilePart(
        id="m.0",
        mime="application/pdf",
        name="report.txt",
        pages=pages,
        size_bytes=len(data),
        source=part.source,
    )


async def test_a_text_file_is_sent_as_its_text(tmp_path: Path) -> None:
    path = tmp_path / "casks.csv"
    path.write_text("cask,level\n3,half\n")
    part = await part_of(tmp_path, path)
    assert part.text == "cask,level\n3,half\n"
    assert part.name == "casks.csv"
    assert part.source == ""


@pytest.mark.parametrize("speaker", SIX, ids=lambda speaker: speaker.name)
async def test_images_and_text_files_reach_every_wire_and_the_reading_holds_what_was_billed(
    speaker: Speaker, tmp_path: Path
) -> None:
    text = tmp_path / "casks.csv"
    text.write_text("cask,level\n3,half\n")
    with running(script({"text": "Seen."})) as server:
        async with agent_of(server, tmp_path, speaker).session() as session:
            result = await session.ask("What is this?", WHOLE[0], text)
    body = str(generated(server)[-1].body)
    assert base64.b64encode(WHOLE[0]).decode() in body and "3,half" in body
    bill = server.truth().bills[-1]
    used = result.reading.used
    assert used.low <= bill.input + bill.output <= used.high


@pytest.mark.parametrize(
    "speaker", [CLAUDE, RESPONSES, CHAT, GEMINI], ids=lambda speaker: speaker.name
)
async def test_a_pdf_reaches_every_wire_that_takes_it_and_its_bytes_outlive_the_file(
    speaker: Speaker, tmp_path: Path
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(PDF)
    with running(script({"text": "Seen."})) as server:
        async with agent_of(server, tmp_path, speaker).session("one") as session:
            await session.ask("What is this?", path)
        path.write_bytes(b"%PDF-1.4 another one")
        async with agent_of(server, tmp_path, speaker).session("one") as session:
            await session.ask("And now?")
    for exchange in generated(server):
        assert base64.b64encode(PDF).decode() in str(exchange.body)


async def test_a_recording_reaches_gemini_with_its_seconds(tmp_path: Path) -> None:
    with running(script({"text": "Heard."})) as server:
        async with agent_of(server, tmp_path, GEMINI).session() as session:
            await session.ask("What is said?", SOUND)
            (part,) = (await session.messages())[0].of_type(FilePart)
    assert (part.mime, part.seconds) == ("audio/wav", 2.0)
    assert base64.b64encode(SOUND).decode() in str(generated(server)[-1].body)


@pytest.mark.parametrize(
    ("speaker", "data", "said"),
    [
        (CLAUDE, SOUND, "is audio/wav, which the model's API does not take"),
        (RESPONSES, SOUND, "is audio/wav, which"),
        (GEMINI, b"GIF89a\x80\x02\xe0\x01", "is image/gif, which"),
        (CLAUDE, WHOLE[0] + b"\0" * 4_000_000, "bytes as base64"),
        (CLAUDE, IMAGES[0], "image/png and cut off: its last chunk"),
        (CLAUDE, IMAGES[1], "image/jpeg and cut off: its end marker"),
        (CLAUDE, b"\x89PNG, or so", "neither text nor an image"),
        (CLAUDE, b"MZ\0\0\x01", "neither text nor an image"),
        (CLAUDE, b"", "is empty"),
        (CLAUDE, b"word " * 1_200_000, "of text, which no window holds"),
    ],
    ids=["sound to Claude", "sound to Responses", "GIF to Gemini", "large image", "cut PNG",
         "cut JPEG", "no PNG", "program", "empty", "long text"],
)  # fmt: skip
async def test_a_file_that_can_not_be_sent_is_refused_before_anything_is_stored(
    speaker: Speaker, data: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "cask.png"
    path.write_bytes(data)
    with running(script({"text": "Seen."})) as server:
        async with agent_of(server, tmp_path, speaker).session() as session:
            with pytest.raises(
                InputError, match=rf"cask\.png.*{said}.*Nothing was stored"
            ):
                await session.send("What is this?", path)
            assert await session.messages() == ()
        assert generated(server) == []


async def test_an_unreadable_path_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(FILE_BYTES + 1)
    async with agent(tmp_path).session("one") as session:
        for name, said in [
            ("pipe", "no regular file"),
            ("", "no regular file"),
            ("missing", "can't be read: No such file"),
            ("huge", "more than 50,000,000 bytes"),
        ]:
            with pytest.raises(InputError, match=said):
                await session.send("What is this?", tmp_path / name)
