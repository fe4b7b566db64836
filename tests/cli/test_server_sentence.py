from ullage.cli.server_sentence import server_sentence
from ullage.events import ToolServerNoticed


def test_a_server_that_can_not_be_used_is_told_with_its_reason_and_what_happens_next() -> None:
    assert server_sentence(ToolServerNoticed(server="files", problem="no such file: /bin/x.")) == (
        "MCP server files can't be used, so its tools are missing: no such file: /bin/x. It is tried again."
    )
    assert server_sentence(ToolServerNoticed(server="files")) == "MCP server files: it can be used now"


def test_other_tools_than_before_are_named_and_many_are_counted() -> None:
    event = ToolServerNoticed(server="s", added=("a",), removed=("b", "c"), changed=tuple("defghijk"))
    assert server_sentence(event) == (
        "MCP server s: its tools changed (new a; gone b, c; changed d, e, f, g, h, and 3 more)"
    )
    assert server_sentence(ToolServerNoticed(server="s", notes=("x is left out: y",))) == (
        "MCP server s: x is left out: y"
    )
