"""A field or a kind of object that an SDK has, and neither a codec nor the list of names, is noticed."""

from __future__ import annotations

from typing import Literal, TypedDict

import pytest
from pydantic import BaseModel, Field

from scripts.sdk_news import (
    CODEC,
    LISTED,
    SDKS,
    Group,
    Sdk,
    compare,
    known_names,
    read_groups,
)


class FakeThinking(TypedDict):
    type: Literal["thinking"]
    thinking: str
    bound_to: str


class FakeHologram(TypedDict):
    type: Literal["hologram"]
    voxels: int


class FakeMessage(TypedDict):
    role: Literal["user"]
    content: list[FakeThinking | FakeHologram]


class FakeRequest(TypedDict):
    model: str
    messages: list[FakeMessage]
    remembers: str


class FakeAnswer(BaseModel):
    """A model whose fields are sent by other names."""

    content: list[str] | None = None
    remembered_as: str = Field(default="", alias="rememberedAs")


FAKE = Sdk(
    "fake",
    ("anthropic",),
    (f"{__name__}:FakeRequest", f"{__name__}:FakeAnswer"),
)


def listing(*names: str, wire: str = "messages") -> list[Group]:
    return [Group(wire, names, "is passed through", held=False, is_open=False)]


def test_fields_and_kinds_that_nothing_knows_are_new() -> None:
    assert compare("messages", FAKE, []).new == [
        "FakeAnswer.rememberedAs",
        "FakeRequest.remembers",
        "FakeThinking.bound_to",
        "hologram",
    ]


def test_what_is_listed_for_the_wire_is_not_new() -> None:
    groups = listing("hologram", "Fake*.remember*", "FakeThinking.bound_to")
    assert compare("messages", FAKE, groups).new == []
    assert len(compare("messages", FAKE, listing("*", wire="chat")).new) == 4


@pytest.mark.parametrize("wire", SDKS)
def test_the_locked_sdks_have_nothing_that_is_neither_handled_nor_listed(
    wire: str,
) -> None:
    assert compare(wire, SDKS[wire], read_groups(LISTED)).new == []


def test_each_group_says_what_becomes_of_its_names_and_none_is_listed_twice() -> None:
    groups = read_groups(LISTED)
    assert all(group.wire in SDKS and group.reason for group in groups)
    names = [(group.wire, name) for group in groups for name in group.names]
    assert len(names) == len(set(names))
    assert not [name for _, name in names if name.strip("*.") == ""]


def test_what_is_listed_without_need_is_told() -> None:
    assert compare("messages", FAKE, listing("hologram", "model")).unneeded == ["model"]


def test_what_a_codec_knows_is_read_from_its_source() -> None:
    assert {"redacted_thinking", "thinking", "cache_control"} <= known_names(
        ("anthropic",)
    )
    assert {sdk.folders[0] for sdk in SDKS.values()} == {
        folder.name
        for folder in (CODEC / "wires").iterdir()
        if (folder / "read.py").exists()
    }
