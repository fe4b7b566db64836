"""The clients of httpx and httpx2, told by their classes alone."""

from __future__ import annotations

import httpx
import httpx2
import pytest

from ullage.plugins.sdk_http import is_async, package_of


class OwnClient(httpx2.Client):
    """As the SDKs' wrappers are."""


@pytest.mark.parametrize(
    ("client", "package", "awaits"),
    [
        (httpx.Client(), "httpx", False),
        (httpx.AsyncClient(), "httpx", True),
        (httpx2.Client(), "httpx2", False),
        (httpx2.AsyncClient(), "httpx2", True),
        (OwnClient(), "httpx2", False),
        (httpx2.Headers(), "", False),
        (None, "", False),
    ],
    ids=["httpx", "async", "httpx2", "async 2", "subclass", "headers", "nothing"],
)
def test_a_client_has_its_package(client: object, package: str, awaits: bool) -> None:
    assert package_of(client) == package
    assert is_async(client) is awaits
