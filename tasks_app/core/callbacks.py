"""What owners see and do about their callbacks: deliveries, the default address, the secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Q

from tasks_app import bells, conf
from tasks_app.callbacks import outbox, sealing, targets
from tasks_app.core.announcements import body
from tasks_app.core.clock import database_now
from tasks_app.core.documents import Document, stamp
from tasks_app.core.errors import FieldError, Invalid, LimitState, NotFound, TooMany
from tasks_app.lifecycle import DELIVERY_SENTENCES, CallbackEvent, CallbackState, Delivery
from tasks_app.models import Account, Callback, CallbackAddress, CallbackAttempt

FAILED: Final = (CallbackState.EXHAUSTED, CallbackState.DISABLED)
CODES: Final = {True: "address_forbidden", False: "not_an_address"}
"""Of addresses that are refused: whether they could be read and lead where they must not."""
TESTS: Final = 5
"""Tests that an account may send within ``TEST_WINDOW``."""
TEST_WINDOW: Final = 60.0
MOST_AT_ONCE: Final = 500
"""Callbacks that one request redelivers."""

_MOST_DISABLED: Final = 100
_MOST_LOG: Final = 200


@dataclass(frozen=True, slots=True)
class Filter:
    """Which of an owner's callbacks to list, the newest first."""

    states: tuple[CallbackState, ...] = ()
    task_id: UUID | None = None
    before: UUID | None = None
    limit: int = 20


def page(owner_id: int, wanted: Filter) -> tuple[list[Document], UUID | None]:
    """Return a page of an owner's callbacks and the cursor of the next one (None: the last)."""
    rows = Callback.objects.filter(owner_id=owner_id).defer("body")
    if wanted.states:
        rows = rows.filter(state__in=[state.value for state in wanted.states])
    if wanted.task_id:
        rows = rows.filter(task_id=wanted.task_id)
    if wanted.before:
        rows = rows.filter(pk__lt=wanted.before)
    found = list(rows.order_by("-pk")[: wanted.limit + 1])
    more = found[wanted.limit - 1].pk if len(found) > wanted.limit else None
    return [summary(row) for row in found[: wanted.limit]], more


def own(callback_id: UUID, owner_id: int) -> Callback:
    """Return a callback of this owner. Raises ``NotFound``."""
    found = Callback.objects.filter(pk=callback_id, owner_id=owner_id).first()
    if found is None:
        raise NotFound("There is no such callback.")
    return found


def one(callback_id: UUID, owner_id: int) -> Document:
    """Return a callback of this owner with what is sent and what came back. Raises ``NotFound``."""
    row = own(callback_id, owner_id)
    log = CallbackAttempt.objects.filter(callback_id=row.pk).order_by("-number")[:_MOST_LOG]
    return summary(row) | {
        "payload": orjson.loads(bytes(row.body)),
        "log": [_attempt(attempt) for attempt in log],
    }


def summary(row: Callback) -> Document:
    """Return a callback as lists have it."""
    path = f"/v1/callbacks/{row.pk}"
    last = None
    if row.last_at is not None:
        last = {"at": stamp(row.last_at), **_outcome(row.last_outcome, row.last_status)}
    return {
        "callback_id": str(row.pk),
        "type": row.event,
        "task_id": str(row.task_id) if row.task_id else None,
        "url": row.url,
        "status": row.state,
        "attempts": row.attempts,
        "last_attempt": last,
        "created_at": stamp(row.created_at),
        "next_attempt_at": stamp(row.next_attempt_at),
        "ended_at": stamp(row.ended_at),
        "links": {"self": path, "redeliver": f"{path}/redeliver"},
    }


def _attempt(attempt: CallbackAttempt) -> Document:
    return {
        "number": attempt.number,
        "at": stamp(attempt.at),
        "seconds": round(attempt.seconds, 3),
        **_outcome(attempt.outcome, attempt.status),
        "answer": attempt.answer,
    }


def _outcome(outcome: str, status: int | None) -> Document:
    sentence = DELIVERY_SENTENCES[Delivery(outcome)]
    return {"outcome": outcome, "http_status": status, "message": sentence}


# --- doing ---------------------------------------------------------------------------------


def redeliver(callback_id: UUID, owner_id: int) -> bool:
    """Deliver a callback again; False if it is about to be anyway. Raises ``NotFound``."""
    own(callback_id, owner_id)
    return bool(_begin(Q(pk=callback_id)))


def redeliver_failed(owner_id: int, since: datetime) -> int:
    """Deliver again what has failed of the events since then, ``MOST_AT_ONCE`` at most."""
    states = [state.value for state in FAILED]
    return len(_begin(Q(owner_id=owner_id, state__in=states, created_at__gte=since)))


def _begin(rows: Q) -> Sequence[UUID]:
    begun = outbox.redeliver(rows, most=MOST_AT_ONCE)
    if begun:
        bells.ring(bells.CALLBACKS)
    return begun


def send_test(owner_id: int, url: str) -> UUID:
    """Send a signed test to an address, or to the default one if it is ""; returns its id.

    It is tried once, by the deliverer and by its rules. Raises ``Invalid`` or ``TooMany``.
    """
    if url:
        check(url, "/url")
    with transaction.atomic():
        _lock(owner_id)
        address = url or _default_url(owner_id)
        _count_test(owner_id)
        told = {"message": "A test of callbacks. Nothing happened to any task."}
        payload = body(CallbackEvent.TEST, told)
        made = outbox.write(owner_id, None, CallbackEvent.TEST, address, payload, anyway=True)
        bells.ring_on_commit(bells.CALLBACKS)
    return made.pk


def _default_url(owner_id: int) -> str:
    rows = CallbackAddress.objects.filter(owner_id=owner_id, is_default=True)
    found = rows.values_list("url", flat=True).first()
    if found is None:
        raise Invalid(
            [FieldError("/url", "Required: the account has no default address.", "required")]
        )
    return found


def _count_test(owner_id: int) -> None:
    now = database_now()
    begins = now - timedelta(seconds=TEST_WINDOW)
    recent = Callback.objects.filter(
        owner_id=owner_id,
        pk__gte=outbox.first_id_of(begins),
        event=CallbackEvent.TEST.value,
        created_at__gt=begins,
    )
    moments = list(recent.order_by("created_at").values_list("created_at", flat=True)[:TESTS])
    if len(moments) < TESTS:
        return
    wait = max(1.0, (moments[0] - begins).total_seconds())
    state = LimitState(
        "callback_tests",
        TESTS,
        0,
        len(moments),
        wait,
        window=TEST_WINDOW,
        resets_at=now + timedelta(seconds=wait),
    )
    raise TooMany(
        f"You may send {TESTS} tests a minute.",
        code="callback_tests",
        limit=state,
        limits=(state,),
        retry_after=wait,
    )


def _lock(owner_id: int) -> None:
    """Lock the account: what one owner does at the same moment is done one after the other."""
    Account.objects.select_for_update(of=("self",)).filter(user_id=owner_id).first()


# --- settings ------------------------------------------------------------------------------


def settings_of(owner_id: int) -> Document:
    """Return the default address, since when there is a secret, and what is disabled."""
    default = CallbackAddress.objects.filter(owner_id=owner_id, is_default=True).first()
    secret = sealing.current(owner_id)
    disabled = CallbackAddress.objects.filter(owner_id=owner_id, disabled_at__isnull=False)
    return {
        "url": default.url if default else None,
        "running": bool(default and default.with_running),
        "secret_created_at": stamp(secret.created_at) if secret else None,
        "disabled": [
            {"url": one.url, "disabled_at": stamp(one.disabled_at)}
            for one in disabled.order_by("-disabled_at")[:_MOST_DISABLED]
        ],
    }


def set_default(owner_id: int, url: str, *, running: bool) -> None:
    """Set where callbacks go whose task names no address, or that they go nowhere ("").

    An address that is set is used, also if it was disabled. Raises ``Invalid``.
    """
    if url:
        check(url, "/url")
    with transaction.atomic():
        _lock(owner_id)
        others = CallbackAddress.objects.filter(owner_id=owner_id, is_default=True)
        others.exclude(url=url).filter(disabled_at__isnull=True).delete()
        others.exclude(url=url).update(is_default=False, with_running=False)
        if url:
            CallbackAddress.objects.update_or_create(
                owner_id=owner_id,
                url=url,
                defaults={"is_default": True, "with_running": running, "disabled_at": None},
            )


def enable(owner_id: int, address_url: str) -> bool:
    """Use a disabled address again; False if it was not disabled."""
    rows = CallbackAddress.objects.filter(
        owner_id=owner_id, url=address_url, disabled_at__isnull=False
    )
    return rows.update(disabled_at=None) > 0


def disabled_count(owner_id: int) -> int:
    """Count the addresses that answered that they are gone: the notice to their owner."""
    rows = CallbackAddress.objects.filter(owner_id=owner_id, disabled_at__isnull=False)
    return len(rows.values("pk")[:_MOST_DISABLED])


def new_secret(owner_id: int) -> str:
    """Make a new secret; it is returned this once. The one before signs on for a day."""
    return sealing.replace(owner_id)


def check(url: str, pointer: str) -> None:
    """Refuse an address that callbacks cannot or may not go to. Raises ``Invalid``."""
    try:
        targets.read(url, conf.get().callback_allow)
    except targets.Unacceptable as error:
        raise Invalid([FieldError(pointer, error.sentence, CODES[error.forbidden])]) from None
