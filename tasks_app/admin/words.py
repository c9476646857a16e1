"""What states, events, waits and errors are called on the staff's pages.

Codes stay codes in the database, in the API and in the logs; here staff read words.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from tasks_app.generators.phrases import parts_of
from tasks_app.lifecycle import (
    DELIVERY_SENTENCES,
    ERROR_SENTENCES,
    CallbackState,
    Delivery,
    ErrorCode,
    EventKind,
    Outcome,
    Priority,
    State,
    Wait,
)
from tasks_app.models import Event, Task

CANCELED: Final = "canceled"
"""A failed task that somebody ended on purpose: nothing went wrong."""

STATES: Final[Mapping[str, Promise]] = {
    State.PENDING.value: _("waiting"),
    State.RUNNING.value: _("running"),
    State.SUCCESS.value: _("succeeded"),
    State.FAILED.value: _("failed"),
    State.TIMEOUT.value: _("timed out"),
    CANCELED: _("canceled"),
}
COLOURS: Final[Mapping[str, str]] = {
    State.PENDING.value: "info",
    State.RUNNING.value: "warning",
    State.SUCCESS.value: "success",
    State.FAILED.value: "danger",
    State.TIMEOUT.value: "danger",
    CANCELED: "default",
}
"""By state, never by word: a word has a language."""

CALLBACKS: Final[Mapping[str, Promise]] = {
    CallbackState.PENDING.value: _("waiting"),
    CallbackState.DELIVERED.value: _("delivered"),
    CallbackState.EXHAUSTED.value: _("given up"),
    CallbackState.DISABLED.value: _("address disabled"),
}
CALLBACK_COLOURS: Final[Mapping[str, str]] = {
    CallbackState.PENDING.value: "info",
    CallbackState.DELIVERED.value: "success",
    CallbackState.EXHAUSTED.value: "danger",
    CallbackState.DISABLED.value: "default",
}

_EVENTS: Final[Mapping[str, Promise]] = {
    EventKind.SUBMITTED: _("submitted"),
    EventKind.CLAIMED: _("claimed"),
    EventKind.SUCCEEDED: _("succeeded"),
    EventKind.FAILED: _("failed"),
    EventKind.TIMED_OUT: _("timed out"),
    EventKind.CANCELED: _("canceled"),
    EventKind.REQUEUED: _("back in line"),
    EventKind.ATTEMPT_ENDED: _("attempt ended"),
    EventKind.LATE_RESULT: _("a result came too late"),
    EventKind.RESULT_REMOVED: _("result removed"),
    EventKind.STAFF_ACTION: _("staff stepped in"),
}
_OUTCOMES: Final[Mapping[str, Promise]] = {
    Outcome.SUCCESS: _("succeeded"),
    Outcome.ERROR: _("failed"),
    Outcome.LOST: _("worker lost"),
    Outcome.REFUSED: _("refused"),
    Outcome.INTERRUPTED: _("interrupted"),
    Outcome.REVOKED: _("stopped from outside"),
}
_PRIORITIES: Final[Mapping[str, Promise]] = {
    Priority.HIGH: _("high"),
    Priority.NORMAL: _("normal"),
    Priority.LOW: _("low"),
}
_WAITS: Final[Mapping[str, Promise]] = {
    Wait.SLOTS: _("All slots are taken, or others are before it in line."),
    Wait.YOUR_LIMIT: _("Its owner has as many running as the limits allow."),
    Wait.NO_WORKER: _("No worker serves its pool."),
    Wait.PAUSED: _("Its generator is paused."),
    Wait.UPSTREAM: _("It is held back until a later time, after a failure."),
    Wait.STORAGE: _("The storage of results refuses, so no worker starts anything."),
}
_ERRORS: Final[Mapping[str, Promise]] = {
    ErrorCode.CANCELED: _("canceled"),
    ErrorCode.INVALID_PARAMS: _("parameters not accepted"),
    ErrorCode.CONTENT_REJECTED: _("content refused"),
    ErrorCode.UPSTREAM_REJECTED: _("model service refused"),
    ErrorCode.UPSTREAM_ERROR: _("model service failed"),
    ErrorCode.UPSTREAM_UNREACHABLE: _("model service out of reach"),
    ErrorCode.OUTCOME_UNKNOWN: _("outcome unknown"),
    ErrorCode.WORKER_LOST: _("worker lost"),
    ErrorCode.WAITED_TOO_LONG: _("waited too long"),
    ErrorCode.DEADLINE_EXCEEDED: _("took too long"),
    ErrorCode.RESULT_UNUSABLE: _("result unusable"),
    ErrorCode.INTERNAL: _("error inside the service"),
}
_DATA: Final[Mapping[str, Promise]] = {
    "code": _("error"),
    "reason": _("reason"),
    "detail": _("detail"),
    "worker": _("worker"),
    "by": _("by"),
    "staff": _("staff"),
    "action": _("action"),
    "artifacts": _("artifacts"),
    "task_id": _("task"),
    "request_id": _("request"),
}
_UNSHOWABLE: Final = dict.fromkeys((0, *range(0xD800, 0xE000)), "\ufffd")
"""What no page or cookie can hold: an upstream may say anything."""
_INTERNAL: Final = frozenset(("given_back",))
"""What histories keep for the accounts, and nobody reads."""
_VALUES: Final[Mapping[str, Mapping[str, Promise]]] = {
    "code": _ERRORS,
    "reason": {
        **_ERRORS,
        "worker lost": _("worker lost"),
        "worker stopped": _("worker stopped"),
        "upstream busy": _("model service busy"),
        "generator withdrawn": _("generator withdrawn"),
    },
    "by": {
        "owner": _("owner"),
        "staff": _("staff"),
        "expiry": _("its time was over"),
    },
    "action": {
        "retry": _("retried as a new task"),
        "release_slots": _("slots released"),
    },
}


def state_of(task: Task) -> str:
    """Return a key of ``STATES``: the state, but tasks ended on purpose are not called failed."""
    return CANCELED if task.error_code == ErrorCode.CANCELED else task.state


def state(task: Task) -> tuple[str, str]:
    """Return what the colour depends on, and the word."""
    found = state_of(task)
    return found, str(STATES[found])


def callback_state(found: str) -> tuple[str, str]:
    """Return what the colour depends on, and the word."""
    return found, str(CALLBACKS[found])


def delivery(outcome: str) -> str:
    """Return what came of an attempt to deliver a callback."""
    return gettext(DELIVERY_SENTENCES[Delivery(outcome)]) if outcome else ""


def event(kind: str) -> str:
    """Return what a line of history is called."""
    return str(_EVENTS.get(kind, kind))


def details(one: Event) -> list[str]:
    """Return what a line of history says besides, as ``name: value``."""
    told = {
        name: value
        for name, value in one.data.items()
        if value not in ("", None) and name not in _INTERNAL
    }
    if told.get("staff"):
        told.pop("by", None)  # their name says more
    if told.get("code") == one.kind:
        del told["code"]
    return [f"{_DATA.get(name, name)}: {_value(name, value)}" for name, value in told.items()]


def _value(name: str, value: Any) -> str:
    return str(_VALUES.get(name, {}).get(value, value)) if isinstance(value, str) else str(value)


def outcome(code: str) -> str:
    """Return how an attempt ended; nothing while it has not."""
    return str(_OUTCOMES.get(code, code)) if code else ""


def priority(code: str) -> str:
    """Return how urgent a task is."""
    return str(_PRIORITIES.get(code, code))


def wait(code: str | None) -> str:
    """Return why a pending task has not started."""
    if code is None:
        return gettext("Not known: no figures of its pool have been published lately.")
    return str(_WAITS.get(code, code))


def error(code: str) -> str:
    """Return an error in a few words."""
    return str(_ERRORS.get(code, code))


def error_sentence(code: str) -> str:
    """Return an error as its owner reads it."""
    return gettext(ERROR_SENTENCES[ErrorCode(code)])


def phrase(text: str) -> str:
    """Return what an adapter said, in the reader's language where it is a ``Phrase``."""
    told = [
        gettext(one) % values if values else gettext(one) for one, values in parts_of(text) if one
    ]
    return " ".join(told).translate(_UNSHOWABLE)


def span(seconds: float) -> str:
    """Return a length of time in its largest unit."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def between(begin: datetime | None, end: datetime | None) -> str:
    """Return the time between two moments; a dash if one is missing."""
    if begin is None or end is None:
        return "–"
    seconds = (end - begin).total_seconds()
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def moment(at: datetime | None, now: datetime) -> str:
    """Return a moment by the clock and how far it is from now; a dash for none."""
    if at is None:
        return "–"
    seconds = (at - now).total_seconds()
    distance = gettext("in %(span)s") if seconds >= 0 else gettext("%(span)s ago")
    return f"{at:%Y-%m-%d %H:%M:%S} ({distance % {'span': span(abs(seconds))}})"
