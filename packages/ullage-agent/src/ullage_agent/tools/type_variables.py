"""The type variables of agents and tools. ``typing`` has no defaults for them before Python 3.13: checkers see them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    AnyT = TypeVar("AnyT")
    OutputT = TypeVar("OutputT", default=str)
    DepsT = TypeVar("DepsT", default=Any)
    Deps_co = TypeVar("Deps_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    AnyT = TypeVar("AnyT")
    OutputT = TypeVar("OutputT")
    DepsT = TypeVar("DepsT")
    Deps_co = TypeVar("Deps_co", covariant=True)
