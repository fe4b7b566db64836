import asyncio
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.mcp_server import PNG
from tests.tools.tool_context import FakeToolContext
from ullage.messages import ImagePart
from ullage.tokens.truncation import estimated_tokens
from ullage_agent.tools.result_budget import (
    LEAST,
    RESULT_TOKENS,
    FittedResult,
    budget_tokens,
    fit,
    read_result,
)
from ullage_agent.tools.running import run_call
from ullage_agent.tools.tool import BadArguments, Output, Picture

LINES = "".join(
    f"{number:06} some line of a log, with words\n" for number in range(20_000)
)


async def fitted(text: str, tokens: int) -> tuple[FittedResult, FakeToolContext]:
    context = FakeToolContext()
    return await fit(Output(text), context, tokens), context


def test_the_budget_is_the_smaller_of_the_setting_and_a_share_of_what_is_free() -> None:
    assert budget_tokens(None) == RESULT_TOKENS
    assert budget_tokens(None, 5_000) == 5_000
    assert budget_tokens(1_000_000, 5_000) == 5_000
    assert budget_tokens(16_000, 5_000) == 4_000
    assert budget_tokens(80_000, calls=4) == 5_000


def test_a_small_result_is_whole_as_long_as_it_fits() -> None:
    assert budget_tokens(4_000) == budget_tokens(2_500) == 2_000
    assert budget_tokens(1_000) == 800
    assert budget_tokens(4_000, calls=4) == 800
    assert budget_tokens(4_000, 1_500) == 1_500


@given(
    st.none() | st.integers(-100_000, 2_000_000),
    st.none() | st.integers(0, 100_000),
    st.integers(0, 100),
)
def test_there_is_always_room_for_the_notice(
    free: int | None, configured: int | None, calls: int
) -> None:
    assert budget_tokens(free, configured, calls=calls) >= LEAST


async def test_what_fits_is_left_alone() -> None:
    result, context = await fitted("short", 400)
    assert result == (Output("short"), "", None)
    assert not context.stored


async def test_what_does_not_fit_is_kept_and_shown_by_its_ends() -> None:
    result, context = await fitted(LINES, 2_000)
    shown = result.output.text
    assert shown.startswith("000000 some line") and shown.endswith("words\n")
    assert estimated_tokens(shown) <= 2_000
    assert context.stored[result.handle] == LINES.encode()
    assert result.size_bytes == len(LINES)
    assert f'"handle": "{result.handle}"' in shown


async def test_the_notice_tells_the_gap_exactly() -> None:
    result, _ = await fitted(LINES.replace("log", "日誌"), 2_000)
    shown = result.output.text
    notice = re.search(
        r"\n?\[This result .*? the bytes (\d+) to (\d+) of its (\d+)\..*\]\n", shown
    )
    assert notice is not None
    start, end, size = map(int, notice.groups())
    head, tail = shown[: notice.start()], shown[notice.end() :]
    assert len(head.encode()) in (
        start,
        start - 1,
    )  # the line end before the notice is the head's own
    assert size - end == len(tail.encode())


async def test_pictures_and_the_error_mark_stay() -> None:
    output = Output(LINES, (Picture(PNG, ImagePart(id="i")),), is_error=True)
    result = await fit(output, FakeToolContext(), 1_000)
    assert result.output.pictures == output.pictures
    assert result.output.is_error


@given(
    st.text(st.sampled_from("ab \n日😀\u0301"), max_size=30).map(lambda text: text * 400),
    st.integers(LEAST, 3_000),
)
async def test_no_result_is_over_its_budget_and_both_ends_are_true(
    text: str, tokens: int
) -> None:
    result, _ = await fitted(text, tokens)
    assert estimated_tokens(result.output.text) <= tokens
    if result.handle:
        head, _, rest = result.output.text.partition("[This result")
        assert text.startswith(head.removesuffix("\n"))
        assert text.endswith(rest.partition("]\n")[2])
    else:
        assert result.output.text == text


async def test_an_own_counter_is_believed() -> None:
    result = await fit(
        Output("word " * 1_000),
        FakeToolContext(),
        400,
        count=lambda text: len(text) / 100,
    )
    assert not result.handle
    assert (
        await fit(
            Output("word " * 1_000),
            FakeToolContext(),
            400,
            count=lambda text: float(len(text)),
        )
    ).handle


async def test_paging_gives_all_of_it_and_never_too_much() -> None:
    text = LINES[:60_000].replace("log", "日誌😀")
    context = FakeToolContext()
    handle = await context.keep(text.encode())
    reader = read_result(500)
    pages, start = [], 0
    while True:
        output = await reader.run({"handle": handle, "start": start}, context)
        assert estimated_tokens(output.text) <= 500
        page, _, note = output.text.rpartition("[bytes ")
        first, last = map(int, note.split(";")[0].split(" to "))
        pages.append(page.encode()[: last - first])
        if "ends here" in note:
            break
        assert f'"start": {last}' in note
        start = last
    assert b"".join(pages).decode() == text


kept_texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)


@given(kept_texts, st.integers(0, 100))
async def test_a_page_may_begin_anywhere(text: str, start: int) -> None:
    context = FakeToolContext()
    handle = await context.keep(text.encode())
    asked = {"handle": handle, "start": start}
    ran = await run_call(read_result(), json.dumps(asked), context)
    assert ran.outcome == "finished"
    page = ran.output.text.rpartition("[bytes ")[0]
    assert page.strip() in text


async def test_a_page_of_spaces_alone_ends_with_a_whole_character() -> None:
    """As many bytes are read as a page of other text never has."""
    context = FakeToolContext()
    handle = await context.keep((" " * (16 * 1_000 - 1) + "日本").encode())
    output = await read_result(1_000).run({"handle": handle}, context)
    assert "\ufffd" not in output.text and '"start": 15999' in output.text


async def test_the_reader_asks_how_much_there_is_room_for() -> None:
    rooms = iter([400, 1_000])
    reader = read_result(lambda _: next(rooms))
    context = FakeToolContext()
    handle = await context.keep(LINES.encode())
    sizes = [len((await reader.run({"handle": handle}, context)).text) for _ in range(2)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"handle": 3}, {"handle": "x", "start": -1}, {"handle": "x", "size": 5}],
)
async def test_senseless_arguments_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        await read_result().run(arguments, FakeToolContext())


async def test_a_hundred_megabytes_are_kept_and_cut_while_the_loop_goes_on() -> None:
    text = "some line of a very long result\n" * 3_200_000
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def give() -> str:
        return text

    from ullage_agent.tools.functions import tool

    context = FakeToolContext()
    turning = asyncio.ensure_future(turn())
    ran = await run_call(tool(give), "{}", context)
    result = await fit(ran.output, context, 10_000)
    turning.cancel()
    assert result.size_bytes == len(text)
    assert estimated_tokens(result.output.text) <= 10_000
    assert (
        turns > 20
    )  # a loop that was held up for the whole of it would have turned a few times
