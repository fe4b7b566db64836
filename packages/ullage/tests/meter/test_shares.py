"""The estimates of the rows, before and after they are fitted to a total: what holds for any content and any report."""

from __future__ import annotations

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
from ullage.meter.shares import (
    HIDDEN,
    LEAST_FIXED,
    LEAST_TEXT,
    ONCE,
    estimates_of,
    least_of,
    message_rows,
    message_shares,
    priors_of,
    request_shares,
)
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
WITHOUT_CONTENT = {ONCE, HIDDEN, "Unattributed"}

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
    return rows_of(fold, fold.forecast()).rows


# -- the shares --


@given(model=models, system=system_blocks(), tools=toolsets())
def test_all_content_has_a_positive_share_and_nothing_else_has_one_of_its_own(
    model: tuple[str, str, str], system: tuple[SystemBlock, ...], tools: tuple[Tool, ...]
) -> None:
    shares = request_shares(opened(model, system, tools))
    kinds = {block.kind for block in system}
    sent = [tool for tool in tools if not tool.deferred]
    held = [tool for tool in tools if tool.deferred]
    assert kinds <= set(shares)
    assert ("tools" in shares, "deferred" in shares) == (bool(sent), bool(held))
    assert set(shares) <= kinds | {"tools", "deferred", "hidden"}
    for share in shares.values():
        assert share.tokens > 0
        assert share.doubt >= 0
        assert share.summed is (share is not shares.get("deferred"))
        assert all(child.tokens > 0 for child in share.children)


@given(model=models, system=system_blocks(), tools=toolsets())
def test_children_sum_to_their_row_and_every_block_and_tool_is_in_one(
    model: tuple[str, str, str], system: tuple[SystemBlock, ...], tools: tuple[Tool, ...]
) -> None:
    shares = request_shares(opened(model, system, tools))
    names: list[str] = []
    for share in shares.values():
        if share.children:
            whole = sum(child.tokens for child in share.children)
            assert whole == approx(share.tokens, abs=1)
        for child in share.children:
            leaves = child.children or (child,)
            assert sum(leaf.tokens for leaf in leaves) == approx(child.tokens)
            names += [leaf.name for leaf in leaves]
    wanted = [block.name for block in system] + [tool.name for tool in tools]
    assert sorted(name for name in names if name != ONCE) == sorted(wanted)


@given(model=models, tools=toolsets())
def test_what_is_summed_and_only_that_has_a_prior_and_an_estimate(
    model: tuple[str, str, str], tools: tuple[Tool, ...]
) -> None:
    fold = opened(model, (SystemBlock(text=text(30)),), tools)
    priors = priors_of(request_shares(fold))
    assert priors.keys() == estimates_of(fold).keys()
    for key, estimate in estimates_of(fold).items():
        assert priors[key].tokens == approx(estimate)


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
        prompts.append(request_shares(fold)["prompt"].tokens)
        (share,) = message_shares(fold, fold.forecast())
        messages.append(share.tokens)
    for series in (prompts, messages):
        assert all(shorter <= longer for shorter, longer in pairwise(series))


@given(model=models, tools=toolsets(), words=st.integers(1, 60))
def test_one_tool_more_never_costs_less(
    model: tuple[str, str, str], tools: tuple[Tool, ...], words: int
) -> None:
    before = request_shares(opened(model, (), tools))
    after = request_shares(opened(model, (), (*tools, declared("another", words))))
    assert "tools" in after
    if "tools" in before:
        assert before["tools"].tokens < after["tools"].tokens


def test_a_counted_row_is_not_corrected_and_an_estimated_one_down_to_a_tenth() -> None:
    counted = Share(name="Tools", tokens=500, doubt=4, source="counted")
    estimated = Share(name="Tools", tokens=500, doubt=400)
    tiny = Share(name="Tools", tokens=0.4, doubt=3)
    assert least_of(counted) == 500
    assert least_of(estimated) == LEAST_FIXED * 500
    assert least_of(tiny) == 0.4


@given(model=models, words=counts_of_words, result_words=counts_of_words)
def test_what_messages_hold_is_a_row_for_each_kind_largest_first(
    model: tuple[str, str, str], words: int, result_words: int
) -> None:
    fold = opened(model, words=words)
    step(fold, 1, fold.forecast().tokens, result_words)
    shares = message_shares(fold, fold.forecast())
    assert {share.name for share in shares} == {
        "You",
        "Assistant",
        "Tool calls",
        "Tool results",
    }
    sizes = [share.tokens for share in shares]
    assert sizes == sorted(sizes, reverse=True)
    for share, row in zip(shares, message_rows(fold, shares), strict=True):
        assert row.tokens == approx(fold.learnt.ratio * share.tokens)
        assert row.least == LEAST_TEXT * row.tokens
        assert row.doubt > 0


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
            if row.name not in WITHOUT_CONTENT:
                assert row.low >= 1
        for row in found:
            if row.summed:
                assert max(each.high or 0 for each in every((row,))) <= used.high
        fixed = {row.name: row.tokens for row in found if row.name != "Messages"}
        seen.append(fixed)
    first, *later = seen
    for at in later:
        assert at.keys() == first.keys()
        for name, tokens in at.items():
            assert abs(tokens - first[name]) <= max(1, STABLE * first[name])
