"""The page's files."""

import pytest

from tests.server.served import Api
from ullage_server.page import KINDS, PAGE


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "%2e%2e/app.py",
        "..%2fapp.py",
        "/etc/passwd",
        "nothing.js",
        "app.py",
        "",
        "a\0b.js",
    ],
)
def test_nothing_but_the_page_s_own_files_is_served(api: Api, path: str) -> None:
    assert api.get(f"/assets/{path.replace(chr(0), '%00')}").status_code in (404, 400)


def test_each_of_its_files_is_served_as_what_it_is(api: Api) -> None:
    files = (
        [path for path in PAGE.rglob("*") if path.suffix in KINDS]
        if PAGE.is_dir()
        else []
    )
    for path in files:
        answer = api.get(f"/assets/{path.relative_to(PAGE).as_posix()}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].split(";")[0] == KINDS[path.suffix]
        found = answer.headers["content-type"].count("charset")
        assert found == KINDS[path.suffix].startswith("text/")
        assert answer.content == path.read_bytes()
        plain = api.get(answer.url, headers={"accept-encoding": "identity"})
        assert plain.content == answer.content
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["vary"] == "accept-encoding"
        assert "content-encoding" not in plain.headers
    assert api.get("/").status_code == (200 if (PAGE / "index.html").exists() else 404)
