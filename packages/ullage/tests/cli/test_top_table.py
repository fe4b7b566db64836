"""The list of running sessions as a table: what its columns say, and what gives way on a narrow display."""

import pytest
from msgspec.structs import replace

from tests.cases import case
from ullage.cli.top_table import UNREAD, TopView, ago, in_order, top_lines
from ullage.display.glyphs import ASCII, UNICODE
from ullage.display.text import Line, cells, plain
from ullage.events import CallEnded, CallStarted, SessionStarted
from ullage.meter.meter import Meter
from ullage.meter.reading import CompactionThreshold, Reading, Used
from ullage.meter.spend import Money, Spent
from ullage.usage import Usage
from ullage.watching.running import Running, RunningSession

NOW = 1_700_000_000.0


def reading(tokens: int, window: int | None = 200_000) -> Reading:
    meter = Meter(window=window, estimator="pretoken")
    meter.apply(SessionStarted(model="claude-haiku-4-5", seq=1))
    meter.apply(CallStarted(call="c", seq=2))
    usage = Usage(input=tokens - 10, output=10)
    meter.apply(CallEnded(call="c", usage=usage, seq=3))
    return meter.reading()


def session(
    name: str = "a",
    *,
    tokens: int = 52_100,
    cwd: str = "/home/ann/kettle",
    program: str = "claude-code 2.1.330",
    age_s: float = 3,
    usd: float = 1.2,
    unpriced: int = 0,
    grown: int | None = None,
    subagents: int = 0,
    is_whole: bool = True,
    is_proxied: bool = False,
) -> RunningSession:
    priced = 1 if usd else 0
    money = Money(usd=usd, priced=priced, unpriced=unpriced)
    return RunningSession(
        id=name,
        format="claude-code",
        path=f"/logs/{name}.jsonl",
        active_at=NOW - age_s,
        program=program,
        cwd=cwd,
        model="claude-haiku-4-5",
        reading=reading(tokens),
        grown=grown,
        subagents=subagents,
        today=Spent(money=money, tokens=1_000, calls=1),
        is_whole=is_whole,
        is_proxied=is_proxied,
    )


def running(*sessions: RunningSession, unread: int = 0) -> Running:
    money = Money(usd=4.31, priced=1)
    today = Spent(money=money, tokens=12_400_000, calls=3)
    return Running(at=NOW, sessions=sessions, today=today, unread=unread)


def drawn(
    *sessions: RunningSession, width: int = 140, height: int = 0, first: int = 0
) -> list[str]:
    view = TopView(width=width, glyphs=UNICODE, height=height, first=first)
    return [plain(line) for line in top_lines(running(*sessions), view)]


def text_of(lines: list[Line]) -> str:
    return "\n".join(plain(line) for line in lines)


def styles_of(line: Line) -> set[str]:
    return {span.style for span in line if span.text.strip()}


def test_a_line_has_every_column() -> None:
    title, head, line, *_ = drawn(session(grown=1_204, subagents=2))
    assert title == "ullage top  1 session, 1 active"
    assert head.split() == [
        *("Program", "Project", "Model", "Window"),
        *("Next", "call", "Compacts", "in", "Change", "Today", "Active"),
    ]
    said = " ".join(line.split())
    assert said.startswith("claude-code kettle +2 claude-haiku-4-5 █")
    assert "52,100" in said
    assert said.endswith("+1,204 $1.20 3 s")


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(50_000, 54_000, "52,100 ± 2,100"), (52_000, 63_000, "52,100 (52,000 to 63,000)")],
)
def test_an_uneven_interval_is_shown_by_its_ends(low: int, high: int, shown: str) -> None:
    found = session()
    assert found.reading is not None
    used = Used(tokens=52_100, low=low, high=high)
    found = replace(found, reading=replace(found.reading, used=used))
    assert shown in drawn(found, width=120)[2]
    narrow = drawn(found, width=45)[2]
    assert narrow.startswith("kettle")
    assert narrow.endswith(" 3 s")
    assert "…" not in narrow


def test_the_sums_of_today_are_below() -> None:
    assert "Today  $4.31 at list prices · 12.4M tokens" in drawn(session())


def test_without_a_session_it_says_how_to_look_further_back() -> None:
    assert "--all" in text_of(top_lines(running(), TopView(width=100, glyphs=UNICODE)))


def test_no_line_is_wider_than_the_display() -> None:
    for width in range(20, 200, 7):
        with case(width):
            wide = session(
                "wide", cwd="/home/ann/" + "日本語" * 20, program="x" * 50 + " 1.0"
            )
            for line in drawn(wide, session(), width=width):
                assert cells(line) <= width


def test_a_narrow_display_keeps_project_next_call_and_age() -> None:
    line = drawn(session(), width=45)[2]
    name, tokens, *_ = line.split()
    assert (name, tokens) == ("kettle", "52,100")
    assert line.endswith("3 s")


def test_a_session_that_was_not_written_to_for_a_while_is_dim_and_called_idle() -> None:
    view = TopView(width=120, glyphs=UNICODE)
    lines = top_lines(running(session(), session("b", age_s=720)), view)
    assert "idle 12 min" in plain(lines[3])
    assert styles_of(lines[3]) == {"dim"}
    assert styles_of(lines[2]) != {"dim"}
    assert plain(lines[0]).endswith("2 sessions, 1 active")


def test_a_session_past_its_compaction_point_is_due() -> None:
    line = drawn(session(tokens=199_000))[2]
    assert "  due  " in line


def test_the_room_to_a_compaction_that_is_not_known_is_a_question_mark() -> None:
    import msgspec

    unknown = CompactionThreshold(tokens=160_000, source="assumed", by="")
    known = session()
    assert known.reading is not None
    doubtful = msgspec.structs.replace(known.reading, threshold=unknown)
    lines = drawn(msgspec.structs.replace(known, reading=doubtful))
    assert " ? " in lines[2]
    assert "? compaction threshold unknown" in lines
    assert "threshold unknown" not in "".join(drawn(known))


def test_a_cost_that_is_not_known_is_a_question_mark_and_never_nothing() -> None:
    lines = drawn(session(usd=0, unpriced=2), session("b", usd=0.4, unpriced=1))
    assert lines[2].split()[-3] == "?"
    assert lines[3].split()[-3] == "$0.40+"
    assert "+ at least · ? price unknown" in lines


def test_a_large_log_of_which_the_ends_were_read_is_marked() -> None:
    lines = drawn(session(is_whole=False))
    assert "~52,100" in lines[2]
    assert "$1.20+" in lines[2]
    assert "~ of a large log only the two ends were read · + at least" in lines


def test_a_session_that_the_proxy_metered_says_so() -> None:
    assert "claude-code (proxy)" in drawn(session(is_proxied=True))[2]


def test_where_there_is_no_room_the_program_is_named_without_the_proxy() -> None:
    line = drawn(session(is_proxied=True), width=100)[2]
    assert line.split()[:2] == ["claude-code", "kettle"]


def test_a_long_name_of_a_project_is_cut_where_one_sees_it() -> None:
    lines = drawn(session(cwd="/home/ann/cellar (copy of the old one)"))
    assert "cellar (copy of the" in lines[2]
    assert "…" in lines[2]


def test_a_session_with_a_problem_is_named_with_it() -> None:
    problem = RunningSession(
        id="b", format="pi", path="/logs/b.jsonl", active_at=NOW, problem="b is a pipe"
    )
    unread = RunningSession(id="c", format="pi", path="/logs/c.jsonl", active_at=NOW)
    lines = drawn(session(), problem, unread)
    assert lines[3].endswith("b is a pipe")
    assert lines[4].endswith(UNREAD)


def test_while_sessions_are_unread_the_title_says_how_many_were_read() -> None:
    view = TopView(width=100, glyphs=UNICODE)
    lines = top_lines(running(session(), session("b"), unread=1), view)
    assert plain(lines[0]).endswith("1 of 2 read")


def test_a_place_that_can_not_be_searched_is_said_in_full_unless_lines_are_few() -> None:
    problem = "The database /home/ann/proxy.db is damaged. " + "Restore it. " * 20
    damaged = Running(at=NOW, sessions=(session(),), today=Spent(), problems=(problem,))
    whole = top_lines(damaged, TopView(width=80, glyphs=UNICODE))
    assert text_of(whole).count("Restore") == 20
    cut = top_lines(damaged, TopView(width=80, glyphs=UNICODE, height=10))
    assert len(cut) == 10
    assert text_of(cut).count("database") == 1


def test_names_from_logs_steer_no_terminal() -> None:
    hostile = session(cwd="/home/\x1b[31mred\x07", program="\x1b]0;title\x07 1.0")
    assert "\x1b" not in "".join(drawn(hostile))
    assert "\x07" not in "".join(drawn(hostile))


def test_without_content_ids_stand_for_projects_and_no_file_is_named() -> None:
    view = TopView(width=140, glyphs=UNICODE, with_content=False)
    problem = RunningSession(
        id="0123456789", format="pi", path="/l/secret", active_at=NOW, problem="secret: x"
    )
    text = text_of(top_lines(running(session("abcdefghijkl"), problem), view))
    assert "kettle" not in text and "secret" not in text
    assert "efghijkl" in text and "23456789" in text


def test_an_ascii_terminal_gets_ascii() -> None:
    view = TopView(width=140, glyphs=ASCII, has_keys=True)
    text_of(top_lines(running(session()), view)).encode("ascii")


def test_on_a_screen_the_lines_fill_it_and_what_is_scrolled_past_is_left_out() -> None:
    sessions = [session(f"s{number}", cwd=f"/p/p{number:02}") for number in range(30)]
    lines = drawn(*sessions, height=12, first=4)
    assert len(lines) == 12
    assert "p04" in lines[2] and "p03" not in "".join(lines)
    last = drawn(*sessions, height=12, first=99)
    assert "p29" in "".join(last)


def test_the_fullest_or_dearest_comes_first_where_that_is_asked_for() -> None:
    full = session("full", tokens=150_000, usd=0.1)
    dear = session("dear", tokens=10_000, usd=9)
    nothing = RunningSession(id="none", format="pi", path="/x", active_at=NOW)
    every = (nothing, dear, full)
    assert [each.id for each in in_order(every, "fullness")] == ["full", "dear", "none"]
    assert [each.id for each in in_order(every, "cost")] == ["dear", "full", "none"]
    assert in_order(every, "activity") == list(every)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_199, "1 h"), (172_800, "2 d")],
)
def test_times_are_said_in_their_largest_unit(seconds: float, said: str) -> None:
    assert ago(seconds) == said
