"""The deliverer: one thread with an event loop that attempts many callbacks at the same time.

It lives as long as its worker. A bell makes it look for due rows; it begins as many attempts as
lanes, owners and itself have room for, and looks again whenever one ends and more was waiting.
So a slow receiver takes up its own lane and nothing else. The database is asked from one thread
beside the loop, never while a transaction waits for the network.
"""

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
)

from tasks_app import conf, metrics
from tasks_app.callbacks import outbox, sending, signing
from tasks_app.callbacks.outbox import Job, Room
from tasks_app.callbacks.resolving import Resolve, Resolver
from tasks_app.callbacks.sending import Answer
from tasks_app.lifecycle import Delivery

logger = logging.getLogger(__name__)

T = TypeVar("T")

CAPACITY: Final = 512
"""Attempts at the same time."""

_PAUSE: Final = 0.2
_GIVE_UP: Final = sending.SECONDS + 3.0
"""Seconds that attempts in progress have to end and to be settled, when told to stop."""


class Deliverer:
    """Delivers callbacks in the background of one process."""

    def __init__(
        self, *, resolve: Resolve | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        self._resolve = resolve
        self._context = context or sending.trust()
        self._room = Room(CAPACITY)
        self._database = ThreadPoolExecutor(1, thread_name_prefix="callbacks-database")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._ready = threading.Event()
        self._idle = threading.Event()
        self._ending = False
        self._going: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="callbacks", daemon=True)

    @property
    def patience(self) -> float:
        """Seconds that ``stop`` takes at the most, and a little more."""
        return _GIVE_UP + 2.0

    def start(self) -> None:
        """Begin; returns when bells are heard."""
        self._thread.start()
        self._ready.wait(10)

    def look(self) -> None:
        """Look for due callbacks now. May be called from any thread, and returns at once."""
        self._idle.clear()
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._wake.set)
            except RuntimeError:
                pass  # it has ended

    def wait_idle(self, seconds: float) -> bool:
        """Wait until nothing is due or in progress; False when the time is over."""
        return self._idle.wait(seconds)

    def stop(self) -> None:
        """Begin nothing more, let attempts in progress end and be settled, and return."""
        self._ending = True
        self.look()
        self._thread.join(_GIVE_UP)
        self._database.submit(lambda: connection.close())  # its thread's connection, not ours
        self._database.shutdown(wait=not self._thread.is_alive())

    # --- within the loop ---------------------------------------------------------------

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._resolve = self._resolve or Resolver()
        self._ready.set()
        while not self._ending:
            await self._wake.wait()
            self._wake.clear()
            await self._begin_due()
        if self._going:
            await asyncio.wait(self._going, timeout=_GIVE_UP - 1)

    async def _begin_due(self) -> None:
        """Take what is due and begin its attempts."""
        if self._ending or self._room.free <= 0:
            return
        try:
            jobs = await self._ask(lambda: outbox.take(self._room.copy()))
        except (DatabaseError, InterfaceError) as error:
            # What was taken all the same is due again when its lease is over.
            logger.warning("no callbacks without the database: %s", error)
            return
        except Exception:
            logger.exception("due callbacks cannot be taken")
            return
        for job in jobs:
            self._room.enter(job.lane, job.owner_id)
            task = asyncio.create_task(self._deliver(job))
            self._going.add(task)
            task.add_done_callback(self._done)
        if not self._going and not self._wake.is_set():
            self._idle.set()

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._going.discard(task)
        self._wake.set()  # its place is free

    async def _deliver(self, job: Job) -> None:
        """Make one attempt and settle it. Whatever goes wrong here goes wrong for this one only."""
        try:
            answer = await self._attempt(job)
            if answer is not None:
                await self._ask(lambda: _settle(job, answer))
                _tell(job, answer)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("callback %s is not settled, and due again soon: %s", job.id, error)
        except Exception:
            logger.exception("callback %s cannot be attempted", job.id)
        finally:
            self._room.leave(job.lane, job.owner_id)

    async def _attempt(self, job: Job) -> Answer | None:
        if job.late:
            return None
        resolve = self._resolve
        assert resolve is not None
        if isinstance(resolve, Resolver):
            resolve = resolve.on_behalf_of(job.owner_id)
        moment = int(time.time())
        headers = signing.headers(job.secrets, str(job.id), moment, job.body)
        return await sending.send(
            job.url,
            headers,
            job.body,
            resolve=resolve,
            allowed=conf.get().callback_allow,
            context=self._context,
        )

    async def _ask(self, question: Callable[[], T]) -> T:
        """Ask the database from its thread."""

        def ask() -> T:
            close_old_connections()
            return question()

        assert self._loop is not None
        return await self._loop.run_in_executor(self._database, ask)


def _settle(job: Job, answer: Answer) -> bool:
    """Settle, trying again while the database is away and the lease lasts."""
    while True:
        try:
            return outbox.settle(job, answer)
        except (OperationalError, InterfaceError):
            if time.monotonic() - job.taken > outbox.LEASE - 1:
                raise
            connection.close()
            time.sleep(_PAUSE)


def _tell(job: Job, answer: Answer) -> None:
    """Count an attempt, and say in the log how it went: no address, which may hold secrets."""
    metrics.count(metrics.CALLBACKS, job.event.value, answer.outcome.value)
    metrics.observe(metrics.CALLBACK_SECONDS, answer.seconds)
    if answer.outcome is Delivery.DELIVERED:
        metrics.observe(metrics.CALLBACK_LAG, max(0.0, time.time() - job.created_at.timestamp()))
    level = logging.INFO if answer.outcome is Delivery.DELIVERED else logging.WARNING
    about = {
        "callback": str(job.id),
        "event": job.event.value,
        "host": job.lane,
        "attempt": job.number,
        "outcome": answer.outcome.value,
        "status": answer.status,
        "seconds": round(answer.seconds, 3),
    }
    logger.log(
        level,
        "callback %s: %s, attempt %d: %s",
        job.id,
        job.event.value,
        job.number,
        answer.outcome.value,
        extra={"about": {name: value for name, value in about.items() if value is not None}},
    )
