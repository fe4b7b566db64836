"""What hooks and guardrails of your own are written with: ``Agent(…, hooks=[Masking()])``. docs/hooks.md shows some.

A ``Hook`` sees and changes what the loop sends, gets and runs. ``Request``, ``Answer``, ``Reading``, ``Output`` and
``Event`` are what its methods are given; ``Refusal`` is what they refuse with. ``with_texts`` and ``with_message`` make
the request or answer that is used in the place of another.
"""

from typing import TYPE_CHECKING

from ullage.codec.stream import Answer
from ullage.events import Event
from ullage.installation import part
from ullage.messages import Message, Request
from ullage.meter.reading import Reading

if TYPE_CHECKING:
    from ullage_agent.runtime.guardrails import Guardrail
    from ullage_agent.runtime.hooks import Hook, HookFailed, Refusal
    from ullage_agent.runtime.replacing import with_message, with_texts
    from ullage_agent.tools.tool import Output
else:
    _hooks = part("ullage_agent.runtime.hooks")
    Hook, HookFailed, Refusal = _hooks.Hook, _hooks.HookFailed, _hooks.Refusal
    Output = _hooks.Output
    Guardrail = part("ullage_agent.runtime.guardrails").Guardrail
    _replacing = part("ullage_agent.runtime.replacing")
    with_message, with_texts = _replacing.with_message, _replacing.with_texts

__all__ = [
    "Answer",
    "Event",
    "Guardrail",
    "Hook",
    "HookFailed",
    "Message",
    "Output",
    "Reading",
    "Refusal",
    "Request",
    "with_message",
    "with_texts",
]
