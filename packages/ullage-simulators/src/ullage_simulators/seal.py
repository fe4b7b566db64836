"""Opaque data that only its maker can read: signatures, encrypted reasoning, thought signatures.

A seal carries what the provider must know when it comes back (how many hidden tokens it stands for, what text it was
made over, what came before it), so that a conversation goes on after a restart of the server. Its key belongs to the
wire: another provider's seal does not open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json

from ullage_simulators.body import Body

_MARK = b"\x12\x1f"
_CHECK_BYTES = 16


def seal(wire: str, carried: Body) -> str:
    """Base64 text that carries ``carried`` for the wire."""
    body = json.dumps(carried, sort_keys=True).encode()
    return base64.b64encode(_MARK + _check(wire, body) + _blur(wire, body)).decode()


def unseal(wire: str, text: object) -> Body | None:
    """What a seal carries; ``None`` when it was altered, or made for another wire."""
    if not isinstance(text, str):
        return None
    try:
        raw = base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not raw.startswith(_MARK) or base64.b64encode(raw).decode() != text:
        return None
    check, body = raw[2 : 2 + _CHECK_BYTES], _blur(wire, raw[2 + _CHECK_BYTES :])
    if not hmac.compare_digest(check, _check(wire, body)):
        return None
    carried: Body = json.loads(body)
    return carried


def digest(*values: object) -> str:
    """A short fingerprint of JSON values; the order of an object's keys makes no difference."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:24]


def _check(wire: str, body: bytes) -> bytes:
    return hmac.new(f"a simulated {wire}".encode(), body, hashlib.sha256).digest()[
        :_CHECK_BYTES
    ]


def _blur(wire: str, body: bytes) -> bytes:
    stream = b"".join(
        hashlib.sha256(f"{wire} {block}".encode()).digest()
        for block in range(len(body) // 32 + 1)
    )
    return bytes(a ^ b for a, b in zip(body, stream, strict=False))
