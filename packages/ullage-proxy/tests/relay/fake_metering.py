"""Stands in for the process that meters: writes each frame it gets as a line of a file, and says that it is stored.

Settings: ``out`` (the file), ``die_at`` (ends without a word at this frame, once),
``silent`` (says nothing), ``digests`` (writes digests of the payloads).
"""

import base64
import hashlib
import json
import os
import sys
from pathlib import Path

from ullage_proxy.relay.frames import FrameReader, TapFrame, encoded


def main() -> None:
    reader = FrameReader()
    settings: dict[str, object] = {}
    while data := os.read(0, 1 << 16):
        for frame in reader.feed(data):
            if frame.kind == "settings":
                settings = json.loads(frame.payload)
                note(settings, {"kind": "settings", "pid": os.getpid()})
            else:
                take(settings, frame)
    note(settings, {"kind": "end", "pid": os.getpid()})


def take(settings: dict[str, object], frame: TapFrame) -> None:
    shown = frame.payload
    if settings.get("digests"):
        shown = hashlib.sha256(shown).digest()
    payload = base64.b64encode(shown).decode()
    note(settings, {**frame.header, "payload": payload})
    died = Path(f"{settings['out']}.died")
    if frame.kind == settings.get("die_at") and not died.exists():
        died.touch()
        os._exit(1)
    if settings.get("silent"):
        return
    if frame.kind == "answer":
        say({"kind": "stored", "call": frame.text("call")})


def say(header: dict[str, object], payload: bytes = b"") -> None:
    sys.stdout.buffer.write(encoded(header, payload))
    sys.stdout.buffer.flush()


def note(settings: dict[str, object], line: dict[str, object]) -> None:
    with open(str(settings["out"]), "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
