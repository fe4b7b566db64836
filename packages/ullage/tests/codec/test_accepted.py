import pytest

from ullage.codec.accepted import ACCEPTED, not_accepted
from ullage.codec.wires import WIRES


def test_the_wires_of_the_table_are_wires() -> None:
    assert ACCEPTED.keys() <= WIRES.keys()


@pytest.mark.parametrize("wire", ACCEPTED)
def test_every_wire_takes_a_png_and_a_pdf_and_no_program(wire: str) -> None:
    assert not_accepted(wire, "image/png", 1_000, 640) == ""
    assert not_accepted(wire, "application/pdf", 1_000) == ""
    assert "does not take" in not_accepted(wire, "application/x-dosexec", 1_000)
    assert "bytes" in not_accepted(wire, "application/pdf", 60_000_000)


def test_an_image_for_messages_is_measured_as_base64_and_by_its_side() -> None:
    assert not_accepted("messages", "image/png", 3_932_160, 8_000) == ""
    assert "5,242,884 bytes as base64" in not_accepted("messages", "image/png", 3_932_161)
    assert "8,001 pixels" in not_accepted("messages", "image/png", 1_000, 8_001)


def test_a_wire_that_is_not_in_the_table_is_left_to_its_provider() -> None:
    assert not_accepted("telegraph", "audio/wav", 1_000) == ""
