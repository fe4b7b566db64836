"""The base of all words that are stored: values that may meet fields of a newer version and keep them."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    OptionalRaw = msgspec.Raw | None
else:
    # msgspec reads a union of Raw and None as None alone and refuses every value
    # (https://github.com/jcrist/msgspec, 0.22: "Expected `null`, got `object`"); a default of None is all we need.
    OptionalRaw = msgspec.Raw
"""JSON of somebody else, or ``None`` where there is none."""


class Extensible(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A frozen value. Fields that this version does not know are kept in ``extra`` and written back unchanged."""

    extra: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="~")
