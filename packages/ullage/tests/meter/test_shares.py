"""The estimates of the rows, before and after they are fitted to a total: what holds for any content and any report."""

from itertools import pairwise
from typing import Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from tests.meter.session import answer, result, said, usage
from ullage.events import (
    CallEnded,
    CallStarted,
    MessageAdded,
    SessionStarted,
    SystemChanged,
    ToolsChanged,
)
from ullage.messages import SystemBlock, Tool
from ullage.meter.fold import Fold
from ullage.meter.reading import Row
from ullage.meter.rows import rows_of
from ullage.meter.shares import FOR_ALL_TOOLS, message_shares, request_shares
from ullage.meter.view import Share
from ullage.meter.window import Limits
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration

MODELS = (
    ("claude-haiku-4-5", "messages", "anthropic"),
    ("gpt-5", "responses", "openai"),
    ("gemini-3-flash-preview", "generateContent", "google"),
    ("never-measured", "chat", "vllm"),
)
STABLE = 0.05
"""By what share a row may move from the second call on while its content stays."""

KINDS: tuple[Literal["prompt", "instructions", "skills", "memory"], ...] = (
    "prompt",
    "instructions",
    "skills",
    "memory",
)

models = st.sampled_from(MODELS)
counts_of_words = st.integers(1, 400)


def text(words: int) -> str:
    return "The cooper reads the gauge of cask 7. " * (words // 8) + "level " * (
        words % 8
    )


@st.composite
def system_blocks(draw: st.DrawFn) -> tuple[SystemBlock, ...]:
    blocks: list[SystemBlock] = []
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=5)):
        name = f"{len(blocks)}.md"
        words = draw(counts_of_words)
        blocks.append(SystemBlock(text=text(words), kind=kind, name=name))
    return tuple(blocks)


def declared(name: str, words: int, server: str = "", *, deferred: bool = False) -> Tool:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return Tool(
        name=name,
        description=text(words),
        schema=msgspec.Raw(msgspec.json.encode(schema)),
        server=server,
        deferred=deferred,
    )


@st.composite
def toolsets(draw: st.DrawFn) -> tuple[Tool, ...]:
    found: list[Tool] = []
    for place in range(draw(st.integers(0, 6))):
        found.append(
            declared(
                f"tool_{place}",
                draw(st.integers(1, 60)),
                draw(st.sampled_from(("", "", "tracker", "calendar"))),
                deferred=draw(st.booleans()),
            )
        )
    return tuple(found)


def opened(
    model: tuple[str, str, str],
    system: tuple[SystemBlock, ...] = (),
    tools: tuple[Tool, ...] = (),
    words: int = 12,
) -> Fold:
    name, wire, provider = model
    fold = Fold(
        limits=Limits(),
        calibration=Calibration(),
        policy=ReasoningPolicy(),
        estimator="pretoken",
    )
    fold.apply(SessionStarted(model=name, wire=wire, provider=provider))
    fold.apply(SystemChanged(system=system))
    fold.apply(ToolsChanged(tools=tools))
    fold.apply(MessageAdded(message=said("u", text(words))))
    return fold


def step(fold: Fold, number: int, reported: int, words: int) -> None:
    """One call: its report, its answer with a tool call, and the result."""
    call = f"c{number}"
    fold.apply(CallStarted(call=call))
    fold.apply(CallEnded(call=call, usage=usage(reported, 40)))
    asked = answer(f"a{number}", "Looking.", calls=1, call=call)
    fold.apply(MessageAdded(message=asked))
    given_back = result(f"r{number}", f"a{number}-0", text(words))
    fold.apply(MessageAdded(message=given_back))


def every(rows: tuple[Row, ...]) -> list[Row]:
    return [each for row in rows for each in (row, *every(row.children))]


def rows(fold: Fold) -> tuple[Row, ...]:
    return rows_of(fold, fold.forecast())


def named(fold: Fold) -> dict[str, Share]:
    return {share.name.split(" (")[0]: share for share in request_shares(fold, 0.0)}


# -- the shares --


@given(model=models, system=system_blocks(), tools=toolsets())
def test_every_block_and_tool_is_in_one_row_whose_children_sum_to_it(
    model: tuple[str, str, str], system: tuple[SystemBlock, ...], tools: tuple[Tool, ...]
) -> None:
    fold = opened(model, system, tools)
    summed = 0.0
    names: list[str] = []
    for share in request_shares(fold, 0.0):
        assert share.tokens > 0
        assert share.doubt >= 0
        assert share.summed is not share.name.startswith("Deferred tools")
        summed += share.tokens if share.summed else 0.0
        if share.children:
            whole = sum(child.tokens for child in share.children)
            assert whole == approx(share.tokens, abs=1)
        for child in share.children:
            leaves = child.children or (child,)
            assert sum(leaf.tokens for leaf in leaves) == approx(child.tokens)
            assert all(leaf.tokens > 0 for leaf in leaves)
            names += [leaf.name for leaf in leaves]
    wanted = [block.name for block in system] + [tool.name for tool in tools]
    assert sorted(name for name in names if name != FOR_ALL_TOOLS) == sorted(wanted)
    assert summed == approx(fold.fixed.tokens, abs=10)


@given(model=models, words=st.lists(counts_of_words, min_size=2, max_size=5))
def test_a_longer_text_never_costs_less(
    model: tuple[str, str, str], words: list[int]
) -> None:
    texts = ["level " * count for count in sorted(words)]
    prompts: list[float] = []
    messages: list[float] = []
    for each in texts:
        fold = opened(model, (SystemBlock(text=each),))
        fold.apply(MessageAdded(message=said("long", each)))
        prompts.append(named(fold)["System prompt"].tokens)
        (share,) = message_shares(fold, fold.forecast())
        messages.append(share.tokens)
    for series in (prompts, messages):
        assert all(shorter <= longer for shorter, longer in pairwise(series))


@given(model=models, tools=toolsets(), words=st.integers(1, 60))
def test_one_tool_more_never_costs_less(
    model: tuple[str, str, str], tools: tuple[Tool, ...], words: int
) -> None:
    before = named(opened(model, (), tools))
    after = named(opened(model, (), (*tools, declared("another", words))))
    assert "Tools" in after
    if "Tools" in before:
        assert before["Tools"].tokens < after["Tools"].tokens


@given(model=models, words=counts_of_words, result_words=counts_of_words)
def test_what_messages_hold_is_a_row_for_each_kind_largest_first(
    model: tuple[str, str, str], words: int, result_words: int
) -> None:
    fold = opened(model, words=words)
    step(fold, 1, fold.forecast().tokens, result_words)
    shares = message_shares(fold, fold.forecast())
    expected = {"You", "Assistant", "Tool calls", "Tool results"}
    assert {share.name for share in shares} == expected
    sizes = [share.tokens for share in shares]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == approx(fold.learnt.ratio * fold.view.tokens, rel=0.2, abs=30)


# -- the rows they become --


@given(
    model=models,
    system=system_blocks(),
    tools=toolsets(),
    ratio=st.floats(0.7, 1.6),
    batch=st.integers(0, 500),
    words=st.lists(counts_of_words, min_size=3, max_size=7),
)
def test_whatever_a_model_counts_the_rows_sum_up_have_content_and_stay(
    model: tuple[str, str, str],
    system: tuple[SystemBlock, ...],
    tools: tuple[Tool, ...],
    ratio: float,
    batch: int,
    words: list[int],
) -> None:
    """A model that needs ``ratio`` of the estimate for everything, and ``batch`` tokens more for any tools."""
    fold = opened(model, system, tools, words[0])
    sent = any(not tool.deferred for tool in tools)
    beside = batch if sent else 0
    seen: list[dict[str, int]] = []
    for number, each in enumerate(words, 1):
        estimated = fold.fixed.tokens + fold.view.tokens
        step(fold, number, round(ratio * estimated) + beside, each)
        used = fold.forecast()
        found = rows(fold)
        assert sum(row.tokens for row in found if row.summed) == used.tokens
        for row in every(found):
            assert row.low is not None
            assert row.high is not None
            assert 0 <= row.low <= row.tokens <= row.high
            children = sum(child.tokens for child in row.children)
            assert children in (0, row.tokens)
            if row.summed:
                assert row.high <= max(row.tokens, used.high)
        fixed = {row.name: row.tokens for row in found if row.name != "Messages"}
        seen.append(fixed)
    first, *later = seen
    for at in later:
        assert at.keys() == first.keys()
        for name, tokens in at.items():
            assert abs(tokens - first[name]) <= max(1, STABLE * first[name])
