import msgspec

from tests.context.sessions import fold_of, reported, turns, words
from tests.meter.session import answer, result, said
from ullage.context.budget import aim_of
from ullage.context.clear import ClearToolResults, cache_cost, clearable
from ullage.context.costs import after
from ullage.context.shorten import READER
from ullage.context.situation import Situation
from ullage.context.strategy import Candidate, Declined
from ullage.events import Pruned, ToolsChanged
from ullage.messages import Message, TextPart, Tool, ToolCallPart, ToolResultPart


def heavy(count: int, *, size: int = 400) -> list[Message]:
    """Many calls that read different things, little else."""
    made = [said("u", "read all")]
    for n in range(count):
        call = ToolCallPart(
            id=f"a{n}.1",
            call_id=f"a{n}",
            name="read_file",
            arguments=f'{{"path": "f{n}.py"}}',
        )
        content = (TextPart(id=f"r{n}.1.1", text=words(size, n)),)
        made += [
            Message(id=f"a{n}", role="assistant", parts=(call,)),
            Message(
                id=f"r{n}",
                role="tool",
                parts=(ToolResultPart(id=f"r{n}.1", call_id=f"a{n}", content=content),),
            ),
        ]
    return [*made, said("b", "that is all", role="assistant"), said("v", "thanks")]


def cleared(situation: Situation) -> list[str]:
    return [each.message for each in clearable(situation, aim_of(situation))]


def test_old_results_are_cleared_and_the_newest_quarter_stays() -> None:
    situation = Situation(fold=fold_of(*heavy(30)))
    gone = cleared(situation)
    kept = [f"r{n}" for n in range(30) if f"r{n}" not in gone]
    assert gone == [f"r{n}" for n in range(len(gone))]
    assert 3_200 <= situation.sizes.of(kept) < 3_200 + 2 * situation.sizes.each["r29"]


def test_an_earlier_read_of_the_same_file_is_out_of_date_however_new() -> None:
    messages = heavy(6)
    again = Message(
        id="a9",
        role="assistant",
        parts=(
            ToolCallPart(
                id="a9.1", call_id="a9", name="read_file", arguments='{"path": "f4.py"}'
            ),
        ),
    )
    result_again = Message(
        id="r9", role="tool", parts=(ToolResultPart(id="r9.1", call_id="a9"),)
    )
    situation = Situation(
        fold=fold_of(*messages[:-2], again, result_again, *messages[-2:], window=200_000)
    )
    assert cleared(situation) == ["r4"]


def test_pinned_results_and_those_nobody_has_seen_are_left_alone() -> None:
    situation = Situation(fold=fold_of(*heavy(30)), pins=frozenset({"r3"}))
    assert "r3" not in cleared(situation)
    unseen = Situation(
        fold=fold_of(
            said("u", "go"), answer("a", calls=1), result("r", "a-0", words(20_000))
        )
    )
    assert cleared(unseen) == []


def test_a_model_that_can_read_stored_results_is_told_how() -> None:
    tools = (Tool(name=READER, schema=msgspec.Raw(b"{}")),)
    fold = after(fold_of(*heavy(34)), (ToolsChanged(tools=tools),))
    proposal = ClearToolResults().propose(Situation(fold=fold), ())
    assert isinstance(proposal, Candidate) and isinstance(proposal.event, Pruned)
    notice = next(
        part.text
        for entry in after(fold, (proposal.event,)).view
        for part in entry.message.of_type(ToolResultPart)
        if part.id == "r0.1"
    )
    assert notice == "[Old result cleared: read_result r0.1]"


def test_it_proposes_one_change_with_its_numbers() -> None:
    fold = fold_of(*heavy(34))
    situation = Situation(fold=fold)
    proposal = ClearToolResults().propose(situation, ())
    assert isinstance(proposal, Candidate) and isinstance(proposal.event, Pruned)
    event = proposal.event
    assert (
        event.prune == "compaction"
        and event.notice == "[Old tool result content cleared]"
    )
    assert (
        event.before is not None
        and event.after is not None
        and event.saved == event.before - event.after
    )
    fold.apply(event)
    assert fold.forecast().tokens == event.after


def test_a_result_that_was_cleared_is_not_cleared_again() -> None:
    fold = fold_of(*heavy(34))
    first = ClearToolResults().propose(Situation(fold=fold), ())
    assert isinstance(first, Candidate)
    fold.apply(first.event)
    assert cleared(Situation(fold=fold)) == []


def test_it_declines_where_clearing_is_not_enough() -> None:
    proposal = ClearToolResults().propose(
        Situation(fold=fold_of(*turns(60, size=200))), ()
    )
    assert isinstance(proposal, Declined) and proposal.reason == "above_point"


def test_it_declines_where_the_cache_costs_more_than_is_saved() -> None:
    fold = fold_of(
        *heavy(3),
        *[said(f"x{n}", words(80, n), role="assistant") for n in range(60)],
        said("w", "so?"),
    )
    for n in range(3):
        reported(fold, f"call{n}")
    situation = Situation(fold=fold)
    aim = aim_of(situation)
    price = cache_cost(
        situation, aim, saved=400, rewritten=6_000, after=int(aim.bar or 500) - 500
    )
    assert price.cost > price.saving
    many = cache_cost(situation, aim, saved=6_000, rewritten=400, after=4_000)
    assert many.saving > many.cost


def test_it_leaves_a_wish_for_a_summary_to_the_summary() -> None:
    proposal = ClearToolResults().propose(
        Situation(fold=fold_of(*heavy(20, size=60)), trigger="asked"), ()
    )
    assert isinstance(proposal, Declined)
