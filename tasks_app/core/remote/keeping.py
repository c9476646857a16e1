"""Answers that nobody can ask for again, in the database: the bytes of a synchronous upstream.

They lie beside the last words of upstreams that cannot be asked, and are applied like those: by
whoever asks upstreams, once he has taken the attempt. A zero byte at the front tells them apart;
no webhook that was ever believed begins with one.
"""

import json
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from tasks_app.generators.base import Output
from tasks_app.generators.errors import GeneratorError
from tasks_app.generators.remote import Link, RemoteAdapter, UpstreamAnswer
from tasks_app.lifecycle import ErrorCode
from tasks_app.models import Attempt, Webhook

MOST_BYTES: Final = 32 * 1024 * 1024
"""Of one answer: about what the largest webhook takes. A larger one would hold the database up."""
_MARK: Final = b"\0answer "


def size_of(answer: UpstreamAnswer) -> int:
    """Return how many bytes an answer brought along."""
    return sum(len(output.content) for output in answer.outputs)


def keep(attempt: Attempt, answer: UpstreamAnswer, delay: float) -> bool:
    """Keep an answer with files, to be applied after ``delay`` seconds; may be repeated.

    False: the attempt has ended or was told to stop, so nobody wants it any more.
    """
    with transaction.atomic():
        rows = Attempt.objects.filter(
            pk=attempt.pk, ended_at__isnull=True, revoked_at__isnull=True
        ).update(next_poll_at=Now() + timedelta(seconds=delay))
        if rows:
            body = _written(answer)
            Webhook.objects.bulk_create(
                [Webhook(attempt=attempt, received_at=Now(), body=body)], ignore_conflicts=True
            )
    return rows == 1


def read(adapter: RemoteAdapter, body: bytes) -> UpstreamAnswer:
    """Return what was kept: an answer, or a webhook that its adapter reads.

    Raises ``GeneratorError`` when it is unreadable.
    """
    if not body.startswith(_MARK):
        return adapter.read(body)
    head, _, rest = body[len(_MARK) :].partition(b"\n")
    try:
        told = json.loads(head)
        return UpstreamAnswer(
            True,
            outputs=tuple(_outputs(told["outputs"], rest)),
            links=tuple(Link(str(url), bool(own), seed) for url, own, seed in told["links"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        detail = "The answer that was kept cannot be read."
        raise GeneratorError(ErrorCode.RESULT_UNUSABLE, detail) from error


def _written(answer: UpstreamAnswer) -> bytes:
    told = {
        "outputs": [[one.media_type, one.seed, len(one.content)] for one in answer.outputs],
        "links": [[link.url, link.own, link.seed] for link in answer.links],
    }
    contents = [output.content for output in answer.outputs]
    return b"".join([_MARK, json.dumps(told).encode(), b"\n", *contents])


def _outputs(told: list[list[Any]], rest: bytes) -> list[Output]:
    found, begin = [], 0
    for media_type, seed, number in told:
        content = rest[begin : begin + number]
        begin += number
        found.append(Output(content, media_type, seed))
    return found
