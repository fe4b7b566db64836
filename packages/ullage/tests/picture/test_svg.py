import re
from xml.etree import ElementTree

import pytest

from tests.advice.story import Story, prose
from tests.meter.session import tool
from tests.picture.sessions import HOSTILE, session
from ullage.display.text import number
from ullage.picture.model import SessionPicture, picture_of
from ullage.picture.style import COLOURS
from ullage.picture.svg import growth, svg

DRAWN = picture_of(session(), title="Tea timers")


def text_of(drawn: str) -> str:
    return " ".join(ElementTree.fromstring(drawn).itertext())


def test_the_card_has_the_number_its_share_and_the_threshold() -> None:
    text = text_of(svg(DRAWN))
    assert "Tea timers" in text
    assert f"{number(DRAWN.reading.used.tokens)} " in text
    assert "of 200,000 tokens" in text
    assert (
        f"Claude Code compacts at {number(DRAWN.reading.compaction_point or 0)}" in text
    )
    assert "Next compaction" in text
    assert "To do: " in text


def test_the_tools_of_a_server_are_one_area_and_no_number_is_cut() -> None:
    tools = tuple(tool(f"mcp__github__tool_{n}", prose(99)) for n in range(20))
    text = text_of(svg(picture_of(Story(tools=tools).user("go").chat(2).billed())))
    assert "Tools: MCP github (20), " in text
    assert "tool_7" not in text
    assert not re.search(r"\d[,.\d]*…", text)


def test_names_from_a_log_are_only_text() -> None:
    picture = picture_of(session(HOSTILE), title=HOSTILE, program=HOSTILE)
    drawn = svg(picture)
    tree = ElementTree.fromstring(drawn)
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags <= {"svg", "style", "title", "desc", "rect", "text", "tspan", "g"}
    assert "alert(1)" in text_of(drawn)
    assert not set(drawn) & set("\x00\x1b\u202e\u2066\ufffe")


def test_a_card_loads_nothing() -> None:
    drawn = svg(DRAWN).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"href|url\(|@import|http|script", drawn)


def test_each_scheme_has_its_colours_and_auto_has_both() -> None:
    light, dark, both = svg(DRAWN, scheme="light"), svg(DRAWN, scheme="dark"), svg(DRAWN)
    assert "#faf8f4" in light
    assert "#181716" not in light
    assert "#181716" in dark
    assert "#faf8f4" not in dark
    assert (
        both.index("#faf8f4")
        < both.index("prefers-color-scheme:dark")
        < both.index("#181716")
    )


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [1, 2], ids=["light", "dark"])
def test_every_text_can_be_read_on_its_ground(scheme: int) -> None:
    table = {line.split()[0]: line.split()[scheme] for line in COLOURS.splitlines()}
    pairs = [(name, "paper") for name in ("ink", "dim", "accent", "warn", "bad")]
    pairs += [("on", f"s{place}") for place in range(10)]
    for text, ground in pairs:
        low, high = sorted((luminance(table[text]), luminance(table[ground])))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def test_the_growth_marks_what_happened_and_says_it() -> None:
    drawn = f"<svg>{growth(DRAWN, 900)}</svg>"
    titles = [title.text or "" for title in ElementTree.fromstring(drawn).iter("title")]
    assert len(titles) == len(DRAWN.steps)
    assert "cache missed" in titles[3]
    assert "tokens paid again" in titles[3]
    assert any(title.endswith("compacted") for title in titles)
    assert drawn.count("▼") == 2  # with its key
    assert drawn.count("●") == 2


def test_neighbours_share_a_bar_and_keep_their_marks() -> None:
    drawn = growth(DRAWN, 60)
    assert drawn.count("<title>") == 3
    assert drawn.count("▼") == 2


@pytest.mark.parametrize(
    "picture",
    [
        picture_of([]),
        picture_of(Story().user("hi").billed()),
        picture_of(Story(model="x").chat(1).events),
    ],
    ids=["nothing", "no call", "unknown window"],
)
def test_what_is_not_known_is_said(picture: SessionPicture) -> None:
    text = text_of(svg(picture))
    assert ("window unknown" in text) == (picture.reading.window.tokens is None)
    assert ("No call has ended yet." in text) == (not picture.steps)
