"""The life of a task: five states, who may follow whom, and the closed list of error codes.

Plain Python: no Django, no I/O. Everything that names a state or an error code imports it
from here, so that there is one list of each.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The five states of a task; the last three are terminal and final."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"


TERMINAL: Final = frozenset({State.SUCCESS, State.FAILED, State.TIMEOUT})
LIVE: Final = frozenset({State.PENDING, State.RUNNING})

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.PENDING: frozenset({State.RUNNING, State.FAILED, State.TIMEOUT}),
    State.RUNNING: frozenset({State.SUCCESS, State.FAILED, State.TIMEOUT, State.PENDING}),
    State.SUCCESS: frozenset(),
    State.FAILED: frozenset(),
    State.TIMEOUT: frozenset(),
}


def may_follow(source: State, target: State) -> bool:
    """Return whether a task in ``source`` may become ``target``."""
    return target in TRANSITIONS[source]


class Outcome(StrEnum):
    """How one attempt ended. ``lost`` and ``error`` spend failure budget, the others do not."""

    SUCCESS = "success"
    ERROR = "error"
    LOST = "lost"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"
    REVOKED = "revoked"


class Priority(StrEnum):
    """How urgent the owner says a task is; it scales the share of the flow, never skips others."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class Wait(StrEnum):
    """Why a pending task has not started."""

    SLOTS = "slots"
    YOUR_LIMIT = "your_limit"
    NO_WORKER = "no_worker"
    PAUSED = "paused"
    UPSTREAM = "upstream"
    STORAGE = "storage"


class ErrorCode(StrEnum):
    """Why a task ended without a result. The list is closed: clients may switch on it."""

    CANCELED = "canceled"
    INVALID_PARAMS = "invalid_params"
    CONTENT_REJECTED = "content_rejected"
    UPSTREAM_REJECTED = "upstream_rejected"
    UPSTREAM_ERROR = "upstream_error"
    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    OUTCOME_UNKNOWN = "outcome_unknown"
    WORKER_LOST = "worker_lost"
    WAITED_TOO_LONG = "waited_too_long"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    RESULT_UNUSABLE = "result_unusable"
    INTERNAL = "internal"


ERROR_SENTENCES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.CANCELED: "The task was canceled.",
    ErrorCode.INVALID_PARAMS: "The generator did not accept these parameters.",
    ErrorCode.CONTENT_REJECTED: "The generator refused this content.",
    ErrorCode.UPSTREAM_REJECTED: "The model service refused the request.",
    ErrorCode.UPSTREAM_ERROR: "The model service failed.",
    ErrorCode.UPSTREAM_UNREACHABLE: "The model service could not be reached.",
    ErrorCode.OUTCOME_UNKNOWN: (
        "The request may or may not have reached the model service; "
        "it was not sent again, so that nothing is charged twice."
    ),
    ErrorCode.WORKER_LOST: "The workers that ran this task were lost too often.",
    ErrorCode.WAITED_TOO_LONG: "The task waited longer than it was allowed to.",
    ErrorCode.DEADLINE_EXCEEDED: "The generation took longer than the generator allows.",
    ErrorCode.RESULT_UNUSABLE: "The generator returned something that is not a usable result.",
    ErrorCode.INTERNAL: "Something went wrong inside the service.",
}

# Whether sending the same task once more may help; shown to callers as ``error.retryable``.
RETRYABLE_ERRORS: Final = frozenset(
    {
        ErrorCode.CANCELED,
        ErrorCode.UPSTREAM_ERROR,
        ErrorCode.UPSTREAM_UNREACHABLE,
        ErrorCode.OUTCOME_UNKNOWN,
        ErrorCode.WORKER_LOST,
        ErrorCode.WAITED_TOO_LONG,
        ErrorCode.DEADLINE_EXCEEDED,
        ErrorCode.INTERNAL,
    }
)


class EventKind(StrEnum):
    """What a line of a task's history says."""

    SUBMITTED = "submitted"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"
    REQUEUED = "requeued"
    ATTEMPT_ENDED = "attempt_ended"
    LATE_RESULT = "late_result"
    RESULT_REMOVED = "result_removed"
    STAFF_ACTION = "staff_action"


class CallbackEvent(StrEnum):
    """What callers may be told: the ``type`` of a callback."""

    RUNNING = "task.running"
    SUCCESS = "task.success"
    FAILED = "task.failed"
    TIMEOUT = "task.timeout"
    TEST = "test"


class CallbackState(StrEnum):
    """How far a callback is. Only ``pending`` ones are attempted; by hand, others again."""

    PENDING = "pending"
    DELIVERED = "delivered"
    EXHAUSTED = "exhausted"
    DISABLED = "disabled"


class Delivery(StrEnum):
    """What came of one attempt to deliver a callback. The list is closed."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    REDIRECTED = "redirected"
    GONE = "gone"
    FORBIDDEN = "forbidden"
    UNKNOWN_HOST = "unknown_host"
    NO_CONNECTION = "no_connection"
    BAD_TLS = "bad_tls"
    NO_ANSWER = "no_answer"
    TOO_SLOW = "too_slow"


DELIVERY_SENTENCES: Final[Mapping[Delivery, str]] = {
    Delivery.DELIVERED: "The receiver took it.",
    Delivery.REFUSED: "The receiver answered, but not with 2xx.",
    Delivery.REDIRECTED: "The receiver answered with a redirect; redirects are not followed.",
    Delivery.GONE: "The receiver answered 410 (Gone): nothing more is sent to this address.",
    Delivery.FORBIDDEN: "The address leads where callbacks may not go.",
    Delivery.UNKNOWN_HOST: "The name of the host could not be resolved.",
    Delivery.NO_CONNECTION: "No connection could be made.",
    Delivery.BAD_TLS: "The certificate is not valid, or TLS failed in another way.",
    Delivery.NO_ANSWER: "The connection ended without an answer that makes sense.",
    Delivery.TOO_SLOW: "There was no whole answer in time.",
}
