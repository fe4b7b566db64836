"""Type variables that have a default, which ``typing`` of Python 3.13 is the first to know."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=str)
    DepsT = TypeVar("DepsT", default=Any)
    Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT")
    DepsT = TypeVar("DepsT")
    Deps_co = TypeVar("Deps_co", covariant=True)
