"""What was repaired is collected in order."""

from ullage.codec.repair_notes import Notes, Repair


def test_notes_keep_the_order_they_were_made_in() -> None:
    notes = Notes()
    notes.add("text", "m", "p", "made valid")
    notes.add("empty", "m", "", "left out")
    assert notes.repairs == [Repair("text", "m", "p", "made valid"), Repair("empty", "m", "", "left out")]
