from scripts.settings_tables import PAGE, authority_table, page, table
from ullage.codec.wires import WIRES
from ullage_agent.runtime.settings import KEYS


def test_the_documentation_shows_the_settings_as_they_are_made() -> None:
    assert page() == PAGE.read_text("utf-8")


def test_a_row_says_key_meaning_default_unit_and_notes() -> None:
    rows = table().splitlines()
    assert (
        "| `stream` | whether an answer is shown while it streams | yes |  |  |" in rows
    )
    assert all(row.count("|") == 6 for row in rows)


def test_every_setting_has_one_row_in_the_table_of_authority() -> None:
    rows = authority_table().splitlines()[2:]
    named = [name.strip(" `") for row in rows for name in row.split("|")[1].split(",")]
    assert sorted(named) == sorted(KEYS)
    assert all(row.count("|") == 4 for row in rows)


def test_every_wire_names_where_its_fields_are_documented() -> None:
    assert all(
        wire.params.source.startswith("https://")
        and wire.params.open
        and wire.params.owned
        for wire in WIRES.values()
    )
