"""The tools of the meter's next request: those that are declared, less those that only a search can load."""

from ullage import Meter
from ullage.events import SessionStarted, ToolsChanged
from ullage.messages import Tool

NOW = Tool(name="now")
LATER = Tool(name="later", deferred=True)
SEARCH = Tool(name="search", kind="tool_search_tool_regex_20251119")


def meter_of(*tools: Tool) -> Meter:
    meter = Meter()
    meter.apply(SessionStarted(model="m", wire="messages", provider="anthropic"))
    meter.apply(ToolsChanged(tools=tools))
    return meter


def test_a_deferred_tool_is_left_out() -> None:
    assert meter_of(NOW, LATER).request().tools == (NOW,)


def test_a_deferred_tool_is_sent_where_the_provider_itself_can_load_it() -> None:
    assert meter_of(NOW, LATER, SEARCH).request().tools == (NOW, LATER, SEARCH)


def test_a_tool_is_sent_once_it_is_no_longer_deferred() -> None:
    meter = meter_of(NOW, LATER)
    assert meter.request().tools is meter.request().tools
    found = Tool(name="later")
    meter.apply(ToolsChanged(tools=(NOW, found)))
    assert meter.request().tools == (NOW, found)
