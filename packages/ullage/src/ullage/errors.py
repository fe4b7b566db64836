"""Every error Ullage raises, as one tree.

    UllageError
    ├── InputError                what came from outside can't be used
    │   ├── UnreadableInput       the file or database can't be opened or is damaged as a whole
    │   ├── NotASession           no known format fits; says what each one missed
    │   ├── InvalidRequest        a request body that is none of the known wires'
    │   ├── WrongType             an argument is of a type that can't be used; also a TypeError
    │   └── GuardrailRefused      a guardrail refused a message or an answer; says which one
    ├── LedgerError               a row that can't follow the ones before it
    │   └── HistoryLost           the database lost the last events in a crash or a failover; read the session again
    ├── StoreError                the store can't do what was asked; what it holds is unchanged
    │   ├── StoreUnavailable      it can't be opened, read or written: permissions, a full disk, damage
    │   ├── SessionNotFound       there is no session of that id
    │   ├── SessionBusy           another driver holds the session; says who and until when
    │   └── LeaseLost             this driver's lease was taken over: its write was rejected
    ├── CommandRefused            a command that the session's state does not allow, such as editing a delivered message
    ├── QuotaReached              the tenant's quota of the day allows no more; says when the next day begins
    ├── WrongPlace                the session's files are at another place, whose workers drive it
    ├── CompactorBusy             a Compactor was used for two requests at a time
    ├── AnswerInvalid             the model's answers do not fit the type that was asked for; keeps the last one's text
    ├── ContextUnfixable          the next request can't be made to fit the input limit
    ├── InternalError             an unexpected exception, of Ullage or of code it was given, stopped a turn
    ├── SettingError              an unknown setting, or a value it can't take
    ├── MissingExtra              an optional package is needed for what was asked; also an ImportError
    └── ProviderError             the provider refused a call or failed at it
        ├── BadKey                the key is missing, wrong or expired
        ├── PermissionDenied      the key may not do this
        ├── NotFound              no such model, endpoint or object
        ├── RequestRejected       the request breaks a rule of the wire
        │   ├── Overflow          it does not fit into the window
        │   │   ├── BodyTooLarge  it has too many bytes, whatever its tokens
        │   │   └── TooManyImages it has too many images and files, whatever their size
        │   ├── WrongConversation it holds reasoning that is bound to another conversation
        │   └── ContentFiltered   a filter withheld the prompt or the answer
        ├── RateLimited           too many requests or tokens a minute; may be tried again
        ├── QuotaExhausted        no money or no quota left; trying again does not help
        ├── Overloaded            the provider has no capacity right now; may be tried again
        │   └── ModelLoading      the server is loading the model; it is waited for
        ├── ServerError           the provider failed, or answered with nothing that can be read; may be tried again
        │   └── DamagedAnswer     a part of the answer came damaged, so none of it counts as finished
        ├── LimitExceeded         the answer is larger, or takes longer, than is accepted; not asked for again
        └── Unreachable           no connection, or a broken one; may be tried again
            ├── NoSuchHost        no server has the name in the address
            └── NoAnswer          the request was sent whole and no answer began in time

A message says what happened, to what, and what to do next; the cause is kept with ``raise … from``.
"""

from typing import ClassVar, NamedTuple


class UllageError(Exception):
    """The root of all errors raised on purpose by this package."""


class InputError(UllageError):
    """What came from outside can't be used."""


class UnreadableInput(InputError):
    """A file or database that can't be opened, or is damaged as a whole."""


class FormatMiss(NamedTuple):
    """One format that was tried on an input, and what the input lacked for it."""

    format: str
    missed: str


READABLE = (
    "`ullage sessions` lists the logs that it finds. The calls of a program without such a log are metered by"
    " `ullage wrap` or behind `ullage proxy`."
)


class NotASession(InputError):
    """No known format fits the input.

    Args:
        what: The input, for a person.
        tried: Each format, and what the input lacked for it.
    """

    def __init__(self, what: str, tried: tuple[FormatMiss, ...]) -> None:
        self.what = what
        self.tried = tried
        lines = [f"  {miss.format}: {miss.missed}" for miss in tried]
        if tried:
            lines.insert(0, "Formats tried:")
        said = f"{what} is no session log that Ullage can read."
        super().__init__("\n".join([said, *lines, READABLE]))


class InvalidRequest(InputError):
    """A request body that none of the known wires could have been sent."""


class WrongType(InputError, TypeError):
    """An argument of a type that can't be used; the message says which types can. Nothing was stored."""


class LedgerError(UllageError):
    """An event that can't follow the ones before it, for example a sequence number used twice."""


class HistoryLost(LedgerError):
    """The ledger lacks events that were read or written before: the database lost them in a crash or a failover.

    What was folded of the session is wrong from there on and has to be read again.
    """


class StoreError(UllageError):
    """The store can't do what was asked; what it holds is as it was."""


class StoreUnavailable(StoreError):
    """The store can't be opened, read or written: permissions, a full disk, a damaged file."""


class SessionNotFound(StoreError):
    """There is no session of that id."""


class SessionBusy(StoreError):
    """Another driver holds the session.

    Args:
        message: What happened.
        held_by: Names the driver.
        until: When its lease ends, in seconds since 1970.
    """

    def __init__(self, message: str, *, held_by: str = "", until: float = 0.0) -> None:
        super().__init__(message)
        self.held_by = held_by
        self.until = until


class LeaseLost(StoreError):
    """This driver's lease was taken over by another one: its write was rejected and nothing of it is stored."""


class CommandRefused(UllageError):
    """A command that the session's state does not allow; the message says which state that is."""


class WrongPlace(UllageError):
    """The session's files are at another place: workers of that place drive it, and this process does not."""


class CompactorBusy(UllageError):
    """A ``Compactor`` was used for two requests at a time, or for two conversations. Nothing has changed."""


class AnswerInvalid(UllageError):
    """The model's answers do not fit the ``output_type``, or there is none yet.

    Args:
        message: What does not fit.
        text: The last answer's text.
    """

    def __init__(self, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class GuardrailRefused(InputError):
    """A guardrail refused a message, which is not stored then, or an answer, which nobody gets.

    Args:
        message: What happened.
        guardrail: The name of the function.
        why: What it said.
    """

    def __init__(self, message: str, *, guardrail: str = "", why: str = "") -> None:
        super().__init__(message)
        self.guardrail = guardrail
        self.why = why


class QuotaReached(UllageError):
    """The tenant's quota allows no more today; nothing was stored.

    Args:
        message: What happened.
        until: When the next day begins, in seconds since 1970.
    """

    def __init__(self, message: str, *, until: float) -> None:
        super().__init__(message)
        self.until = until


class ContextUnfixable(UllageError):
    """The next request exceeds the input limit, and no strategy of compaction could make it fit.

    Either what must be kept is too large by itself, or every chosen strategy failed; the message says which.

    Args:
        message: What happened.
        needed: Tokens of the smallest request that could be made.
        limit: The most tokens that may be sent.
        largest: What takes most of it, with its tokens.
    """

    def __init__(
        self,
        message: str,
        *,
        needed: int,
        limit: int,
        largest: tuple[tuple[str, int], ...] = (),
    ) -> None:
        super().__init__(message)
        self.needed = needed
        self.limit = limit
        self.largest = largest


class InternalError(UllageError):
    """An unexpected exception stopped a turn: of Ullage itself, or of a hook or function it was given.

    The log has its traceback; in the process that drove the session it is the cause (``__cause__``) as well.
    """


class SettingError(UllageError):
    """An unknown setting, or a value that a setting can't take."""


class MissingExtra(UllageError, ImportError):
    """An optional package is needed for what was asked; the message says how to install it. Also an ImportError."""


class ProviderError(UllageError):
    """The provider refused a call or failed at it.

    Args:
        message: What happened, for a person.
        status: The HTTP status; ``None`` for an error inside a stream.
        code: The provider's own word for the error.
        said: The provider's own sentence, without keys.
        retry_after_s: How many seconds it asks to wait.
        request_id: Its name for the call.
    """

    may_retry: ClassVar[bool] = False
    """Whether the same request can succeed later."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        said: str = "",
        retry_after_s: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.said = said
        self.retry_after_s = retry_after_s
        self.request_id = request_id


class BadKey(ProviderError):
    """The key is missing, wrong or expired."""


class PermissionDenied(ProviderError):
    """The key is good, but may not do this."""


class NotFound(ProviderError):
    """The provider does not have this model, endpoint or object."""


class RequestRejected(ProviderError):
    """The request breaks a rule of the wire; sending it again gives the same answer."""


class WrongConversation(RequestRejected):
    """The request holds reasoning that the model wrote behind another beginning of the conversation."""


class Overflow(RequestRejected):
    """The request does not fit into the model's window. Numbers are ``None`` where the provider did not name them.

    Args:
        message: What happened, for a person.
        limit: The window in tokens, or with ``input_alone`` the most tokens that may be sent.
        count: Tokens that were sent.
        max_output: Tokens of the output that was asked for beside them.
        input_alone: Whether ``limit`` is of the input alone.
        most: How many bytes or images are taken, where those are what is too much.
        status: As in ``ProviderError``.
        code: As in ``ProviderError``.
        said: As in ``ProviderError``.
        request_id: As in ``ProviderError``.
    """

    def __init__(
        self,
        message: str,
        *,
        limit: int | None = None,
        count: int | None = None,
        max_output: int | None = None,
        input_alone: bool = False,
        most: int | None = None,
        status: int | None = None,
        code: str = "",
        said: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(
            message, status=status, code=code, said=said, request_id=request_id
        )
        self.limit = limit
        self.most = most
        self.count = count
        self.max_output = max_output
        self.input_alone = input_alone


class BodyTooLarge(Overflow):
    """The request has too many bytes, whatever its tokens: what helps against an overflow helps here."""


class TooManyImages(Overflow):
    """The request has more images, or images and files, than the provider takes at once."""


class ContentFiltered(RequestRejected):
    """A filter withheld the prompt or the answer."""


class RateLimited(ProviderError):
    """Too many requests or tokens in a short time."""

    may_retry = True


class QuotaExhausted(ProviderError):
    """No money or no quota left; waiting a little does not help."""


class Overloaded(ProviderError):
    """The provider has no capacity right now."""

    may_retry = True


class ModelLoading(Overloaded):
    """A server, mostly a local one, is still loading the model."""


class ServerError(ProviderError):
    """The provider failed, or answered with something that can't be read."""

    may_retry = True


class DamagedAnswer(ServerError):
    """A frame of the answer can't be read or can't be right, so the answer may have lost content."""


class LimitExceeded(ProviderError):
    """The answer is larger, or takes longer, than is accepted; the same request would most likely do it again.

    Args:
        message: What happened.
        limit: The name of the limit in ``ullage.envelope``, or of the setting that says it.
    """

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit


class Unreachable(ProviderError):
    """The provider could not be reached, or the connection broke."""

    may_retry = True


class NoSuchHost(Unreachable):
    """No server has the name in the address: asking again gives the same answer."""

    may_retry = False


class NoAnswer(Unreachable):
    """The request was sent whole and no answer began in time. It may be charged, so it is not sent again unasked."""

    may_retry = False
