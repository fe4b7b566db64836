import pytest

from bench import accuracy_first_call, compaction
from bench.clients import table as clients
from bench.clients.clients import CLIENTS
from bench.plugins.table import summary as plug_ins
from bench.results import Table, ratio, with_table
from scripts.house.pages import ROOT

TABLE = Table("Casks", ("cask", "litres"), (("oak", "225"), ("steel", "1,000")))


def test_a_table_reads_alike_in_a_terminal_and_on_a_page() -> None:
    assert TABLE.text() == "Casks\n  cask   litres\n  oak       225\n  steel   1,000"
    assert TABLE.markdown() == (
        "**Casks**\n\n| cask | litres |\n|---|---:|\n| oak | 225 |\n| steel | 1,000 |"
    )


def test_a_table_replaces_the_one_of_its_title_and_nothing_else() -> None:
    before = Table("Casks", ("cask", "litres"), (("fir", "3"),) * 4).markdown()
    other = Table("Hoops", ("hoop",), (("iron",),)).markdown()
    written = with_table(f"Casks are counted:\n\n{before}\n\n{other}\n", TABLE)
    assert written == f"Casks are counted:\n\n{TABLE.markdown()}\n\n{other}\n"
    with pytest.raises(ValueError, match="no table with the title 'Staves'"):
        with_table(written, Table("Staves", ("stave",), ()))


def test_a_client_stands_beside_its_row_of_the_page() -> None:
    columns = ("client", "calls")
    published = Table("T", columns, (("Codex 0.1", "3"), ("Claude Code 2.0", "5")))
    page = f"Text.\n\n{published.markdown()}\n\nMore | text.\n"
    made = Table("T", columns, (("Codex 0.2", "4"), ("pi 1.6", "7")))
    assert clients.beside_page(made, page).rows == (
        ("Codex 0.1 (page)", "3"),
        ("Codex 0.2", "4"),
        ("pi 1.6", "7"),
    )
    assert clients.with_page(made, page).rows == (
        ("Claude Code 2.0", "5"),
        ("Codex 0.2", "4"),
        ("pi 1.6", "7"),
    )


@pytest.mark.parametrize(
    ("value", "base", "said"),
    [(1, 1, "1.00 ×"), (5, 2, "2.5 ×"), (41, 2, "20 ×"), (5_000, 1, "5,000 ×")],
)
def test_a_ratio_has_the_digits_that_mean_something(
    value: float, base: float, said: str
) -> None:
    assert ratio(value, base) == said


def test_the_page_has_a_place_for_each_table_of_a_bench() -> None:
    page = (ROOT / "bench" / "RESULTS.md").read_text("utf-8")
    made = [plug_ins({}, {})]
    for kind in compaction.KINDS.values():
        made += compaction._tables({}, kind)
    made += [Table(title, ("", ""), ()) for title in accuracy_first_call.TITLES.values()]
    for table in made:
        assert table.markdown() in with_table(page, table)
    page = (ROOT / "docs" / "clients.md").read_text("utf-8")
    every = list(CLIENTS.values())
    logged = [client for client in every if not client.no_log]
    for table, shown in (
        (clients.accuracy_table([]), logged),
        (clients.proxy_table([]), every),
    ):
        assert table.markdown() in with_table(page, table)
        rows = clients.with_page(table, page).rows
        titles = [row[0].rpartition(" ")[0] for row in rows]
        assert titles == [client.title for client in shown]
