from tests.picture.sessions import session
from ullage.meter.meter import Meter
from ullage.picture.model import groups_of, picture_of


def test_what_fills_the_window_sums_to_the_reading() -> None:
    picture = picture_of(session())
    groups = groups_of(picture)
    assert sum(held.total() for _, held in groups) == picture.reading.used.tokens
    assert groups[0][0] == "Tool results"


def test_the_same_file_is_one_name() -> None:
    held = dict(groups_of(picture_of(session("a.py"))))["Tool calls"]
    assert [name for name in held if "a.py" in name] == ["Read a.py"]


def test_the_picture_has_the_reading_of_the_meter() -> None:
    meter = Meter()
    for event in session():
        meter.apply(event)
    assert picture_of(session()).reading == meter.reading()


def test_without_content_no_name_of_the_session_is_left() -> None:
    picture = picture_of(session("secret.py"), title="secret", no_content=True)
    assert picture.title == ""
    assert "secret" not in str(groups_of(picture))
    assert "secret" not in str(picture.advice)
