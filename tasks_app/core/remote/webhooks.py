"""What follows a webhook: it is verified, noted, and whoever asks upstreams is called.

The token in its address says which attempt it is about; the adapter verifies what else there is to
verify. Where the upstream can be asked, a webhook is only a hint to ask now, so that nothing but
the upstream itself can end a task. Where it cannot, its last word is kept until it was applied.

A webhook may come before the submission was answered, even after its submitter died: its id is
taken from the webhook then. Doubled and late ones change nothing.
"""

import logging
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest, Now

from tasks_app import bells, logs
from tasks_app.core.remote import progress, secrets, setups
from tasks_app.core.transitions import record
from tasks_app.generators.errors import Forged, GeneratorError
from tasks_app.generators.registry import UnknownAdapter
from tasks_app.generators.remote import RemoteAdapter, UpstreamAnswer
from tasks_app.lifecycle import EventKind, Outcome
from tasks_app.models import Attempt, Event, Webhook

logger = logging.getLogger(__name__)

_MOST_TOKEN: Final = 64
_MOST_ID: Final = 255


class Verdict(StrEnum):
    """What became of a webhook."""

    TAKEN = "taken"
    KNOWN = "known"
    """It changes nothing: the attempt has ended, or said so before."""
    UNREADABLE = "unreadable"
    FORGED = "forged"
    UNKNOWN = "unknown"
    """No attempt has this token."""
    LATER = "later"
    """It cannot be judged now; the upstream shall send it again."""


def receive(
    generator: str, token: str, headers: Mapping[str, str], body: bytes, now: float
) -> Verdict:
    """Take a webhook in that came at Unix time ``now``; names of ``headers`` in lower case."""
    try:
        attempt = _attempt_of(generator, token)
        if attempt is None or attempt.setup is None:
            return Verdict.UNKNOWN
        adapter = setups.adapter_of(attempt.setup)
        if not (adapter.takes_webhooks and attempt.setup.settings.get("webhooks", False)):
            return Verdict.UNKNOWN
        with logs.about(task=attempt.task_id, attempt=attempt.number, generator=generator):
            return _believed(attempt, adapter, headers, body, now)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("a webhook could not be taken in: %s", error)
        return Verdict.LATER
    except UnknownAdapter:
        return Verdict.UNKNOWN


def _attempt_of(generator: str, token: str) -> Attempt | None:
    if not 0 < len(token) <= _MOST_TOKEN or "\0" in token:
        return None
    found = Attempt.objects.select_related("task__generator", "setup")
    return found.filter(webhook_token=token, generator_name=generator).first()


def _believed(
    attempt: Attempt,
    adapter: RemoteAdapter,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
) -> Verdict:
    assert attempt.setup is not None
    try:
        secret = secrets.read(attempt.setup.settings.get("webhook_secret"))
        adapter.verify(headers, body, secret, now)
        answer = adapter.read(body)
    except secrets.NoSecret as error:
        logger.error("webhooks cannot be verified: %s", error.detail)
        return Verdict.LATER
    except Forged as error:
        logger.warning("a forged webhook: %s", error)
        return Verdict.FORGED
    except GeneratorError:
        return Verdict.UNREADABLE
    named = answer.upstream_id[:_MOST_ID]
    if named and attempt.upstream_id and named != attempt.upstream_id:
        logger.warning("a webhook about another job")
        return Verdict.FORGED
    return _noted(attempt, adapter, answer, named, body)


def _noted(
    attempt: Attempt, adapter: RemoteAdapter, answer: UpstreamAnswer, named: str, body: bytes
) -> Verdict:
    changes: dict[str, Any] = {"webhook_at": Now()}
    if named and not attempt.upstream_id:
        changes["upstream_id"] = named
    if answer.finished:
        changes["next_poll_at"] = Now()
    elif answer.progress is not None:
        changes["progress"] = Greatest(F("progress"), Value(answer.progress))
    with transaction.atomic():
        rows = Attempt.objects.filter(pk=attempt.pk, ended_at__isnull=True).update(**changes)
        if not rows:
            _note_late(attempt, answer)
            return Verdict.KNOWN
        if answer.finished and not adapter.polls:
            _keep(attempt, body)
    if answer.finished:
        bells.ring_polls(attempt.task.pool)
    elif answer.progress is not None:
        progress.tell(attempt, answer.progress)
    return Verdict.TAKEN


def _keep(attempt: Attempt, body: bytes) -> None:
    """Keep the last word; the first one is the last one."""
    Webhook.objects.bulk_create(
        [Webhook(attempt=attempt, received_at=Now(), body=body)], ignore_conflicts=True
    )


def _note_late(attempt: Attempt, answer: UpstreamAnswer) -> None:
    """Note once that a result came after the end."""
    ended_well = answer.finished and answer.error is None
    late = Event.objects.filter(
        task_id=attempt.task_id,
        kind=EventKind.LATE_RESULT.value,
        attempt_number=attempt.number,
    )
    if ended_well and attempt.outcome != Outcome.SUCCESS and not late.exists():
        record(attempt.task, EventKind.LATE_RESULT, attempt.number)
