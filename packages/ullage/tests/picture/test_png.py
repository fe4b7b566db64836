import sys
from struct import unpack

import pytest

from tests.picture.sessions import session
from ullage.errors import MissingExtra
from ullage.picture.model import picture_of
from ullage.picture.png import png
from ullage.picture.style import Scheme

DRAWN = picture_of(session(), title="Tea timers")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_card_as_pixels_is_twice_its_size(scheme: Scheme) -> None:
    drawn = png(DRAWN, scheme=scheme)
    assert drawn.startswith(b"\x89PNG")
    assert unpack(">II", drawn[16:24]) == (2_000, 1_240)


def test_without_the_extra_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingExtra, match=r"needs resvg-py\. Install it: .*png"):
        png(DRAWN)


class Fontless:
    """resvg on a system without fonts."""

    @staticmethod
    def svg_to_bytes(**_: object) -> bytes:
        return b"blank"


def test_without_any_font_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", Fontless)
    with pytest.raises(MissingExtra, match="no font"):
        png(DRAWN)
