"""Images are billed by their size, as the models are shown them."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulators.asking import Ask, Body, Talk
from tests.simulators.test_anthropic_rules import png
from ullage_simulators import running
from ullage_simulators.scenario import read

OLD = "claude-sonnet-4-6"
NEW = "claude-opus-4-7"


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    with running(read({"drawn": {"image": 77}})) as server:
        yield Talk(server)


def cost(talk: Talk, model: str, image: Body, *, in_result: bool = False) -> int:
    """What the image adds to the input, by the bill; the count endpoint says the same."""

    def messages(*more: Body) -> list[Any]:
        if not in_result:
            text = {"type": "text", "text": "Which cask is it?"}
            return [{"role": "user", "content": [*more, text]}]
        call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [*more]}
        asked = {"role": "user", "content": "Look."}
        called = {"role": "assistant", "content": [call]}
        return [asked, called, {"role": "user", "content": [result]}]

    def size(*more: Body) -> int:
        body: Body = {"model": model, "messages": messages(*more)}
        counted = talk.ok("anthropic", Ask("/v1/messages/count_tokens", body))
        billed = talk.ok("anthropic", Ask("/v1/messages", {**body, "max_tokens": 500}))
        assert counted["input_tokens"] == billed["usage"]["input_tokens"]
        return int(counted["input_tokens"])

    return size(image) - size()


@pytest.mark.parametrize(
    ("width", "height", "old", "new"),
    [
        (1, 1, 1, 1),
        (200, 200, 64, 64),
        (1_000, 1_000, 1_296, 1_296),
        (1_920, 1_080, 1_560, 2_691),
        (3_840, 2_160, 1_560, 4_784),
        (2_000, 1_500, 1_564, 3_888),
        (8_000, 10, 56, 92),
    ],
)
def test_an_image_costs_its_patches_after_it_was_made_to_fit(
    talk: Talk, width: int, height: int, old: int, new: int
) -> None:
    """https://platform.claude.com/docs/en/build-with-claude/vision#evaluate-image-size has the table."""
    assert cost(talk, OLD, png(width, height)) == old
    assert cost(talk, NEW, png(width, height)) == new


def test_an_image_in_a_result_costs_the_same(talk: Talk) -> None:
    assert cost(talk, NEW, png(1_000, 1_000), in_result=True) == 1_296


def test_an_image_of_unknown_size_costs_what_the_run_has_drawn(talk: Talk) -> None:
    url = {"type": "url", "url": "https://example.com/cask.png"}
    assert cost(talk, NEW, {"type": "image", "source": url}) == 77
