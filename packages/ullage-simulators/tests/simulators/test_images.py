"""Images are billed by their size, and counted as they are billed."""

import base64
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk
from ullage_simulators.image_size import pixels, pixels_of_url


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return base64.b64encode(head + sides).decode()


def url(width: int, height: int) -> str:
    return f"data:image/png;base64,{png(width, height)}"


def user(*parts: Body) -> Body:
    return {"role": "user", "content": [{"type": "input_text", "text": "hm"}, *parts]}


def responses(model: str, *parts: Body) -> Ask:
    return Ask("/responses", {"model": model, "input": [user(*parts)]})


def shown(width: int, height: int, **more: Any) -> Body:
    return {"type": "input_image", "image_url": url(width, height), **more}


def added(talk: Talk, model: str, image: Body) -> int:
    """What an image adds to the bill; the count endpoint says the same."""
    bills: list[int] = []
    for parts in ((), (image,)):
        asked = responses(model, *parts)
        used = talk.ok("openai", asked)["usage"]["input_tokens"]
        counted = talk.ok("openai", asked._replace(path="/responses/input_tokens"))
        assert counted["input_tokens"] == used
        bills.append(used)
    return bills[1] - bills[0]


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-6.2-sol", (256, 256), "auto", 77),
        ("gpt-6.2-sol", (1_920, 1_080), "auto", 2_448),
        ("gpt-6.1-sol", (4_032, 3_024), "auto", 14_364),
        ("gpt-6.1-sol", (2_560, 1_440), "high", 2_931),
        ("gpt-6.1-sol", (4_032, 3_024), "high", 2_942),
        ("gpt-5.5", (4_032, 3_024), "auto", 11_868),
        ("gpt-5.5", (2_000, 2_000), "low", 308),
        ("gpt-5.5", (40_000, 10), "high", 1_500),
        ("gpt-5", (1_024, 1_024), "auto", 70 + 4 * 140),
        ("gpt-5", (1_024, 1_024), "low", 70),
        ("gpt-4.1", (2_048, 4_096), "high", 85 + 6 * 170),
        ("gpt-4.1-mini", (1_800, 2_400), "high", 2_353),
        ("o4-mini", (1_024, 1_024), "high", 1_762),
    ],
)
def test_an_image_costs_openai_its_tiles_or_patches(
    talk: Talk, model: str, size: tuple[int, int], detail: str, tokens: int
) -> None:
    assert added(talk, model, shown(*size, detail=detail)) == tokens


def test_chat_bills_an_image_as_responses_does(talk: Talk) -> None:
    def asked(*parts: Body) -> Ask:
        text = {"type": "text", "text": "hm"}
        message = {"role": "user", "content": [text, *parts]}
        return Ask("/chat/completions", {"model": "gpt-5", "messages": [message]})

    image = {"type": "image_url", "image_url": {"url": url(1_024, 1_024)}}
    bills = [
        talk.ok("openai", each)["usage"]["prompt_tokens"]
        for each in (asked(), asked(image))
    ]
    assert bills[1] - bills[0] == 630


def test_an_image_in_a_result_is_billed_as_well(talk: Talk) -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "call_1"}
    bills = []
    for size in ((512, 512), (2_000, 768)):
        items = [user(), call, {**result, "output": [shown(*size)]}]
        asked = Ask("/responses", {"model": "gpt-5", "input": items})
        bills.append(talk.ok("openai", asked)["usage"]["input_tokens"])
    assert bills[1] - bills[0] == 7 * 140


def gemini(method: str, model: str, *parts: Body, **more: Any) -> Ask:
    contents = [{"role": "user", "parts": [{"text": "hm"}, *parts]}]
    body = {"contents": contents, **more}
    if method == "countTokens":
        body = {"generateContentRequest": {"model": f"models/{model}", **body}}
    return Ask(f"/v1beta/models/{model}:{method}", body)


def billed(talk: Talk, model: str, *parts: Body, **more: Any) -> int:
    answer = talk.ok("gemini", gemini("generateContent", model, *parts, **more))
    counted = talk.ok("gemini", gemini("countTokens", model, *parts, **more))
    used = int(answer["usageMetadata"]["promptTokenCount"])
    assert counted["totalTokens"] == used
    return used


def level(name: str) -> Body:
    return {"generationConfig": {"mediaResolution": f"MEDIA_RESOLUTION_{name}"}}


@pytest.mark.parametrize(
    ("model", "size", "more", "tokens"),
    [
        ("gemini-3.8-flash", (1_024, 1_024), {}, 1_090),
        ("gemini-4-argon", (1_920, 1_080), {}, 1_101),
        ("gemini-4-argon", (3_024, 4_032), {}, 1_065),
        ("gemini-3.8-flash", (1_024, 1_024), level("HIGH"), 1_090),
        ("gemini-3.8-flash", (1_024, 1_024), level("LOW"), 257),
        ("gemini-2.5-flash", (1_024, 1_024), {}, 258),
        ("gemini-2.5-flash", (1_024, 1_024), level("LOW"), 66),
        ("gemini-2.5-flash", (960, 540), level("HIGH"), 7 * 258),
    ],
)
def test_an_image_costs_gemini_by_its_resolution(
    talk: Talk, model: str, size: tuple[int, int], more: Body, tokens: int
) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": png(*size)}}
    assert billed(talk, model, image, **more) - billed(talk, model, **more) == tokens


def test_the_resolution_of_a_part_comes_before_that_of_the_request(talk: Talk) -> None:
    data = {"mime_type": "image/png", "data": png(1_024, 1_024)}
    fine = {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"}
    image = {"inline_data": data, "media_resolution": fine}
    more = level("LOW")
    bare = billed(talk, "gemini-4-argon", **more)
    assert billed(talk, "gemini-4-argon", image, **more) - bare == 47 * 47 + 1


def test_an_image_of_unknown_size_costs_the_drawn_number(talk: Talk) -> None:
    drawn = talk.server.truth().drawn
    far: Body = {"type": "input_image", "image_url": "https://example.com/cask.png"}
    assert added(talk, "gpt-5", far) == drawn["gpt-5"].image


def test_the_size_is_read_from_either_alphabet_and_from_data_alone() -> None:
    text = png(1_000, 63)
    assert pixels(text) == (1_000, 63)
    assert pixels(text.replace("+", "-").replace("/", "_")) == (1_000, 63)
    assert pixels("no image") == pixels(None) == (0, 0)
    assert pixels_of_url("https://example.com/a.png") == (0, 0)
