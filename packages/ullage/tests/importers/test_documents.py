import json
from pathlib import Path

import pytest

from tests.importers.folding import FIXTURES, Folded
from ullage.events import CallEnded
from ullage.importers import find_sessions, read
from ullage.importers.calls import read_calls
from ullage.importers.growing import GrowingLog
from ullage.importers.places import glance

FILES = {
    ".cline/data/sessions/s/179_a.messages.json": "cline/session.messages.json",
    ".vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks/176/api_conversation_history.json": "cline/"
    "api_conversation_history.json",
    ".continue/sessions/4cdcc6b9-ea17.json": "continue_cli/session.json",
    ".config/mini-swe-agent/last_mini_run.traj.json": "mini_swe_agent/run.traj.json",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for place, fixture in FILES.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_bytes((FIXTURES / fixture).read_bytes())
    return tmp_path


def _bills(path: Path) -> list[tuple[int | None, int | None]]:
    ended = [event for event in read(path).events if isinstance(event, CallEnded)]
    usages = [event.usage for event in ended if event.usage is not None]
    return [(usage.input, usage.output) for usage in usages]


@pytest.mark.parametrize(
    ("fixture", "bills"),
    [
        ("cline/session.messages.json", [(4734, 42), (4824, 19)]),
        ("cline/api_conversation_history.json", [(8982, 40), (9050, 12)]),
        ("continue_cli/claude.json", [(2791, 83), (2939, 11), (2970, 9)]),
        ("continue_cli/session.json", [(2272, 51), (2407, 19)]),
        ("mini_swe_agent/run.traj.json", [(1042, 26), (1134, 19), (1249, 19)]),
    ],
)
def test_usage_is_what_the_simulators_charged(
    fixture: str, bills: list[tuple[int, int]]
) -> None:
    path = FIXTURES / fixture
    assert _bills(path) == bills
    assert Folded(read(path).events).inputs() == [given for given, _ in bills]


def test_each_lies_where_sessions_are_looked_for(home: Path) -> None:
    found = find_sessions({}, home).places
    names = sorted((place.format, place.id) for place in found)
    assert names == [
        ("cline", "176"),
        ("cline", "179_a"),
        ("continue-cli", "4cdcc6b9-ea17"),
        ("mini-swe-agent", "last_mini_run"),
    ]
    for place in found:
        assert glance(place).title
        assert all(call.at > 1e9 for call in read_calls(place).calls)


def test_a_document_that_is_written_anew_is_followed(tmp_path: Path) -> None:
    whole = json.loads((FIXTURES / "cline/session.messages.json").read_text())
    path = tmp_path / "s.messages.json"
    path.write_text(json.dumps({**whole, "messages": whole["messages"][:2]}))
    log = GrowingLog(path)
    assert log.look() is not None
    path.write_text(json.dumps(whole))
    growth = log.look()
    assert growth is not None
    assert (growth.certain, growth.is_whole) == (read(path).events, True)
    assert not growth.restarted


def test_results_that_are_text_are_not_missed_in_vs_code() -> None:
    path = FIXTURES / "cline/api_conversation_history.json"
    assert read(path).missing_results == 0


def test_what_cline_itself_estimated_is_no_bill(tmp_path: Path) -> None:
    text = (FIXTURES / "cline/api_conversation_history.json").read_text()
    path = tmp_path / "api_conversation_history.json"
    path.write_text(text.replace('"anthropic"', '"vscode-lm"'))
    assert _bills(path) == []


def test_a_provider_whose_input_holds_the_cache_is_not_counted_twice(
    tmp_path: Path,
) -> None:
    text = (FIXTURES / "cline/api_conversation_history.json").read_text()
    path = tmp_path / "api_conversation_history.json"
    path.write_text(
        text.replace('"anthropic"', '"openai"').replace('"prompt": 10', '"prompt": 9100')
    )
    assert _bills(path) == [(9100, 40), (9100, 12)]


def test_an_answer_that_mini_swe_agent_did_not_keep_is_spent_and_not_sent() -> None:
    session = read(FIXTURES / "mini_swe_agent/run.traj.json")
    folded = Folded(session.events)
    assert len(folded.inputs()) == 3
    roles = [name.partition("-")[0] for name in folded.view]
    assert roles == ["user", "assistant", "tool", "user", "user"]


@pytest.mark.parametrize("fixture", sorted(FILES.values()))
@pytest.mark.parametrize("kind", [None, 3, "text", [1], {"a": 1}])
def test_fields_of_other_types_are_passed_over(
    fixture: str, kind: object, tmp_path: Path
) -> None:
    whole = json.loads((FIXTURES / fixture).read_text())
    path = tmp_path / Path(fixture).name
    entries = (
        whole if isinstance(whole, list) else whole.get("messages") or whole["history"]
    )
    for name in list(entries[1]):
        kept = entries[1][name]
        entries[1][name] = kind
        path.write_text(json.dumps(whole))
        read(path)
        entries[1][name] = kept
