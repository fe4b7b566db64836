"""Saying something over HTTP, and what waits."""

import asyncio
import base64
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server.served import WAIT_S, Api, Local, script, serving
from ullage_server.api_types import NewMessage
from ullage_server.conversation import IdempotencyKeys, UnusableMessage
from ullage_server.live_types import REMEMBERED
from ullage_simulators import running


def png(width: int, height: int) -> bytes:
    """A picture that is all black."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + b"\0" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_a_message_is_acknowledged_with_its_place_and_answered(api: Api) -> None:
    session = api.session("said")
    receipt = api.say(session, "hello")
    assert receipt["position"] == 1
    assert receipt["state"] == "pending"
    assert receipt["new"] is True
    api.until(session)
    first, second = api.messages(session)
    assert first["id"] == receipt["id"]
    assert first["role"] == "user"
    assert first["parts"][0]["text"] == "hello"
    assert second["role"] == "assistant"


def test_an_idempotency_key_is_one_message_from_however_many(api: Api) -> None:
    session = api.session("keys")

    def send(_: int) -> dict[str, object]:
        with Api(base_url=api.base_url, timeout=60) as other:
            answer = other.post(
                f"/v1/sessions/{session}/messages",
                json={"text": "once"},
                headers={"Idempotency-Key": "one"},
            )
            assert answer.status_code == 202
            return dict(answer.json())

    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(send, range(24)))
    assert sum(bool(receipt["new"]) for receipt in receipts) == 1
    assert len({receipt["id"] for receipt in receipts}) == 1
    api.until(session)
    again = send(0)
    assert (again["new"], again["state"], again["position"]) == (False, "delivered", 0)
    assert [message["role"] for message in api.messages(session)] == ["user", "assistant"]


def test_a_key_that_was_used_for_another_message_is_refused(api: Api) -> None:
    session = api.session("other-body")
    headers = {"Idempotency-Key": "k"}
    found = api.post(
        f"/v1/sessions/{session}/messages", json={"text": "a"}, headers=headers
    ).status_code
    assert found == 202
    answer = api.post(
        f"/v1/sessions/{session}/messages", json={"text": "b"}, headers=headers
    )
    assert answer.status_code == 422
    assert "new one" in answer.json()["detail"]
    other = api.session("other-session")
    given = api.post(
        f"/v1/sessions/{other}/messages", json={"text": "b"}, headers=headers
    ).status_code
    assert given == 202


def test_an_id_of_the_agent_s_own_message_is_refused(api: Api) -> None:
    session = api.session("stolen")
    api.say(session, "hello")
    api.until(session)
    answer = api.messages(session)[1]["id"]
    refused = api.post(
        f"/v1/sessions/{session}/messages", json={"text": "x", "id": answer}
    )
    assert refused.status_code == 409


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"text": ""}, 422),
        ({"text": "x", "images": ["aGVsbG8="]}, 422),
        ({"text": "x", "images": ["?"]}, 400),
        ({"text": 1}, 400),
        ({"text": "x", "kind": "later"}, 400),
        ({"text": "x", "id": "a b"}, 400),
        ({"text": "x", "unheard": 1}, 400),
        ([], 400),
    ],
)
def test_what_can_t_be_said_stores_nothing(api: Api, body: object, status: int) -> None:
    session = str(api.post("/v1/sessions", json={}).json()["id"])
    answer = api.post(f"/v1/sessions/{session}/messages", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert api.get(f"/v1/sessions/{session}/queue").json() == {"queue": []}


def test_an_image_is_said_and_can_be_had_again(api: Api) -> None:
    session = api.session("picture")
    picture = png(40, 30)
    api.say(session, "What is this?", images=[base64.b64encode(picture).decode()])
    api.until(session)
    image, text = api.messages(session)[0]["parts"]
    assert (image["type"], image["width"], image["height"]) == ("image", 40, 30)
    assert text["text"] == "What is this?"
    handle = image["source"].removeprefix("kept:")
    kept = api.get(f"/v1/sessions/{session}/kept/{handle}")
    assert kept.content == picture
    found = api.get(
        f"/v1/sessions/{session}/kept/{handle}", params={"start": 1, "size": 3}
    ).content
    assert found == b"PNG"
    assert api.get(f"/v1/sessions/{session}/kept/nothing").status_code == 404


def test_a_file_has_its_name_and_one_the_model_can_t_take_is_refused(api: Api) -> None:
    session = api.session("named")
    notes = {"name": "notes.txt", "data": base64.b64encode(b"Cask 4 leaks.").decode()}
    api.say(session, "Read this.", files=[notes])
    api.until(session)
    file, text = api.messages(session)[0]["parts"]
    assert (file["name"], file["mime"]) == ("notes.txt", "text/plain")
    assert (file["text"], text["text"]) == ("Cask 4 leaks.", "Read this.")
    archive = {"name": "a.zip", "data": base64.b64encode(b"PK\3\4\xff\0").decode()}
    answer = api.post(f"/v1/sessions/{session}/messages", json={"files": [archive]})
    assert answer.status_code == 422
    assert "a.zip" in answer.json()["detail"]


def test_what_waits_can_be_seen_changed_and_taken_out(tmp_path: Path) -> None:
    with (
        running(
            script({"text": "Slowly, word after word. " * 4_000}, delay_s=0.02)
        ) as simulator,
        serving(simulator.url("anthropic"), tmp_path / "s.db") as server,
    ):
        api, session = server.api, server.api.session("queue")
        api.say(session, "begin")
        api.until(session, "streaming")
        api.until_event(session, "draft")
        api.say(session, "first", kind="follow_up", id="first")
        api.say(session, "second", kind="follow_up", id="second")
        assert api.state(session)["queued"] == 2
        edited = api.put(f"/v1/sessions/{session}/queue/second", json={"text": "changed"})
        assert (edited.status_code, edited.json()["position"]) == (200, 2)
        queue = api.get(f"/v1/sessions/{session}/queue").json()["queue"]
        assert [(one["id"], one["position"], one["kind"]) for one in queue] == [
            ("first", 1, "follow_up"),
            ("second", 2, "follow_up"),
        ]
        assert queue[1]["message"]["parts"][0]["text"] == "changed"
        withdrawn = api.delete(f"/v1/sessions/{session}/queue/first")
        assert withdrawn.json()["message"]["parts"][0]["text"] == "first"
        assert api.delete(f"/v1/sessions/{session}/queue/first").status_code == 409
        assert (
            api.put(f"/v1/sessions/{session}/queue/first", json={"text": "x"}).status_code
            == 409
        )
        cancelled = api.post(f"/v1/sessions/{session}/cancel").json()
        assert cancelled["persisted"] == "partial_assistant"
        assert [message["id"] for message in cancelled["returned"]] == ["second"]
        state = api.until(session)
        assert (state["ended"], state["queued"]) == ("cancelled", 0)


def test_messages_come_a_page_at_a_time_from_the_newest_back(api: Api) -> None:
    session = api.session("pages")
    for number in range(3):
        api.say(session, f"number {number}")
        api.until(session)
    whole = api.messages(session)
    found: list[dict[str, object]] = []
    before: str | None = None
    while True:
        params = {"limit": "4"} | ({} if before is None else {"before": before})
        page = api.get(f"/v1/sessions/{session}/messages", params=params).json()
        assert page["total"] == 6
        found = page["messages"] + found
        before = page["before"]
        if before is None:
            break
    assert found == whole
    given = api.get(
        f"/v1/sessions/{session}/messages", params={"before": "nobody"}
    ).status_code
    assert given == 409


def test_only_the_last_keys_are_remembered() -> None:
    keys = IdempotencyKeys()
    for number in range(REMEMBERED + 1):
        keys.remember("s", str(number), NewMessage(text="a"))
    keys.check("s", "0", NewMessage(text="b"))
    with pytest.raises(UnusableMessage):
        keys.check("s", "1", NewMessage(text="b"))
    keys.check("s", "1", NewMessage(text="a"))


def test_a_body_that_is_too_large_is_refused(api: Api) -> None:
    session = api.session("large")
    body = {"instructions": "x" * 1_100_000}
    answer = api.post(f"/v1/sessions/{session}/compact", json=body)
    assert (answer.status_code, answer.json()["title"]) == (413, "Content Too Large")


def test_a_session_that_is_looked_at_while_it_is_deleted_is_gone(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = local.api.get("/healthz").json()["open_sessions"]
    path = f"/v1/sessions/{local.api.session('deleted')}"
    delete = local.store.delete

    async def looked_at_before(session: str) -> None:
        with Api(base_url=local.url, timeout=WAIT_S) as other:
            found = await asyncio.to_thread(other.get, f"{path}/context")
        assert found.status_code == 200
        await delete(session)

    monkeypatch.setattr(local.store, "delete", looked_at_before)
    assert local.api.delete(path).status_code == 204
    assert local.api.get("/healthz").json()["open_sessions"] == before
    assert local.api.get(f"{path}/context").status_code == 404
