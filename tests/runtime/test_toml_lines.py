from ullage.runtime.toml_lines import LONGEST, line_of

TEXT = '''# model = "not this"
system = """
model = "nor this"
"""

model = "this"
tools = [
  "a",
]
[mcp."a b"]
env.X = "1"
'''


def test_a_key_is_found_where_it_begins() -> None:
    assert line_of(TEXT, ["system"]) == 2
    assert line_of(TEXT, ["model"]) == 6
    assert line_of(TEXT, ["tools"]) == 7
    assert line_of(TEXT, ["mcp", "a b"]) == 10
    assert line_of(TEXT, ["mcp", "a b", "env", "X"]) == 11


def test_what_is_not_there_has_no_line() -> None:
    assert line_of(TEXT, ["window"]) is None
    assert line_of(TEXT, ["model", "deeper"]) is None
    assert line_of("a = 1\n" + "#\n" * LONGEST, ["a"]) is None
