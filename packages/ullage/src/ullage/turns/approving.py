"""The digest of a call for its approval, and the texts that tell the model about a denied call. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

DENIED_BY_A_PERSON: Final = "A person did not allow this call."
NOBODY_COULD_BE_ASKED: Final = (
    "This call was not run: it needs a person's approval, and no person could be asked. "
    "Do without it, or say what you need."
)
REFUSED_BY_A_RULE: Final = "Refused by a rule of this program, without asking a person:"


def digest_of(name: str, arguments: str) -> str:
    """Identifies one exact call: the SHA-256 of the tool's name and the argument bytes, in hexadecimal.

    The name's length comes first, so that no byte of the arguments can pass for one of the name.
    """
    tool = _bytes(name)
    return sha256(b"%d:%b%b" % (len(tool), tool, _bytes(arguments))).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
