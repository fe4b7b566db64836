"""Notices of sessions that need a person: once, from whichever server, until they are delivered."""

import asyncio
import base64
import hashlib
import hmac
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from tests.server.served import WAIT_S
from ullage.errors import SettingError
from ullage.events import ApprovalAsked, ApprovalGiven, TurnEnded, TurnStarted
from ullage.store.memory import MemoryStore
from ullage.store.places import store_at
from ullage.store.store import SessionRow, SessionStore
from ullage.tasks import stop
from ullage.turns.standing import AskedApproval, Standing
from ullage_server import notices
from ullage_server.cli.serve import words_of
from ullage_server.notices import (
    Notifier,
    StandingNotice,
    body_of,
    claim,
    command_sender,
    notice_of,
    report,
    signed,
    webhook_key,
    webhook_sender,
)
from ullage_server.policy import (
    NOTICE_CLAIM_S,
    NOTICE_LASTS_S,
    NOTICE_PAUSES_S,
    NOTICES_AT_ONCE,
)

KEY = b"k" * 32
PAGE = "https://ullage.example.com"


def noticed(name: str = "s", *, since: float = 100.0) -> StandingNotice:
    asked = AskedApproval(call_id="c1", tool="shell", digest="d")
    standing = Standing(
        state="needs_approval", since=since, seq=7, reason="asked", approvals=(asked,)
    )
    row = SessionRow(name, "Tidy up", "claude", 1.0, 2.0, 7, standing=standing)
    return notice_of(row, PAGE)


def test_a_notice_is_claimed_once_and_again_when_its_sender_died() -> None:
    one = noticed()
    first = claim(("",), {one.id: one}, 100.0)
    assert first.result == [one.id]
    held = 100.0 + NOTICE_CLAIM_S
    assert claim(first.values, {one.id: one}, held - 1).result == []
    assert claim(first.values, {one.id: one}, held).result == [one.id]


def test_a_failure_is_repeated_with_growing_pauses_and_then_given_up() -> None:
    one, now = noticed(), 100.0
    values: tuple[str, ...] = ("",)
    for pause in (*NOTICE_PAUSES_S, 0.0):
        claimed = claim(values, {one.id: one}, now)
        assert claimed.result == [one.id]
        values = report(claimed.values, {one.id: "it failed"}, now).values
        assert claim(values, {one.id: one}, now + pause - 0.1).result == []
        now += pause
    assert claim(values, {one.id: one}, now + 1e6).result == []


def test_what_was_delivered_is_kept_as_long_as_the_state_lasts() -> None:
    one = noticed()
    claimed = claim(("",), {one.id: one}, 100.0)
    done = report(claimed.values, {one.id: ""}, 101.0).values
    assert json.loads(done[0]) == {one.id: [1, 0.0]}
    assert claim(done, {one.id: one}, 1e4).result == []
    assert claim(done, {}, 102.0).values == ("",)
    assert report(("",), {one.id: ""}, 103.0).values == ("",)


def test_old_states_are_no_news_and_few_are_sent_at_once() -> None:
    old = noticed(since=1.0)
    assert claim(("",), {old.id: old}, 1.0 + NOTICE_LASTS_S).result == []
    many = {each.id: each for each in map(noticed, map(str, range(30)))}
    assert len(claim(("",), many, 100.0).result) == NOTICES_AT_ONCE


def test_a_message_is_signed_as_the_standard_says() -> None:
    """The example of the reference library (https://github.com/standard-webhooks/standard-webhooks, Python, tests)."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    at = datetime.fromtimestamp(1614265330, UTC)
    name, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}'
    headers = signed(name, at, body, key)
    assert (
        headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
    assert headers["webhook-timestamp"] == "1614265330"


def test_a_body_has_what_is_needed_and_nothing_that_was_said() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    said = json.loads(body_of(noticed("a/tool 1"), at))
    assert said["type"] == "session.needs_approval"
    assert said["timestamp"] == "2026-01-02T00:00:00+00:00"
    assert said["data"]["url"] == f"{PAGE}/#session=a"
    assert said["data"]["standing"]["approvals"][0]["tool"] == "shell"
    assert set(said["data"]) == {"session", "title", "model", "tenant", "standing", "url"}
    assert noticed().standing.line == "needs approval: shell"


async def test_two_servers_tell_of_each_state_once() -> None:
    store: SessionStore = store_at(MemoryStore())
    sent: list[str] = []

    async def send(notice: StandingNotice) -> str:
        sent.append(notice.standing.state)
        await asyncio.sleep(0)
        return ""

    both = [Notifier("https://receiver", send, PAGE) for _ in range(2)]

    async def look() -> None:
        await asyncio.gather(*(each.look(store) for each in both))

    await store.create("s", [TurnStarted(turn="t")])
    await look()
    assert sent == []
    await store.command("s", [ApprovalAsked(call_id="c", tool="shell")])
    await look()
    await look()
    assert sent == ["needs_approval"]
    await store.command("s", [ApprovalGiven(call_id="c", approved=True)])
    await look()
    await store.command("s", [TurnEnded(turn="t", reason="failed", note="No key.")])
    await look()
    assert sent == ["needs_approval", "failed"]
    other = Notifier("another", send, PAGE)
    await other.look(store)
    assert len(sent) == 3, "each receiver is told"


async def test_a_notice_that_can_not_be_made_ends_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store: SessionStore = store_at(MemoryStore())
    monkeypatch.setattr(notices, "NOTICE_LOOK_S", 0.0)
    sent = asyncio.Event()
    problems = iter([ValueError("embedded null byte")])

    async def send(_: StandingNotice) -> str:
        for problem in problems:
            raise problem
        sent.set()
        return ""

    telling = asyncio.create_task(Notifier("r", send, PAGE).run(store))
    for name in ("s", "t"):
        await store.create(name, [TurnEnded(turn="t", reason="failed")])
        await asyncio.sleep(0.01)
    async with asyncio.timeout(WAIT_S):
        await sent.wait()
    await stop(telling)


@asynccontextmanager
async def receiver(answer: bytes, had: list[bytes]) -> AsyncIterator[str]:
    """A server that answers everything with this, or nothing at all."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        had.append(head + await reader.readexactly(length))
        if answer:
            writer.write(answer)
            await writer.drain()
            writer.close()
        else:
            await reader.read()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", ""),
        (b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", ""),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n", "the receiver answered 500"),
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            "the receiver answered 302",
        ),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\nx", ""),
        (b"", "TimeoutError"),
        (b"nonsense\r\n\r\n", "RemoteProtocolError"),
    ],
)
async def test_whatever_a_receiver_answers_is_success_or_a_reason(
    answer: bytes, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "NOTICE_S", 30.0 if answer else 0.3)
    had: list[bytes] = []
    async with receiver(answer, had) as url:
        told = await webhook_sender(url, KEY)(noticed())
    assert told.startswith(failure) and bool(told) == bool(failure)
    if not answer:
        return
    head, _, body = had[0].partition(b"\r\n\r\n")
    lines = (line.decode().partition(": ")[::2] for line in head.split(b"\r\n")[1:])
    headers = {name.lower(): value for name, value in lines}
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    made = base64.b64encode(hmac.new(KEY, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{made}"


@pytest.mark.program
async def test_a_command_gets_title_and_text_as_they_are(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    program = f"import sys, pathlib; pathlib.Path({str(shown)!r}).write_text(repr(sys.argv[1:]))"
    send = command_sender([sys.executable, "-c", program, "-i"])
    hostile = structs.replace(noticed(), title="Tidy\0\ud800\n up")
    assert await send(hostile) == ""
    assert shown.read_text() == "['-i', 'Ullage: Tidy up', 'needs approval: shell']"
    assert (
        await command_sender(["/no/such"])(noticed())
        == "/no/such: No such file or directory"
    )
    assert "ended with 3" in await command_sender([sys.executable, "-c", "exit(3)"])(
        noticed()
    )


def test_a_key_an_address_or_a_command_that_can_not_be_used_is_refused(
    tmp_path: Path,
) -> None:
    text = "whsec_" + base64.b64encode(KEY).decode()
    file = tmp_path / "key"
    file.write_text(text + "\n")
    assert webhook_key({"ULLAGE_WEBHOOK_SECRET": text}, "") == KEY
    assert webhook_key({}, str(file)) == KEY
    for environment, place in (
        ({}, ""),
        ({"ULLAGE_WEBHOOK_SECRET": "whsec_c2hvcnQ="}, ""),
        ({"ULLAGE_WEBHOOK_SECRET": "not base64"}, ""),
        ({}, str(tmp_path / "none")),
    ):
        with pytest.raises(SettingError, match=r"key.*Make one"):
            webhook_key(environment, place)
    for command in ("no-such-program --urgent", " ", "'"):
        with pytest.raises(SettingError, match="--notify-command"):
            words_of(command)
    assert words_of(f"'{sys.executable}' -i") == [sys.executable, "-i"]
    for url in ("ftp://example.com", "example.com", "http://", "http://a:port/"):
        with pytest.raises(SettingError, match="--webhook"):
            webhook_sender(url, KEY)
