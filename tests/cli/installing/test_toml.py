import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.installing import toml
from ullage.cli.installing.splice import CannotEdit

LINES = (
    "# a comment",
    "",
    'x = "y"  # why',
    "long = '''\n[address]\nurl = \"a\"\n'''",
    "many = [\n  1,\n  2, # two\n]",
    "[other]",
    '[ "quoted name" . inner ]',
    "[[several]]",
    'url = "old"',
)


@given(
    st.lists(st.sampled_from(LINES), max_size=6),
    st.lists(st.sampled_from(LINES), max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from([["url"], ["a", "b", "url"]]),
)
def test_a_change_sets_one_value_and_taking_it_back_restores_every_byte(
    before: list[str], after: list[str], newline: str, mark: str, path: list[str]
) -> None:
    lines = [*before, "[a.b]  # here", *after]
    text = mark + "\n".join(lines).replace("\n", newline)
    if not toml.is_object(text):
        return
    try:
        change = toml.setting(text, path, "http://new")
    except CannotEdit:
        return
    changed = change.apply(text)
    assert toml.value_at(changed, path) == "http://new"
    assert (
        toml.removing(changed, path, "http://new", change.before, is_item=False) == text
    )


@pytest.mark.parametrize(
    "text",
    ['a = { url = "x" }', 'a.url = "x"', "[a]\nurl = 7", '[a]\n"url" = "x"', "[a]"],
)
def test_a_layout_that_hides_the_value_is_refused(text: str) -> None:
    assert tomllib.loads(text)
    with pytest.raises(CannotEdit, match="by hand"):
        toml.setting(text, ["a", "url"], "http://new")


@pytest.mark.parametrize("text", ["", "# only this", 'x = 1\n[t]\nurl = "no"'])
def test_a_value_of_no_table_comes_before_the_first(text: str) -> None:
    changed = toml.setting(text, ["url"], "http://new").apply(text)
    assert changed == 'url = "http://new"\n' + text
