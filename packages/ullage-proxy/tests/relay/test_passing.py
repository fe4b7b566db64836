from pathlib import Path

from tests.relay.relays import (
    FAKE_METERING,
    Frames,
    Reader,
    Writer,
    answer,
    post,
    read_message,
    relay,
    upstream,
)

KEY = "sk-secret-of-the-user"


async def test_no_key_in_any_usual_place_is_in_any_frame(tmp_path: Path) -> None:
    frames = Frames(tmp_path / "frames.jsonl")
    seen = []

    async def keep(reader: Reader, writer: Writer) -> None:
        while True:
            seen.append(await read_message(reader))
            writer.write(answer(b"fine", f"Set-Cookie: {KEY}", f"X-Request-Id: {KEY}"))

    headers = [
        f"Authorization: Bearer {KEY}",
        f"x-api-key: {KEY}",
        f"api-key: {KEY}",
        f"x-goog-api-key: {KEY}",
        f"Cookie: session={KEY}",
        f"Proxy-Authorization: Basic {KEY}",
        f"Ocp-Apim-Subscription-Key: {KEY}",
        f"X-Ullage-Token: {KEY}",
        f"openai-organization: {KEY}",
    ]
    paths = [
        f"/t/{KEY}/a/v1/messages?key={KEY}",
        f"/a/v1/responses?api-version=1&api_key={KEY}",
        f"/s/mine/a/v1beta/models/x:streamGenerateContent?alt=sse&key={KEY}",
    ]
    async with (
        upstream(keep) as base,
        relay(
            f"a={base}",
            metering=FAKE_METERING,
            settings=frames.settings,
            environment={"ULLAGE_PROXY_TOKEN": KEY},
        ) as running,
    ):
        reader, writer = await running.connect()
        for path in paths:
            writer.write(post(path, b"{}", *headers))
            await read_message(reader)
        await frames.until("answer", len(paths))
        assert KEY not in frames.path.read_text("utf-8")
        assert KEY.encode() in seen[0]
        assert all(b"proxy-authorization" not in request.lower() for request in seen)
        assert all(b"ullage" not in request.lower() for request in seen)
        writer.close()
