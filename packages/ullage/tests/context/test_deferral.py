"""Which tools are declared: what exceeds a share of the window waits until it is searched for."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ullage.context.deferral import (
    SEARCH,
    DeferralRules,
    ToolsInUse,
    ToolSizes,
    arranged,
    deferrable,
    found_text,
    line_of,
    search_declaration,
)
from ullage.context.policy import LOADED_SHARE, TOOL_LINE
from ullage.messages import Tool

EACH = 500
"""Tokens of a tool here."""


def sizes(window: int | None = 30_000, *, each: int = EACH) -> ToolSizes:
    return ToolSizes(lambda tool: each, lambda text: len(text) / 4, window)


def served(count: int, server: str = "hub") -> list[Tool]:
    return [
        Tool(name=f"{server}__t{n}", description=f"Does {n}.", server=server)
        for n in range(count)
    ]


def own(count: int) -> list[Tool]:
    return [Tool(name=f"own{n}", description=f"Does {n}.") for n in range(count)]


def names(tools: Sequence[Tool]) -> list[str]:
    return [tool.name for tool in tools]


def used(*called: str) -> ToolsInUse:
    in_use = ToolsInUse()
    for name in called:
        in_use = in_use.after_call(name)
    return in_use


# -- which are deferred --


def test_tools_within_their_share_of_the_window_stay_declared() -> None:
    assert deferrable(served(6), DeferralRules(), sizes()) == ()
    assert len(deferrable(served(7), DeferralRules(), sizes())) == 7
    assert deferrable(served(7), DeferralRules(share=0.5), sizes()) == ()


def test_servers_tools_are_deferred_before_the_programs_own() -> None:
    tools = [*own(4), *served(10)]
    assert names(deferrable(tools, DeferralRules(), sizes())) == names(served(10))
    tools = [*own(10), *served(10)]
    assert len(deferrable(tools, DeferralRules(), sizes())) == 20


def test_built_in_tools_and_named_ones_are_never_deferred() -> None:
    tools = [*own(2), *served(20)]
    rules = DeferralRules("always", always_declared=frozenset({"hub__t3"}))
    deferred = names(deferrable(tools, rules, sizes(), builtin={"own0"}))
    assert "hub__t3" not in deferred and "own0" not in deferred
    assert len(deferred) == 20


def test_a_tool_that_runs_at_the_provider_is_never_deferred() -> None:
    hosted = Tool(name="web_search", kind="web_search_20250305")
    assert deferrable([hosted], DeferralRules("always"), sizes()) == ()


def test_the_setting_decides_and_an_unknown_window_defers_nothing_by_itself() -> None:
    assert deferrable(served(60), DeferralRules("never"), sizes()) == ()
    assert len(deferrable(served(2), DeferralRules("always"), sizes())) == 2
    assert deferrable(served(60), DeferralRules(), sizes(None)) == ()
    assert len(deferrable(served(60), DeferralRules("always"), sizes(None))) == 60


def test_nothing_is_deferred_where_little_would_be_saved() -> None:
    assert deferrable(served(3), DeferralRules(), sizes(4_000, each=300)) == ()


# -- which are declared --


def test_found_and_called_tools_are_declared_behind_the_others() -> None:
    tools = [*own(1), *served(60)]
    deferred = deferrable(tools, DeferralRules(), sizes())
    in_use = ToolsInUse().after_search(["hub__t5", "hub__t9"]).after_call("hub__t2")
    listed = arranged(tools, deferred, in_use, (), sizes())
    declared = [tool.name for tool in listed if not tool.deferred]
    assert declared == ["own0", "hub__t2", "hub__t5", "hub__t9"]
    assert sorted(names(listed)) == sorted(names(tools))


def test_another_call_changes_no_declaration() -> None:
    tools = served(60)
    first = arranged(tools, tools, used("hub__t5", "hub__t2"), (), sizes())
    before = [tool.name for tool in first if not tool.deferred]
    assert arranged(tools, tools, used("hub__t2", "hub__t5"), before, sizes()) == first


def test_a_tool_that_is_found_later_is_declared_last() -> None:
    tools = served(60)
    first = arranged(tools, tools, used("hub__t5", "hub__t2"), (), sizes())
    before = [tool.name for tool in first if not tool.deferred]
    in_use = used("hub__t5", "hub__t2").after_search(["hub__t0"])
    second = arranged(tools, tools, in_use, before, sizes())
    declared = [tool.name for tool in second if not tool.deferred]
    assert declared == [*before, "hub__t0"]


@given(
    st.lists(st.integers(0, 79), max_size=60), st.integers(1_000, 60_000), st.integers(0)
)
def test_declared_tools_are_bounded(calls: list[int], window: int, seed: int) -> None:
    tools = served(80)
    in_use = used(*(f"hub__t{n}" for n in calls))
    listed = arranged(tools, tools, in_use, (), sizes(window))
    declared = [tool.name for tool in listed if not tool.deferred]
    if calls:
        assert f"hub__t{calls[-1]}" in declared
    assert len(declared) <= max(1, LOADED_SHARE * window / EACH)


def test_a_compaction_drops_what_was_found_long_ago_and_never_called() -> None:
    in_use = ToolsInUse().after_search(["a", "b"]).after_call("b").after_search(["c"])
    assert in_use.names == ("a", "b", "c")
    assert in_use.after_compaction().names == ("b", "c")


# -- what the model reads --


def test_the_search_tool_lists_as_much_as_little_space_allows() -> None:
    few = search_declaration(served(10), sizes(200_000)).description
    assert "- hub__t9: Does 9." in few
    more = search_declaration(served(60), sizes(12_000)).description
    assert "hub__t59" in more and "Does 9." not in more
    many = search_declaration(served(2_000), sizes(30_000)).description
    assert "2000 of hub" in many and "hub__t9" not in many
    assert search_declaration(served(2), sizes()).name == SEARCH


@given(st.text(), st.text(max_size=500))
def test_a_servers_words_are_one_short_line(name: str, description: str) -> None:
    line = line_of(Tool(name="hub__t", description=description))
    assert "\n" not in line and line.isprintable()
    assert len(line) <= TOOL_LINE + len("- hub__t: ")


def test_a_search_says_what_it_found_or_what_to_do() -> None:
    tools = served(60)
    assert "- hub__t1: Does 1." in found_text(tools[1:2], tools)
    assert "None of the 60 tools of hub matches" in found_text([], tools)
