"""The whole table of hostile behaviours."""

from __future__ import annotations

from typing import Final

from tests.hostile.connections import CONNECTIONS
from tests.hostile.contents import CONTENTS
from tests.hostile.frames import FRAMES
from tests.hostile.provider import Role
from tests.hostile.rows import Behaviour
from tests.hostile.sizes import SIZES
from tests.hostile.statuses import STATUSES

BEHAVIOURS: Final[tuple[Behaviour, ...]] = (
    *CONNECTIONS,
    *STATUSES,
    *FRAMES,
    *SIZES,
    *CONTENTS,
)
BY_NAME: Final = {behaviour.name: behaviour for behaviour in BEHAVIOURS}
ROLES: Final[dict[str, Role]] = {
    behaviour.name: behaviour.role for behaviour in BEHAVIOURS
}
