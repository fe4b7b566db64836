"""The option ``--store`` in messages."""

from __future__ import annotations

from ullage.cli.stores import place_option


def test_a_command_in_a_message_acts_on_the_same_place_without_its_passwords() -> None:
    url = "postgresql://me:secret@/ullage?host=/run/db&pass%77ord=secret&passfile=/f"
    shown = "postgresql://me@/ullage?host=/run/db&passfile=/f"
    assert place_option("--store", url) == f" --store '{shown}'"
    assert place_option("--store", "a/what?.db") == " --store 'a/what?.db'"
    assert place_option("--store", "") == ""
