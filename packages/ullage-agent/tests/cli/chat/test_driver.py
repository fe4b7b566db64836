import os
import pty
from contextlib import suppress

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from ullage_agent.chat.driver import LossyOutput


def test_drawing_goes_on_and_ends_when_the_terminal_has_gone() -> None:
    master, slave = pty.openpty()
    with suppress(OSError), os.fdopen(slave, "w") as terminal:
        drawing = WriterThread(LossyOutput(terminal))  # type: ignore[arg-type]  # it needs no more of a file
        drawing.start()
        drawing.write("seen")
        assert os.read(master, 10) == b"seen"
        os.close(master)
        for number in range(5 * MAX_QUEUED_WRITES):
            drawing.write(f"line {number}")
        drawing.stop()
        assert not drawing.is_alive()
