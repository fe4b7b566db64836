import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.installing import jsonc
from ullage.cli.installing.splice import CannotEdit, taken_back

LAYOUTS = {
    "empty": "",
    "blank": " \n",
    "braces": "{}",
    "braces and lines": "{\n}\n",
    "one line": '{"model": "opus", "env": {"A": "1"}}',
    "comments": '{\n    // mine\n    "model": "opus", /* for now */\n    "hooks": {\n    }\n    // the end\n}\n',
    "trailing commas": '{\n\t"permissions": {\n\t\t"allow": ["Bash", "Read",],\n\t},\n}\n',
    "crlf": '{\r\n  "model": "opus",\r\n  "hooks": {"Stop": []}\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}',
    "odd indentation": '{ "a":1,\n        "hooks" :{"PostToolUse":[ {"matcher":"x"} ]}\n  ,"b":[]}',
    "strange texts": '{"a//b": "/* no comment */", "c": "\\"}{", "d": "\u00fc\\u0000"}',
    "no newline at the end": '{"statusLine": {"type": "command", "command": "mine"}}',
}

layouts = pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)


def value(text: str) -> object:
    return jsonc.parse(text).value if text.strip() else {}


@layouts
def test_a_set_value_is_there_and_everything_else_is_as_before(text: str) -> None:
    wanted = {"type": "command", "command": "ours"}
    changed = jsonc.setting(text, ["statusLine"], wanted).apply(text)
    expected = value(text)
    assert isinstance(expected, dict)
    expected["statusLine"] = wanted
    assert value(changed) == expected


@layouts
def test_taking_back_restores_every_byte(text: str) -> None:
    for splice in (
        jsonc.setting(text, ["statusLine"], {"command": "ours"}),
        jsonc.setting(text, ["env", "NEW"], "ours"),
        jsonc.appending(text, ["hooks", "PostToolUse"], {"command": "ours"}),
    ):
        changed = splice.apply(text)
        assert taken_back(changed, splice.before, splice.after) == text


@layouts
def test_comments_stay(text: str) -> None:
    changed = jsonc.setting(text, ["other"], 1).apply(text)
    for comment in ("// mine", "/* for now */", "// the end"):
        assert (comment in changed) == (comment in text)


@layouts
def test_line_ends_stay_those_of_the_file(text: str) -> None:
    changed = jsonc.setting(text, ["other"], {"deep": [1]}).apply(text)
    assert ("\r\n" in changed) == ("\r\n" in text)
    assert not ("\r\n" in text and "\n" in changed.replace("\r\n", ""))


@layouts
def test_a_value_is_removed_by_its_meaning_where_its_text_was_changed(text: str) -> None:
    changed = jsonc.appending(text, ["hooks", "New"], {"command": "ours"}).apply(text)
    moved = changed.replace('"ours"', '  "ours"')
    path = ("hooks", "New")
    without = jsonc.removing(moved, path, {"command": "ours"}, "", is_item=True)
    assert without is not None
    left = value(without)
    assert isinstance(left, dict)
    expected = value(text)
    assert isinstance(expected, dict)
    if not expected.get("hooks"):
        expected.pop("hooks", None)
    assert left == expected


def test_a_value_that_the_user_changed_is_not_removed() -> None:
    text = '{"statusLine": {"command": "mine now"}}'
    path = ["statusLine"]
    assert jsonc.removing(text, path, {"command": "ours"}, "", is_item=False) is None


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "7", '"x"', "{", '{"a":}', '{"a" 1}', '{"a":1}}', '{"a":1,"a":2}'),
        *("nonsense", "[" * 5_000, '{"a":' * 5_000, "{/*", "{'a': 1}", '{"env": 7}'),
    ],
    ids=lambda text: text[:12],
)
def test_what_can_not_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        jsonc.setting(text, ["env", "A"], "1")


def test_the_refusal_names_the_line() -> None:
    with pytest.raises(CannotEdit, match="line 3"):
        jsonc.setting('{\n  "a": 1\n  "b": 2\n}', ["c"], 1)


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
objects = st.dictionaries(
    st.text(max_size=4),
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(st.text(max_size=3), scalars),
    max_size=4,
)
blanks = st.sampled_from(
    ["", " ", "\n", "\r\n", "\t", "\n    ", " // note\n", "/* note */"]
)


@given(content=objects, data=st.data())
def test_any_layout_is_changed_and_restored(
    content: dict[str, object], data: st.DataObject
) -> None:
    pieces = []
    for key, each in content.items():
        before, between = data.draw(blanks), data.draw(blanks)
        pieces.append(f"{before}{json.dumps(key)}{between}:{json.dumps(each)}{between}")
    trailing = data.draw(st.sampled_from(["", ","])) if pieces else ""
    text = data.draw(blanks) + "{" + ",".join(pieces) + trailing + data.draw(blanks) + "}"
    splice = jsonc.setting(text, ["our key"], {"command": "ours"})
    changed = splice.apply(text)
    assert jsonc.parse(changed).value == {**content, "our key": {"command": "ours"}}
    assert taken_back(changed, splice.before, splice.after) == text
