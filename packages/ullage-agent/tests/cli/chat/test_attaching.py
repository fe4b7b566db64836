from __future__ import annotations

import os
from pathlib import Path

import pytest

from ullage.errors import InputError
from ullage.messages import ImagePart, Message, TextPart
from ullage_agent.chat import attaching
from ullage_agent.chat.attaching import (
    AttachedFiles,
    attachable,
    clipboard_image,
    paths_of,
)
from ullage_agent.runtime.message_input import NamedFile


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs more than a user's five seconds to start a program and read 50 MB from it."""
    monkeypatch.setattr(attaching, "CLIPBOARD_S", 60.0)


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "my shot's.png"
    path.write_bytes(b"png")
    return path


def test_a_dropped_image_is_recognised_however_its_path_is_written(shot: Path) -> None:
    escaped = str(shot).replace(" ", "\\ ").replace("'", "\\'")
    for written in (str(shot), f"{shot}\n", escaped, f'"{shot}"', f"{shot.as_uri()} "):
        assert paths_of(written) == [shot], written
    assert paths_of(f"{escaped} {escaped}") == [shot, shot]


def test_other_texts_stay_texts(shot: Path, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("")
    for text in (
        "",
        "hello",
        f"see {shot}",
        str(tmp_path / "gone.png"),
        str(tmp_path / "code.py"),
        shot.name,
        "it's \"open",
        "/" + "a" * 3_000 + ".png",
        "\0.png",
        f"{shot} " * 500,
    ):
        assert paths_of(text) == [], text


def test_a_text_is_sent_with_the_files_of_its_words(shot: Path) -> None:
    attached = AttachedFiles()
    word, pdf = attached.word(shot), attached.word(NamedFile("a[b].pdf", b"pdf"))
    assert (word, pdf) == ("[image 1: my shot's.png]", "[file 2: a(b).pdf]")
    assert attached.pieces(f"{word} what is it?") == [f"{word} what is it?", shot]
    assert attached.pieces(f"{pdf} {word} {pdf}")[1:] == [
        NamedFile("a[b].pdf", b"pdf"),
        shot,
    ]
    assert attached.pieces("[image 7: unknown.png]") == ["[image 7: unknown.png]"]


def test_a_waiting_message_keeps_its_files_unless_their_word_is_gone(shot: Path) -> None:
    attached = AttachedFiles()
    word = attached.word(shot)
    image = ImagePart(id="p2", mime="image/png")
    own = Message(id="m1", role="user", parts=(TextPart(id="p1", text=word), image))
    other = Message(id="m2", role="user", parts=(TextPart(id="p1", text="old"), image))
    assert attached.pieces(f"{word}!", own) == [f"{word}!", shot]
    assert attached.pieces("none", own) == ["none"]
    assert attached.pieces("of another program", other) == ["of another program", image]


def test_a_file_that_is_not_there_is_named(tmp_path: Path, shot: Path) -> None:
    assert attachable(f"'{shot}'") == shot
    with pytest.raises(InputError, match=r"There is no file .*gone\.png\. Check"):
        attachable(str(tmp_path / "gone.png"))


def clipboard(place: Path, script: str) -> dict[str, str]:
    """An environment with a program that stands for the clipboard's."""
    program = place / "wl-paste"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    path = f"{place}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "WAYLAND_DISPLAY": "wayland-0"}


async def test_the_image_in_the_clipboard_is_taken(tmp_path: Path) -> None:
    found = await clipboard_image(clipboard(tmp_path, "printf png"))
    assert found == NamedFile("clipboard.png", b"png")


@pytest.mark.parametrize("script", ["exit 1", "exit 0", "printf half; exit 1"])
async def test_a_clipboard_without_image_gives_none(tmp_path: Path, script: str) -> None:
    assert await clipboard_image(clipboard(tmp_path, script)) is None


async def test_an_endless_clipboard_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"more than 50,000,000 bytes"):
        await clipboard_image(clipboard(tmp_path, "exec cat /dev/zero"))


async def test_without_a_desktop_the_other_ways_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/attach FILE"):
        await clipboard_image({"PATH": str(tmp_path)})
