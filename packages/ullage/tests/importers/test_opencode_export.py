import json
from pathlib import Path

import pytest

from tests.importers.opencode_database import STORAGE, load, make_database
from ullage.errors import NotASession
from ullage.importers import read


def _exported(path: Path, session: str = "ses_0001") -> Path:
    """What ``opencode export`` writes of the fixture's session."""
    messages = []
    for file in sorted(STORAGE.glob("message/*/*.json")):
        info = load(file)
        parts = [load(each) for each in sorted(STORAGE.glob(f"part/{info['id']}/*.json"))]
        if info["sessionID"] == session:
            messages.append({"info": info, "parts": parts})
    info = next(
        each
        for each in map(load, STORAGE.glob("session/*/*.json"))
        if each["id"] == session
    )
    path.write_text(json.dumps({"info": info, "messages": messages}, indent=2))
    return path


def test_an_export_is_read_as_the_session_in_the_database(tmp_path: Path) -> None:
    exported = read(_exported(tmp_path / "export.json"))
    stored = read(make_database(tmp_path / "opencode.db"))
    own = [event for event in stored.events if getattr(event, "purpose", "") != "child"]
    assert exported.format == "opencode"
    assert (exported.session, exported.title) == (stored.session, stored.title)
    assert [type(each) for each in exported.events] == [type(each) for each in own]
    assert [getattr(each, "usage", None) for each in exported.events] == [
        getattr(each, "usage", None) for each in own
    ]


def test_an_export_in_one_line_with_a_torn_message_is_read(tmp_path: Path) -> None:
    path = _exported(tmp_path / "export.json")
    whole = json.loads(path.read_text())
    whole["messages"][0] = {"info": {"id": "msg_0001"}, "parts": 3}
    path.write_text(json.dumps(whole))
    session = read(path)
    assert dict(session.reasons) == {"message without a role": 1}
    assert session.usable


@pytest.mark.parametrize(
    "content",
    [
        {"messages": [{"info": {"role": "user"}, "text": "Hello"}]},
        {"messages": ["Hello"]},
        {"contents": [{"role": "user"}]},
        [{"info": {}, "parts": []}],
    ],
)
def test_messages_without_a_role_and_content_are_no_plain_json(
    tmp_path: Path, content: object
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(content))
    with pytest.raises(NotASession, match="hold a message"):
        read(path)
