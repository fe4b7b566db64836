from ullage_programs.facts import ClientLimit, SettingsPlaces
from ullage_programs.limits import SeenSizes


def test_a_record_is_a_named_tuple_with_defaults_and_methods() -> None:
    seen = SeenSizes(last=7)
    assert (seen.largest, seen.last) == (0, 7)
    assert seen.after_request() == SeenSizes(last=7, passed=7)
    assert ClientLimit(1, "settings", "x") == (1, "settings", "x")
    assert SettingsPlaces()._replace(levels=2).levels == 2
    assert SeenSizes.__doc__ is not None and "limits" in SeenSizes.__doc__
    assert repr(seen).startswith("SeenSizes(largest=0")
