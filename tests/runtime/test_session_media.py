"""Bytes and files that a person says: what part of a message they become, and where their bytes are."""

from pathlib import Path

import pytest

from tests.agents import haiku
from tests.codec.test_dimensions import IMAGES
from ullage.messages import FilePart, ImagePart
from ullage.runtime.agent import Agent
from ullage.runtime.session_runtime import BLOB_SOURCE

MIMES = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/bmp",
    "image/webp",
    "image/webp",
    "image/webp",
]


def agent(place: Path) -> Agent:
    return haiku(place / "s.db")


async def test_bytes_of_an_image_are_an_image_with_its_pixels_and_are_kept_beside_the_session(
    tmp_path: Path,
) -> None:
    async with agent(tmp_path).session("one") as session:
        message = await session.message(*IMAGES, id="m")
        store = (await session._look()).ledger.store
        kept = [
            await store.kept("one", part.source.removeprefix(BLOB_SOURCE))
            for part in message.of_type(ImagePart)
        ]
    assert kept == IMAGES
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
            zip(IMAGES, MIMES, message.of_type(ImagePart), strict=True)
        )
    )


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"%PDF-1.7 compressed", "application/pdf"),
        (b"\x89PNG, or so", "application/octet-stream"),
    ],
)
async def test_other_bytes_are_a_file_with_its_name(
    data: bytes, mime: str, tmp_path: Path
) -> None:
    path = tmp_path / "said"
    path.write_bytes(data)
    async with agent(tmp_path).session("one") as session:
        (part,) = (await session.message(path, id="m")).parts
    assert isinstance(part, FilePart)
    assert part == FilePart(
        id="m.0", mime=mime, name="said", size_bytes=len(data), source=part.source
    )
