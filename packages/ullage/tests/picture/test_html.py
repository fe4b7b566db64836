import re

from msgspec.structs import replace

from tests.picture.sessions import HOSTILE, session
from ullage.meter.track import Step
from ullage.picture.html import html
from ullage.picture.model import picture_of
from ullage.picture.policy import MOST_ROWS


def test_the_page_has_a_row_for_each_call_with_cause_and_cost() -> None:
    page = html(picture_of(session(), title="Tea timers"))
    table = page.partition(">Calls</summary>")[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 7
    assert "cache missed; " in table
    assert "compacted" in table
    assert "$0." in table


def test_the_page_says_what_left_with_a_compaction() -> None:
    page = html(picture_of(session("a.py")))
    table = page.partition(">Compactions and what left</summary>")[2]
    assert "<td>compaction<td>Read a.py" in table


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = html(picture_of(session(HOSTILE), title=HOSTILE, program=HOSTILE))
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "<script" not in page
    assert not re.search(r"(?:href|src)=|url\(|@import", page)
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not set(page) & set("\x00\x1b\u202e\u2066\ufffe")


def test_without_content_no_name_is_on_the_page() -> None:
    page = html(picture_of(session("secret.py"), title="secret", no_content=True))
    assert "secret" not in page
    assert ">Read<" in page


def test_an_empty_session_has_a_page_without_tables() -> None:
    page = html(picture_of([]))
    assert "No call has ended yet." in page
    assert "<table" not in page


def test_of_many_calls_the_newest_are_in_the_table() -> None:
    steps = []
    for number in range(1, MOST_ROWS + 6):
        step = Step(number=number, call=f"c{number}", estimated=9, low=8, high=10)
        steps.append(step)
    page = html(replace(picture_of([]), steps=tuple(steps)))
    assert f'<th scope="row">{MOST_ROWS + 5:,}<' in page
    assert '<th scope="row">5<' not in page
    assert len(page.encode()) < 400_000
