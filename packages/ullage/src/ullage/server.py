"""``ullage serve`` inside a program of your own: docs/http.md."""

from ullage.installation import explained

try:
    from ullage_server.background import ServerAddress, http_server
except ModuleNotFoundError as problem:
    raise explained(problem) from problem

__all__ = [
    "ServerAddress",
    "http_server",
]
