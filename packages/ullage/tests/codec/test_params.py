"""What ``params`` may set, wire by wire, and that it never replaces what the encoder makes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.codec.streams import HOSTS, request, user
from ullage.codec.blocks import Options
from ullage.codec.history import encode, encode_count
from ullage.codec.params import UNKNOWN, owned_in, split
from ullage.codec.repair import repair
from ullage.codec.wires import WIRES
from ullage.messages import Request, SystemBlock, Tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=5,
)
OWNED = sorted({name for wire in WIRES.values() for name in wire.params.owned})
OPEN = sorted({name for wire in WIRES.values() for name in wire.params.open})
SPELLINGS = st.sampled_from(
    [
        str,
        str.upper,
        str.title,
        lambda name: f"_{name}",
        lambda name: name.replace("I", "_i"),
    ]
)
NAMES = st.builds(
    lambda spell, name: spell(name), SPELLINGS, st.sampled_from([*OWNED, *OPEN])
) | st.text(max_size=8)
PARAMS = st.dictionaries(NAMES, JSON, max_size=6)


def asked(wire: str, params: dict[str, object], **more: Any) -> Request:
    tool = Tool(name="look", description="Looks.")
    block = SystemBlock(text="Be brief.")
    plain = request(wire, user("hello", "u"), system=(block,), tools=(tool,), **more)
    return replace(plain, params=params)


def folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@pytest.mark.parametrize("wire", sorted(HOSTS))
@given(
    params=PARAMS, stream=st.booleans(), effort=st.sampled_from([None, "none", "high"])
)
def test_no_params_change_a_field_that_the_encoder_makes(
    wire: str, params: dict[str, object], stream: bool, effort: Any
) -> None:
    options = Options(effort=effort, max_output=9, temperature=0.5)
    for make in (encode, encode_count):
        plain, given_ = (
            make(repair(asked(wire, said, stream=stream)).request, options=options)
            for said in ({}, params)
        )
        if plain is None or given_ is None:
            continue
        assert given_.path == plain.path
        assert given_.headers == plain.headers
        assert given_.blocks == plain.blocks
        before, after = json.loads(plain.content), json.loads(given_.content)
        before, after = (
            before.get("generateContentRequest", before),
            after.get("generateContentRequest", after),
        )
        owned = {folded(name) for name in WIRES[wire].params.owned}
        assert {name: one for name, one in after.items() if folded(name) in owned} == {
            name: one for name, one in before.items() if folded(name) in owned
        }


@pytest.mark.parametrize("wire", sorted(WIRES))
@given(params=PARAMS)
def test_what_is_open_is_in_the_lists_and_nothing_is_lost_or_invented(
    wire: str, params: dict[str, object]
) -> None:
    kept, beyond = split(params, wire)
    assert kept.keys() <= WIRES[wire].params.open.keys()
    assert all(name in kept or name in beyond for name in params)
    assert split(kept, wire) == (kept, ())
    assert not owned_in(kept, wire)


def test_fields_inside_fields_are_judged_too() -> None:
    said = {
        "generationConfig": {
            "topP": 1,
            "speechConfig": {},
            "thinkingConfig": {"thinkingBudget": 1, "x": 2},
        }
    }
    assert split(said, "generateContent") == (
        {"generationConfig": {"topP": 1, "thinkingConfig": {"thinkingBudget": 1}}},
        ("generationConfig.speechConfig", "generationConfig.thinkingConfig.x"),
    )


def test_what_attaches_servers_or_keeps_the_conversation_is_not_open() -> None:
    for wire, names in {
        "messages": ["mcp_servers", "container", "metadata", "service_tier"],
        "responses": [
            "tools",
            "store",
            "prompt",
            "background",
            "metadata",
            "conversation",
        ],
        "chat": [
            "store",
            "plugins",
            "web_search_options",
            "models",
            "tools",
            "functions",
        ],
        "generateContent": ["tools", "cachedContent", "safetySettings"],
    }.items():
        assert split(dict.fromkeys(names, 1), wire) == ({}, tuple(names))


def test_a_spelling_does_not_make_another_field() -> None:
    assert owned_in(
        {"Tools": 1, "system_instruction": 1, "top_p": 1}, "generateContent"
    ) == (
        "Tools",
        "system_instruction",
    )


def test_for_a_model_that_is_not_known_any_wire_s_open_fields_pass() -> None:
    assert split({"top_p": 1, "generationConfig": {}, "tools": []}, UNKNOWN).beyond == (
        "tools",
    )
