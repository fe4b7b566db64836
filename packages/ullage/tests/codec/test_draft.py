import json

from hypothesis import given
from hypothesis import strategies as st

from tests.codec.streams import play, request
from ullage.codec.decode import decoder_for
from ullage.codec.draft import Draft, Flow
from ullage.messages import TextPart, clean_text

TEXT = st.text(st.characters(codec=None), max_size=20) | st.text(
    st.sampled_from("a\0é🦉\ud83d\udc26\udfff\ud800"), max_size=12
)


def drafted(message_id: str, provider: str = "") -> Draft:
    return decoder_for(request("chat", provider=provider), message_id=message_id).draft


@given(st.lists(TEXT, max_size=6))
def test_pieces_shown_are_the_whole_text_cleaned(pieces: list[str]) -> None:
    flow = Flow()
    shown = [flow.add(piece) for piece in pieces]
    shown.append(flow.end())
    whole = clean_text("".join(pieces))
    assert "".join(shown) == whole.text == flow.text
    assert flow.raw == whole.raw


@given(st.lists(TEXT, max_size=6))
def test_what_is_shown_before_the_end_is_valid_and_never_taken_back(
    pieces: list[str],
) -> None:
    flow = Flow()
    shown = ""
    for piece in pieces:
        shown += flow.add(piece)
        shown.encode()
        assert flow.text == shown


def test_a_character_cut_in_two_deltas_comes_out_whole() -> None:
    deltas = [
        '{"choices":[{"index":0,"delta":{"content":"a\\ud83e"}}]}',
        '{"choices":[{"index":0,"delta":{"content":"\\udd89b"}}]}',
    ]
    played = play("chat", [*deltas, b"[DONE]"])
    (part,) = played.parts
    assert isinstance(part, TextPart)
    cleaned = clean_text("a\ud83e\udd89b")
    assert (part.text, part.raw) == cleaned == ("a🦉b", b"a\xed\xa0\xbe\xed\xb6\x89b")
    assert played.shown() == {"m1.1": "a🦉b"}


def test_a_lone_half_is_replaced_and_the_original_kept() -> None:
    (part,) = play(
        "chat",
        ['{"choices":[{"index":0,"delta":{"content":"a\\ud83e!\\u0000"}}]}', b"[DONE]"],
    ).parts
    assert isinstance(part, TextPart)
    assert part.text == "a\ufffd!\ufffd"
    assert part.raw == b"a\xed\xa0\xbe!\0"


def test_a_usage_object_that_says_all_of_the_one_before_replaces_it() -> None:
    draft = drafted("m", "openai")
    for count in range(1, 50):
        draft.note_usage(
            {
                "prompt_tokens": 5,
                "completion_tokens": count,
                "completion_tokens_details": {"x": count},
            }
        )
    assert len(draft.usages) == 1
    draft.note_usage({"prompt_tokens": 0, "completion_tokens": 60})
    assert len(draft.usages) == 2
    assert draft.usage(complete=True).input == 5
    assert draft.usage(complete=True).output == 60


def test_what_is_no_usage_object_is_not_noted() -> None:
    draft = drafted("m")
    nothing: tuple[object, ...] = (None, {}, [], "x", 1)
    for usage in nothing:
        draft.note_usage(usage)
    assert draft.usages == []


def test_data_that_json_can_not_hold_is_spelt() -> None:
    data = drafted("m").opaque({"a": "\ud800"})
    assert data is not None
    json.loads(bytes(data.data))
