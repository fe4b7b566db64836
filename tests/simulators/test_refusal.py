from ullage_simulators.refusal import Rule, refuse


def test_a_refusal_fills_its_gaps() -> None:
    rules = {"r": Rule("{name} at {i}", "", param="p[{i}]")}
    refused = refuse(rules, "r", name="x", i=3).refused
    assert (refused.text, refused.param, refused.status) == ("x at 3", "p[3]", 400)
