"""google-adk's agent with its own compaction of events at a share of the window, or with its ContextFilterPlugin.

The third argument is ``compaction`` (a token threshold, 20 events kept) or ``filter`` (5 invocations kept).
"""

from __future__ import annotations

import sys

from google.adk.apps.app import EventsCompactionConfig
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from plugin_session import TRIGGER, WINDOW, drive
from plugin_with_google_adk import GoogleAdk

if sys.argv[3] == "compaction":
    config = EventsCompactionConfig(
        token_threshold=round(TRIGGER * WINDOW), event_retention_size=20
    )
    drive(GoogleAdk(events_compaction_config=config))
else:
    drive(GoogleAdk(plugins=[ContextFilterPlugin(num_invocations_to_keep=5)]))
