"""What a ``Meter`` takes and gives: docs/meter.md.

``Reading`` is its number with everything beside it; ``Spend`` and ``Money`` what was paid; ``Limits`` and ``Prices``
what is known of the model. ``user_endpoints`` reads the servers of the user's own ``ullage.toml``, and
``picture_of_log`` draws the session in a log.
"""

from ullage.codec.bodies import ReadBody
from ullage.meter.fold import Fold
from ullage.meter.following import Followed
from ullage.meter.limits import Prices, Rate
from ullage.meter.meter import Meter
from ullage.meter.reading import (
    Accuracy,
    Basis,
    CompactionThreshold,
    Reading,
    Row,
    Used,
    Window,
)
from ullage.meter.rows import PartEstimate
from ullage.meter.spend import Cost, Money, Spend
from ullage.meter.track import Step
from ullage.meter.window import Denominators, Limit, Limits
from ullage.models.providers import ProviderRow
from ullage.picture.shown import DrawnSession
from ullage.reasoning import ReasoningPolicy
from ullage.tokens.calibration import Calibration
from ullage.usage import CacheVerdict, Cleared, Usage, UsageSum
from ullage.user_file import user_endpoints
from ullage.watching.log_picture import picture_of_log
from ullage_programs.facts import ClientSettings
from ullage_programs.limits import ClientLimits

__all__ = [
    "Accuracy",
    "Basis",
    "CacheVerdict",
    "Calibration",
    "Cleared",
    "ClientLimits",
    "ClientSettings",
    "CompactionThreshold",
    "Cost",
    "Denominators",
    "DrawnSession",
    "Fold",
    "Followed",
    "Limit",
    "Limits",
    "Meter",
    "Money",
    "PartEstimate",
    "Prices",
    "ProviderRow",
    "Rate",
    "ReadBody",
    "Reading",
    "ReasoningPolicy",
    "Row",
    "Spend",
    "Step",
    "Usage",
    "UsageSum",
    "Used",
    "Window",
    "picture_of_log",
    "user_endpoints",
]
