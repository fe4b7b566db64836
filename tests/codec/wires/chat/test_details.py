"""OpenRouter's details, put together from pieces."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.codec.wires.chat.details import merge_details


def text(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.text", **more}


def secret(**more: object) -> dict[str, Any]:
    return {"type": "reasoning.encrypted", **more}


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([text(index=0, text="a"), text(index=0, text="b")], [text(index=0, text="ab")]),
        ([text(text="a"), text(text="b")], [text(text="ab")]),
        ([text(index=0, text="a"), text(index=0, signature="S")], [text(index=0, text="a", signature="S")]),
        (
            [text(index=0, text="a", signature=None), text(index=0, text="b")],
            [text(index=0, text="ab", signature=None)],
        ),
        ([text(index=0, text="a"), text(index=1, text="b")], [text(index=0, text="a"), text(index=1, text="b")]),
        ([text(index=0, text="a"), secret(index=0, data="E")], [text(index=0, text="a"), secret(index=0, data="E")]),
        ([secret(index=1, data="E"), secret(index=1, data="F")], [secret(index=1, data="EF")]),
        ([secret(data="E"), secret(data="F")], [secret(data="E"), secret(data="F")]),
        (
            [secret(index=0, id="a", data="E"), secret(index=0, id="b", data="F")],
            [secret(index=0, id="a", data="E"), secret(index=0, id="b", data="F")],
        ),
    ],
)
def test_pieces_of_one_detail_are_joined_and_others_kept_apart(
    pieces: list[dict[str, Any]], whole: list[dict[str, Any]]
) -> None:
    held: list[dict[str, Any]] = []
    for piece in pieces:
        merge_details(held, [piece])
    assert held == whole


def test_pieces_given_are_not_changed() -> None:
    first = text(text="a")
    merge_details([], [first, text(text="b")])
    assert first == text(text="a")
