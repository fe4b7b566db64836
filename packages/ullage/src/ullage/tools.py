"""What tools are made of, beside ``ullage.tool``: docs/tools.md.

``AgentTool`` is what ``tool`` makes of a function; ``Output`` what a call of it gives, ``Picture`` an image in that.
``Sandbox`` confines the commands of ``builtin_tools``. The rest are types that their signatures name.
"""

from ullage.installation import explained

try:
    from ullage.messages import Tool
    from ullage_agent.tools.builtin import builtin_tools
    from ullage_agent.tools.functions import ApprovalRule, Function, ToolOptions, tool
    from ullage_agent.tools.mcp import McpServer
    from ullage_agent.tools.paths import NarrowRoot
    from ullage_agent.tools.sandbox import CommandLimits, Sandbox
    from ullage_agent.tools.tool import (
        AgentTool,
        BadArguments,
        Output,
        Picture,
        Run,
        ToolContext,
        ToolError,
        ToolRetry,
    )
except ModuleNotFoundError as problem:
    raise explained(problem) from problem

__all__ = [
    "AgentTool",
    "ApprovalRule",
    "BadArguments",
    "CommandLimits",
    "Function",
    "McpServer",
    "NarrowRoot",
    "Output",
    "Picture",
    "Run",
    "Sandbox",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOptions",
    "ToolRetry",
    "builtin_tools",
    "tool",
]
