"""What hooks and guardrails of your own are written with: ``Agent(…, hooks=[Masking()])``. docs/hooks.md shows some.

A ``Hook`` sees and changes what the loop sends, gets and runs. ``Request``, ``Answer``, ``Reading``, ``Output`` and
``Event`` are what its methods are given; ``Refusal`` is what they refuse with. ``with_texts`` and ``with_message`` make
the request or answer that is used in the place of another.
"""

from ullage.installation import explained

try:
    from ullage.codec.stream import Answer
    from ullage.events import Event
    from ullage.messages import Message, Request
    from ullage.meter.reading import Reading
    from ullage_agent.runtime.guardrails import Guardrail
    from ullage_agent.runtime.hooks import Hook, HookFailed, Refusal
    from ullage_agent.runtime.replacing import ChangeText, with_message, with_texts
    from ullage_agent.tools.tool import Output
except ModuleNotFoundError as problem:
    raise explained(problem) from problem

__all__ = [
    "Answer",
    "ChangeText",
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
