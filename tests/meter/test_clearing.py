from tests.meter.session import result
from ullage.messages import ToolResultPart
from ullage.meter.clearing import cleared


def test_a_cleared_result_holds_the_notice_and_keeps_its_call() -> None:
    before = result("r", "call-1", "a long text")
    after = cleared(before, ["r.result"], "[cleared]")
    (part,) = after.of_type(ToolResultPart)
    assert (part.text, part.cleared, part.call_id, part.name) == ("[cleared]", True, "call-1", "read")
    assert (after.revision, part.revision) == (before.revision + 1, 1)


def test_results_that_are_not_named_stay_as_they_are() -> None:
    before = result("r", "call-1", "a long text")
    assert cleared(before, ["another"], "[cleared]").parts == before.parts
