"""The base of all words that are stored: values that may meet fields of a newer version and keep them."""

import msgspec


class Extensible(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A frozen value. Fields that this version does not know are kept in ``extra`` and written back unchanged."""

    extra: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="~")
