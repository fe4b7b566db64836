"""Tools: the protocol, built-in ones, and those of MCP servers."""
