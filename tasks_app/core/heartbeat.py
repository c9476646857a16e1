"""The heartbeat of a local attempt: a thread beside the generation.

Every control interval it looks for a cancel and reports progress to Redis; three times per
lease it renews the attempt in PostgreSQL and the slots in Redis, adding slots that Redis lost.
Only PostgreSQL can take an attempt away: a beat that updates no row means it is gone.
The slots are renewed for as long as the execution goes on, revoked or not: they count what
really runs. While Redis is away, the attempt's row is asked about cancels instead. A generation
that ignores a stop for the whole grace ends with its process, which the supervisor restarts.
"""

import logging
import os
import threading
import time

from django.db import DatabaseError, InterfaceError, connection
from django.db.models.functions import Now
from redis import Redis
from redis.exceptions import RedisError

from tasks_app import conf, logs, metrics
from tasks_app.core import effects, outcomes
from tasks_app.core.claim import Claim
from tasks_app.core.stopping import Reason, Run
from tasks_app.gates import control, keys, slots
from tasks_app.models import Attempt

logger = logging.getLogger(__name__)

_PROGRESS_SECONDS = 120


class Heartbeat:
    """Keeps one attempt alive while it is in the ``with`` block."""

    def __init__(self, claim: Claim, run: Run, redis: Redis) -> None:
        self._claim, self._run, self._redis = claim, run, redis
        self._reported = -1
        self._next_beat = time.monotonic() + conf.get().heartbeat_interval
        self._thread = threading.Thread(
            target=self._loop, name=f"heartbeat-{claim.task.pk}", daemon=True
        )

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._run.ended.set()
        self._thread.join(timeout=conf.get().lease)
        # A beat that was under way may have taken the slots again after the ending gave them back.
        effects.unclaimed(self._claim.holder)

    def _loop(self) -> None:
        interval = conf.get().control_interval
        try:
            # Bounded by the run's end, which the worker sets whatever happens.
            with logs.about(**self._claim.names):
                while not self._run.ended.wait(interval):
                    self._step()
        finally:
            connection.close()

    def _step(self) -> None:
        due = time.monotonic() >= self._next_beat
        try:
            self._listen()
            self._tell_progress()
        except RedisError as error:
            logger.warning("heartbeat without Redis: %s", error)
            due = True
        if due:
            self._beat()
        self._run.watch_deadline()
        if self._run.ignored_for > conf.get().grace:
            self._end_hung_process()

    def _listen(self) -> None:
        if control.asked_to_stop(self._claim.attempt.claim_id, self._redis) is not None:
            self._run.stop(Reason.REVOKED)

    def _tell_progress(self) -> None:
        percent = int(self._run.fraction * 100)
        if percent == self._reported:
            return
        value = f"{self._claim.attempt.number}:{percent}"
        self._redis.set(keys.progress(self._claim.task.pk), value, ex=_PROGRESS_SECONDS)
        self._reported = percent

    def _beat(self) -> None:
        settings = conf.get()
        self._next_beat = time.monotonic() + settings.heartbeat_interval
        counts = True
        try:
            if not beat(self._claim.attempt, self._run.fraction):
                self._run.stop(Reason.REVOKED)
                counts = not has_ended(self._claim.attempt)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("heartbeat without the database: %s", error)
            connection.close()
            self._next_beat = time.monotonic() + settings.control_interval
        if counts:
            self._renew_slots()

    def _renew_slots(self) -> None:
        try:
            slots.extend(self._claim.holder, redis=self._redis)
        except RedisError as error:
            logger.warning("could not renew slots: %s", error)

    def _end_hung_process(self) -> None:
        """A generation that does not stop costs its process, not the pool a worker for ever."""
        logger.critical(
            "task %s: the generator did not stop within %g s of being told; ending this worker",
            self._claim.task.pk,
            conf.get().grace,
        )
        try:
            outcomes.stopped(self._claim.attempt)
        finally:
            metrics.last_words()
            os._exit(os.EX_TEMPFAIL)


def beat(attempt: Attempt, fraction: float) -> bool:
    """Renew an attempt; False means that it was revoked or has ended."""
    rows = Attempt.objects.filter(
        pk=attempt.pk, ended_at__isnull=True, revoked_at__isnull=True
    ).update(heartbeat_at=Now(), progress=fraction)
    return rows == 1


def has_ended(attempt: Attempt) -> bool:
    """Whether the attempt was declared ended, so that it no longer counts."""
    return Attempt.objects.filter(pk=attempt.pk, ended_at__isnull=False).exists()
