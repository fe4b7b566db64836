from hypothesis import given
from hypothesis import strategies as st

from tests.context.sessions import words
from tests.meter.session import answer, result, said
from ullage.context.shorten import excerpt, shortened, with_newest_media, without_media
from ullage.messages import FilePart, ImagePart, Message, TextPart, ToolResultPart


def cost(message: Message) -> float:
    texts = [part.text for part in message.of_type(TextPart)] + [
        part.text for part in message.of_type(ToolResultPart)
    ]
    pictures = sum(isinstance(part, ImagePart) for part in message.parts)
    return sum(len(text) for text in texts) / 4 + 1_000 * pictures


def test_an_excerpt_has_head_and_tail_and_says_how_to_read_the_rest() -> None:
    text = "begin " + "x" * 10_000 + " end"
    cut = excerpt(text, 600, "m1.text")
    assert cut.startswith("begin") and cut.endswith("end")
    assert 'call read_result with {"handle": "m1.text", "start": 400}' in cut
    assert f"{len(text):,} characters" in cut
    assert excerpt("short", 600, "m1.text") == "short"


@given(st.integers(300, 50_000), st.integers(150, 3_000))
def test_a_shortened_message_costs_what_was_allowed(length: int, most: int) -> None:
    message = said("m", "y" * length)
    cut = shortened(message, most, cost)
    if cut is not None and cut is not message:
        assert cost(cut) <= most
        assert cut.revision == message.revision + 1
        assert cut.parts[0].revision == 1
    assert cut is not None


def test_a_message_that_is_small_enough_is_left_alone() -> None:
    message = said("m", "hello")
    assert shortened(message, 100, cost) is message


def test_results_are_cut_and_still_answer_their_calls() -> None:
    message = result("r", "a-0", "z" * 9_000)
    cut = shortened(message, 300, cost, can_read=True)
    assert cut is not None
    part = next(cut.of_type(ToolResultPart))
    assert (part.id, part.call_id, part.is_error) == ("r.result", "a-0", False)
    assert '"handle": "r.result"' in part.text


def test_without_a_tool_that_reads_stored_texts_none_is_named() -> None:
    cut = shortened(result("r", "a-0", "z" * 9_000), 300, cost)
    assert cut is not None
    assert "are left out here. …]" in next(cut.of_type(ToolResultPart)).text


def test_calls_and_reasoning_are_never_cut() -> None:
    message = answer("a", words(5), reasoning=words(2_000), calls=3)
    assert shortened(message, 1, lambda _: 1_000.0) is None


def test_of_many_images_the_newest_stay() -> None:
    message = Message(
        id="m",
        role="user",
        parts=tuple(ImagePart(id=f"i{n}", mime="image/png") for n in range(20)),
    )
    cut = shortened(message, 5_200, cost)
    assert cut is not None
    kinds = [type(part) for part in cut.parts]
    assert kinds[-1] is ImagePart and kinds[0] is TextPart
    assert [part.id for part in cut.parts] == [part.id for part in message.parts]


def test_without_media_each_image_and_file_becomes_a_notice() -> None:
    parts = (
        TextPart(id="t", text="look"),
        ImagePart(id="i", mime="image/png"),
        FilePart(id="f", name="a.pdf"),
    )
    bare = without_media(Message(id="m", role="user", parts=parts))
    texts = [part.text for part in bare.of_type(TextPart)]
    assert texts[0] == "look"
    assert "image (image/png)" in texts[1] and "file (a.pdf)" in texts[2]
    same = said("m", "no pictures")
    assert without_media(same) is same


def test_only_the_newest_images_and_files_stay() -> None:
    message = Message(
        id="m",
        role="user",
        parts=(ImagePart(id="i"), FilePart(id="f"), ImagePart(id="j")),
    )
    cut = with_newest_media(message, 2)
    assert [type(part) for part in cut.parts] == [TextPart, FilePart, ImagePart]
    assert with_newest_media(message, 3) is message
